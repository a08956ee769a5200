"""What the loop does next: a pure function of what was observed (METHOD 76).

Success is asked first, then the bounds, then what is missing. Elapsed time is an input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from helix.improve.accuracy import Accuracy
from helix.improve.spread import Spread
from helix.model.improvement import Target

Move = Literal["repeat", "tell-apart", "measure", "request", "escalate", "done", "stopped"]
Why = Literal["full-green", "clock", "swings", "streak", "undecided", "rejected"]
TARGETS: tuple[Target, ...] = get_args(Target)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far the loop may go."""

    target: Fraction = Fraction(1)
    max_swings: int = 6
    max_seconds: float = 1800.0
    streak: int = 2


@dataclass(frozen=True, slots=True)
class Delta:
    """How far a swing is from full green: cases that flap, and what accuracy lacks.

    `gap` is None where the spread did not let accuracy be measured. `lacking` counts the cases
    without an answer in every repeat and row: of them it is not known whether they flap.
    """

    flapping: int
    gap: Fraction | None
    lacking: int = 0

    def nearer_than(self, other: Delta) -> bool:
        """Whether this is an improvement: fewer flap, or as many and accuracy lacks less.

        Only among as many cases that are known, or more.
        """
        return self._distance < other._distance

    @property
    def _distance(self) -> tuple[int, int, bool, Fraction]:
        return self.lacking, self.flapping, self.gap is None, self.gap or Fraction(0)


Round = Delta | None
"""What a swing came to; None where the subject was said to be amended and was not."""


@dataclass(frozen=True, slots=True)
class Observed:
    """All that the decision rests on.

    `rounds` are the swings that are over, the present one with them once it is measured.
    `spread` and `accuracy` are of the subject as it stands, None where not measured yet.
    `told_apart` says that unclear cells were judged again, `askable` how many failing cells are
    grounded, `rejected` which targets the engineer would not amend.
    """

    rounds: tuple[Round, ...] = ()
    elapsed_s: float = 0.0
    spread: Spread | None = None
    accuracy: Accuracy | None = None
    told_apart: bool = False
    askable: int = 0
    rejected: frozenset[Target] = frozenset()


@dataclass(frozen=True, slots=True)
class Decision:
    """The next move, and for the three that end the loop why."""

    move: Move
    why: Why | None = None


def decide(seen: Observed, bounds: Bounds) -> Decision:
    """Return the next move."""
    if seen.accuracy is not None and seen.accuracy.meets(bounds.target):
        return Decision("done", "full-green")
    if seen.spread is not None and seen.spread.passed and seen.accuracy is None:
        return Decision("measure")
    if why := _bound(seen, bounds):
        return Decision("stopped", why)
    if seen.spread is None:
        return Decision("repeat")
    if seen.spread.unclear and not seen.told_apart:
        return Decision("tell-apart")
    if not seen.askable:
        return Decision("stopped", "undecided")
    if seen.rejected.issuperset(TARGETS):
        return Decision("escalate", "rejected")
    return Decision("request")


def streak(rounds: Sequence[Round]) -> int:
    """Return how many of the last rounds came no nearer than the best one before them."""
    best: Delta | None = None
    count = 0
    for delta in rounds:
        nearer = delta is not None and (best is None or delta.nearer_than(best))
        best, count = (delta, 0) if nearer else (best, count + 1)
    return count


def _bound(seen: Observed, bounds: Bounds) -> Why | None:
    if seen.elapsed_s >= bounds.max_seconds:
        return "clock"
    if len(seen.rounds) >= bounds.max_swings:
        return "swings"
    return "streak" if streak(seen.rounds) >= bounds.streak else None

"""What the improve loop writes down: a line for each step, and what it came to (METHOD 76)."""

from __future__ import annotations

from typing import Literal

import msgspec

from helix.model.scorecard import Ratio, Whole
from helix.model.verdict import Shape

IMPROVEMENT_SCHEMA_VERSION = "1.0"
Target = Literal["agentspec", "impl"]
StepName = Literal[
    "began", "evaluated", "told-apart", "scored", "calibrated", "requested", "answered",
    "unchanged", "changed", "ended",
]  # fmt: skip
Ending = Literal[
    "full-green", "clock", "swings", "streak", "undecided", "rejected", "traces", "verdicts",
    "response",
]  # fmt: skip
"""Why the loop ended, or what it waits for: traces, verdicts, a response."""


def _version() -> str:
    return IMPROVEMENT_SCHEMA_VERSION


class SubjectMark(Whole, frozen=True, kw_only=True):
    """What tells one state of the subject from another: a digest of its files, its own word.

    Null is not known.
    """

    files: str | None = None
    version: str | None = None


class Lost(Whole, frozen=True, kw_only=True):
    """A case that has no answer in a repeat, and why."""

    case: str
    repeat: int
    reason: str


class Score(Whole, frozen=True, kw_only=True):
    """What a swing came to, by case; `accuracy` and `gap` are null where it was not measured.

    `flapping` are the cases that vary by more than is allowed: `agent`, `judge` and `unclear` say
    for what reason. `underSampled` have too few answers. `failing` counts the grounded cells that
    a request can be made of.
    """

    flapping: int
    agent: tuple[str, ...]
    judge: tuple[str, ...]
    unclear: tuple[str, ...]
    under_sampled: tuple[str, ...]
    failing: int
    accuracy: Ratio | None
    gap: Ratio | None
    lost: tuple[Lost, ...] = ()


class Step(Shape, frozen=True, kw_only=True):
    """One line of swings.jsonl: one thing that was done, never changed and never taken back.

    `elapsedS` are the seconds at work so far, over all calls of the command. `settled` says that
    nothing of a repeat is left to be done. `exit` is the exit code that the loop ended with.
    """

    schema_version: str = msgspec.field(default_factory=_version)
    step: StepName
    swing: int
    elapsed_s: float
    plan: str | None = None
    subject: SubjectMark | None = None
    repeat: int | None = None
    settled: bool | None = None
    score: Score | None = None
    criteria: tuple[str, ...] = ()
    request: str | None = None
    target: Target | None = None
    cases: int | None = None
    decision: Literal["amended", "rejected"] | None = None
    note: str | None = None
    why: Ending | None = None
    exit: int | None = None


class Asked(Whole, frozen=True, kw_only=True):
    """One change request of a swing, and what came of it; null decision is no answer yet.

    `unchanged` says that the subject was said to be amended and was not.
    """

    request: str
    target: Target
    cases: int
    decision: Literal["amended", "rejected"] | None = None
    unchanged: bool = False
    note: str | None = None


class Swing(Whole, frozen=True, kw_only=True):
    """One round: what was measured, what was asked for, what went to calibration."""

    swing: int
    score: Score | None
    asked: tuple[Asked, ...] = ()
    calibrated: tuple[str, ...] = ()


class Improvement(Whole, frozen=True, kw_only=True):
    """improve.json: how the loop stands, swing by swing, and the convergence delta (METHOD 76).

    `flapping` and `gap` are the delta of the last measured swing; null was not measured.
    """

    schema_version: str = msgspec.field(default_factory=_version)
    id: str
    ending: Ending
    exit: int
    elapsed_s: float
    flapping: int | None
    gap: Ratio | None
    swings: tuple[Swing, ...]

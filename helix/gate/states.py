"""The algebra of the gate: how states of repeats, runs, traces and criteria fold (METHOD 64–66).

Repeats of one trace never vote: where they disagree the cell is uncertain. Over traces na is set
aside, then any fail fails, any undecided leaves it uncertain, at least one pass passes, and with
nothing left the row is na. Components and runs take the worst: fail, incomplete, pass.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from helix.errors import ConfigError
from helix.gate.groups import each
from helix.gate.trusted import Trusted
from helix.model.config import GateConfig
from helix.model.scorecard import CriterionResult, GateState
from helix.model.verdict import CellState
from helix.stats import clustered_share

_RATIO = re.compile(r"[0-9]{1,18}(?:/[0-9]{1,18}|\.[0-9]{1,18})?%?|\.[0-9]{1,18}%?")
_WORST_FIRST: tuple[GateState, ...] = ("fail", "incomplete", "pass")
_DECISIVE_FIRST: tuple[CriterionResult, ...] = ("fail", "uncertain", "pass")


@dataclass(frozen=True, slots=True)
class GateRow:
    """What the gate knows of a criterion; `trusted` is None where nobody judges it.

    `steady` says that its judge was measured stable without temperature 0 (METHOD 42).
    """

    criterion_id: str
    component: str
    severity: str
    klass: str
    gating: bool
    may_not_apply: bool = False
    grounding: str | None = None
    trusted: Trusted | None = None
    steady: bool = False


@dataclass(frozen=True, slots=True)
class Policy:
    """The gate's settings, ready to be used."""

    rate: Fraction | None = None
    confidence: float | None = None
    per_task: tuple[int, int] | None = None
    require_validated: bool = False
    require_verified: bool = False

    @classmethod
    def of(cls, config: GateConfig) -> Policy:
        """Read the config; a rate that is not an exact ratio within 0..1 is an error."""
        per_task = config.per_task
        if per_task is not None and per_task.k > per_task.n:
            raise ConfigError(
                f"gate.per_task.k must be at most n (got k={per_task.k}, n={per_task.n})"
            )
        return cls(
            rate=exact_ratio(config.rate.target) if config.policy == "rate" else None,
            confidence=config.rate.confidence,
            per_task=(per_task.k, per_task.n) if per_task else None,
            require_validated=config.require_validated,
            require_verified=config.require_verified,
        )


@dataclass(frozen=True, slots=True)
class Known:
    """Failing cells that are vouched for: waived by name, or failing in the baseline already."""

    waived: frozenset[tuple[str, str | None]] = frozenset()
    baseline: frozenset[tuple[str, str]] | None = None

    def aside(
        self, criterion: str, trace: str, state: CellState
    ) -> Literal["waived", "known"] | None:
        """Return why a cell does not count at the gate: a waiver, the baseline; None: it counts."""
        if state not in ("fail", "uncertain"):
            return None
        if (criterion, None) in self.waived or (criterion, trace) in self.waived:
            return "waived"
        if state == "fail" and (criterion, trace) in (self.baseline or ()):
            return "known"
        return None


def exact_ratio(text: str, key: str = "gate.rate.target") -> Fraction:
    """Read `9/10`, `90%` or `0.9` as an exact ratio within 0..1."""
    body = text.strip()
    ratio = Fraction(0)
    # Without exponents: to be exact about 1e-99999999 takes forever.
    if _RATIO.fullmatch(body):
        with contextlib.suppress(ZeroDivisionError):
            ratio = Fraction(body[:-1]) / 100 if body.endswith("%") else Fraction(body)
    if not 0 < ratio <= 1:
        raise ConfigError(f"{key} must be like 9/10, 90% or 0.9, and above 0 (got '{text}')")
    return ratio


def fold_repeats(states: Sequence[CellState]) -> tuple[CellState, bool]:
    """Return (state of the cell, flapping); repeats that disagree are uncertain, never a vote."""
    if not states:
        return "uncertain", False
    same = all(state == states[0] for state in states)
    return (states[0], False) if same else ("uncertain", True)


def fold_task(states: Sequence[CellState], k: int, n: int) -> CellState:
    """Return the state of a task of which k of n runs must pass; na runs are set aside.

    Runs that are missing or undecided could still be either, so they fail nothing and pass nothing.
    More than n runs are measured by the same ratio, exactly.
    """
    counted = [state for state in states if state != "na"]
    if not counted:
        return "na"
    passes = counted.count("pass")
    undecided = counted.count("uncertain") + max(0, n - len(counted))
    total = max(n, len(counted))
    if passes * n >= k * total:
        return "pass"
    if (passes + undecided) * n < k * total:
        return "fail"
    return "uncertain"


def fold_traces(states: Iterable[CellState]) -> CriterionResult:
    """Return what one criterion says over all its traces, by the strict policy."""
    seen = set(states)
    for state in _DECISIVE_FIRST:
        if state in seen:
            return state
    return "na"


def fold_rate(
    states: Mapping[Any, Sequence[CellState]],
    target: Fraction,
    confidence: float | None,
    trusted: Trusted | None = None,
) -> CriterionResult:
    """Return what one criterion says by the rate policy; `states` are grouped by task."""
    bounds = rate_bounds(states, confidence, trusted)
    if bounds is None:
        return "na"
    if bounds[0] >= target:
        return "pass"
    return "fail" if bounds[1] < target else "uncertain"


def rate_bounds(
    states: Mapping[Any, Sequence[CellState]],
    confidence: float | None,
    trusted: Trusted | None = None,
) -> tuple[Fraction | float, Fraction | float] | None:
    """Return the lowest and highest pass rate that the cells allow; None where all are na.

    na leaves the denominator; an undecided cell counts as fail for the lower bound and as pass
    for the upper. Without a confidence the bounds are counts, and exact; with one they are ends
    of Wilson intervals, on the sample size that is left when runs of one task go together. Of a
    judge that was measured they are ends of the corrected interval (METHOD 61).
    """
    if trusted is not None and trusted.measured:
        return trusted.bounds(states, confidence)
    kept = each(states, lambda group: [s for s in group if s != "na"])
    flat = [state for group in kept.values() for state in group]
    if not flat:
        return None
    lower, upper = flat.count("pass"), len(flat) - flat.count("fail")
    if confidence is None:
        return Fraction(lower, len(flat)), Fraction(upper, len(flat))
    return _end(kept, ("pass",), confidence, 0), _end(kept, ("pass", "uncertain"), confidence, 1)


def _end(
    kept: Mapping[Any, Sequence[CellState]], good: Sequence[str], confidence: float, end: int
) -> float:
    values = each(kept, lambda group: [float(s in good) for s in group])
    interval = clustered_share(values).interval(confidence)
    return float(end) if interval is None else interval[end]


def worst_state(states: Iterable[GateState]) -> GateState:
    """Return the worst state: fail, incomplete, pass; nothing at all is incomplete."""
    seen = set(states)
    for state in _WORST_FIRST:
        if state in seen:
            return state
    return "incomplete"

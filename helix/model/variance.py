"""What repeats say, of one run or of several that repeat each other (METHOD 73)."""

from __future__ import annotations

import msgspec

from helix.model.scorecard import Flips, Variance, Whole

VARIANCE_SCHEMA_VERSION = "1.0"
STEADINESS_SCHEMA_VERSION = "1.0"


class CellSpread(Whole, frozen=True, kw_only=True):
    """The answers on one trace."""

    trace_id: str
    task: str | None
    states: dict[str, str]
    """pass, fail, na, withdrawn or undecided, by replicate index in their order."""
    rate: float | None
    """The chance that two of them disagree; null below two answers."""
    interval: tuple[float, float] | None
    """Of that rate, at 95 %; null below two answers."""
    entropy: float | None
    """In bits, 0 where all agree; null without an answer."""


class Needed(Whole, frozen=True, kw_only=True):
    """What it takes to know a flip rate, at the rate that was found; null where none was."""

    precision: float
    """Half the width of the wanted interval, at 95 %."""
    repeats: int | None
    """Repeats of one trace."""
    traces: int | None
    """Traces with as many repeats as these had."""


class CriterionSpread(Whole, frozen=True, kw_only=True):
    """How far one criterion's answers spread, cell by cell and taken together."""

    criterion_id: str
    klass: str = msgspec.field(name="class")
    """Who decides it: code, judge or hybrid."""
    flips: Flips | None
    """All its answers taken together; null where no trace has two."""
    variance: Variance | None
    """Why they disagree; null where there is nothing to compare."""
    needed: Needed | None
    """What a better estimate takes; null where no rate was found."""
    cells: tuple[CellSpread, ...]
    """Its answers on each trace."""


class VarianceReport(Whole, frozen=True, kw_only=True):
    """What the repeats of runs come to (METHOD 73)."""

    schema_version: str
    runs: tuple[str, ...]
    """The folders that were read."""
    traces: int
    """How many traces they hold."""
    indices: tuple[int, ...]
    """The replicate indices that were seen."""
    read_again: int
    """Lines under an index that another run had given for the trace: one draw, counted once."""
    otherwise: int
    """Those of them that say something else, which one draw cannot."""
    criteria: tuple[CriterionSpread, ...]
    """By criterion."""
    variance: Variance | None
    """Why answers disagree, over all criteria; null where there is nothing to compare."""


class Steadiness(Whole, frozen=True, kw_only=True):
    """Whether a row was measured stable under one pipeline (METHOD 42)."""

    schema_version: str
    suite: str
    """The suite's name."""
    criterion_id: str
    pipeline: str
    """The digest of how judge and verifier were pinned and asked, and of the row's version."""
    traces: int
    """Traces that were answered at least twice."""
    repeats: int
    """The fewest replicate indices that a trace was asked under."""
    stable: bool
    """Whether no trace was ever answered otherwise."""
    reason: str | None
    """Why it is not; null where it is."""
    at: str
    """When it was measured (ISO 8601)."""

"""What repeats say, of one run or of several that repeat each other (METHOD 73)."""

from __future__ import annotations

import msgspec

from helix.model.scorecard import Flips, Variance, Whole

VARIANCE_SCHEMA_VERSION = "1.0"
STEADINESS_SCHEMA_VERSION = "1.0"


class CellSpread(Whole, frozen=True, kw_only=True):
    """The answers on one trace: `states` by replicate index, in order of the indices.

    A state is pass, fail, na, withdrawn or undecided. `rate` and `interval` are of the flip rate
    of this trace, null below two answers; `entropy` is in bits.
    """

    trace_id: str
    task: str | None
    states: dict[str, str]
    rate: float | None
    interval: tuple[float, float] | None
    entropy: float | None


class Needed(Whole, frozen=True, kw_only=True):
    """What it takes to know a flip rate to ± `precision` at 95 %, at the rate that was found.

    `repeats` of one trace, or `traces` with as many repeats as these had. null where no rate was.
    """

    precision: float
    repeats: int | None
    traces: int | None


class CriterionSpread(Whole, frozen=True, kw_only=True):
    """How far one criterion's answers spread, cell by cell and taken together."""

    criterion_id: str
    klass: str = msgspec.field(name="class")
    flips: Flips | None
    variance: Variance | None
    needed: Needed | None
    cells: tuple[CellSpread, ...]


class VarianceReport(Whole, frozen=True, kw_only=True):
    """What the repeats of runs come to.

    `indices` are the replicate indices that were seen. `readAgain` counts lines under an index
    that another run had given for the trace already: they are one draw and count once; `otherwise`
    counts those of them that say something else, which one draw cannot.
    """

    schema_version: str
    runs: tuple[str, ...]
    traces: int
    indices: tuple[int, ...]
    read_again: int
    otherwise: int
    criteria: tuple[CriterionSpread, ...]
    variance: Variance | None


class Steadiness(Whole, frozen=True, kw_only=True):
    """Whether a row was measured stable under one pipeline, and why not (METHOD 42).

    `repeats` are the fewest indices that a trace was asked under, `traces` those answered twice.
    """

    schema_version: str
    suite: str
    criterion_id: str
    pipeline: str
    traces: int
    repeats: int
    stable: bool
    reason: str | None
    at: str

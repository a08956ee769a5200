"""What a judge's verdicts are worth, measured against people's labels (METHOD 60–62).

Counts are exact; a rate of nothing is null, which is neither 0 nor 1. Intervals are two-sided at
95 %.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from helix.model.scorecard import Ratio, Status, Whole
from helix.model.verdict import CellState, Shape

Split = Literal["train", "dev", "test", "all"]
Word = Literal["pass", "fail", "cannot-decide"]
Kind = Literal["false-pass", "false-fail", "over-abstain", "under-abstain"]
Interval = tuple[float, float]

VALIDATION_SCHEMA_VERSION = "1.0"


class Pipeline(Whole, frozen=True, kw_only=True):
    """What is validated: how judge and verifier are pinned and asked, and the row's version.

    The first three are null for a row that code decides alone.
    """

    judge: dict[str, Any] | None
    verifier: dict[str, Any] | None
    prompt: str | None
    version: str


class Rate(Whole, frozen=True, kw_only=True):
    """k of n, with Wilson's and the exact interval; `effective` is n where tasks repeat."""

    k: int
    n: int
    effective: float
    wilson: Interval | None
    exact: Interval | None


class Confusion(Whole, frozen=True, kw_only=True):
    """Cells that both decided, the people's word first: `failPass` is a false pass."""

    pass_pass: int
    pass_fail: int
    fail_pass: int
    fail_fail: int


class Abstained(Whole, frozen=True, kw_only=True):
    """Cells that one of the two left undecided.

    `over`: people decided and Helix did not, `na` and nobody's word included, of which nobody
    adjudicated `notAdjudicated`; `under`: Helix decided what people could not; `agreed`: neither.
    """

    over: int
    under: int
    agreed: int
    not_adjudicated: int


class Corrected(Whole, frozen=True, kw_only=True):
    """The pass rate of the run behind the judge's errors; null where it is undefined.

    `seen` is what the judge passed of what it decided. `raw` may leave 0..1 and `value` is clipped,
    which `clipped` says; `interval` is Lang–Reiczigel's, `jeffreys` a second opinion by seeded
    draws. `abstentionsFail` and `abstentionsPass` count the undecided cells each way. `ppi` is
    another correction, which may leave 0..1 as `raw` may; `shifted` warns that the two disagree,
    and is null where fewer than 60 decided cells have no label. Intervals are clipped to 0..1.
    """

    seen: Ratio
    raw: float | None = None
    value: float | None = None
    clipped: bool = False
    interval: Interval | None = None
    jeffreys: Interval | None = None
    abstentions_fail: float | None = None
    abstentions_pass: float | None = None
    ppi: float | None = None
    ppi_interval: Interval | None = None
    shifted: bool | None = None


class Needed(Whole, frozen=True, kw_only=True):
    """How many labels of one class the wanted width needs, by both intervals, and how many are."""

    have: int
    wilson: int
    exact: int


class Wanted(Whole, frozen=True, kw_only=True):
    """What to label next for ± `width`; `failsShare` is the best part of human fails among them.

    It is null while one class has no label that was compared.
    """

    width: float
    passes: Needed
    fails: Needed
    fails_share: float | None


class Measured(Whole, frozen=True, kw_only=True):
    """What labels say of a judge: over one criterion, or over all of them together."""

    labels: dict[str, int]
    confusion: Confusion
    tpr: Rate
    tnr: Rate
    accuracy: Ratio
    kappa: float | None
    coverage: Ratio
    abstained: Abstained
    corrected: Corrected
    wanted: Wanted


class CriterionValidation(Whole, frozen=True, kw_only=True):
    """One criterion: its standing under this pipeline, why, and what was measured.

    `status` is null where labels of train and dev cannot give one, and where code decides.
    """

    criterion_id: str
    klass: str = msgspec.field(name="class")
    status: Status | None
    reason: str
    measured: Measured


class Pairs(Whole, frozen=True, kw_only=True):
    """Two runs on the labelled cells that both decided: which of them is right where.

    `difference` is this run's share of right cells less the other's, with a clustered error and
    an interval; `pairsNeeded` is how many pairs would show it with a power of 80 %.
    """

    pairs: int
    this_only: int
    other_only: int
    chi2: float | None
    chi2_corrected: float | None
    exact_p: float | None
    difference: float | None
    error: float | None
    interval: Interval | None
    pairs_needed: int | None


class Comparison(Whole, frozen=True, kw_only=True):
    """This run against another one on the same labels: over all criteria, and on each."""

    other: str
    overall: Pairs
    criteria: dict[str, Pairs]


class Reading(Whole, frozen=True, kw_only=True):
    """One look at a fixed set of anchors: the rates, and (trace, criterion, state) of each cell."""

    schema_version: str
    at: str
    replicate: int
    tpr: Rate
    tnr: Rate
    undecided: Rate
    states: tuple[tuple[str, str, CellState], ...]


class Change(Whole, frozen=True, kw_only=True):
    """How a rate changed on the same cells since the first reading; it moved if 0 is outside."""

    difference: float
    interval: Interval
    moved: bool


class Drift(Whole, frozen=True, kw_only=True):
    """The first reading of a set of anchors by this pipeline, the last, and what changed.

    `changes` is empty after a first reading, and lacks a rate without cells in both.
    """

    anchors: str
    readings: int
    first: Reading
    now: Reading
    changes: dict[str, Change]


class LabelCounts(Whole, frozen=True, kw_only=True):
    """What became of the labels: cells in all, without a label that stands, outside this run.

    `used` are those of the split; `examples` stand in a prompt, and so in train.
    """

    files: dict[str, str]
    cells: int
    disputed: int
    outside: int
    examples: int
    splits: dict[str, int]
    used: int


class Validation(Whole, frozen=True, kw_only=True):
    """validation.json: what one measurement against labels came to."""

    schema_version: str
    run: str
    suite: str
    subject: str
    split: Split
    seed: int
    forced: bool
    labels: LabelCounts
    overall: Measured
    criteria: tuple[CriterionValidation, ...]
    comparison: Comparison | None = None
    drift: Drift | None = None
    warnings: tuple[str, ...] = ()


class Trust(Whole, frozen=True, kw_only=True):
    """The standing of one criterion under one pipeline, as a later run reads it."""

    schema_version: str
    suite: str
    criterion_id: str
    pipeline: Pipeline
    status: Status
    reason: str
    at: str
    split: Split
    seed: int
    forced: bool
    tpr: Rate
    tnr: Rate
    coverage: Ratio


class Use(Whole, frozen=True, kw_only=True):
    """One line of the ledger: a test split was used for a criterion under a pipeline."""

    schema_version: str
    suite: str
    criterion_id: str
    pipeline: str
    split: Split
    labels: dict[str, str]
    at: str
    forced: bool


class Disagreement(Shape, frozen=True, kw_only=True):
    """One line of disagreements.jsonl: a cell on which people and Helix differ, and where to look.

    `link` leads into the run's report.
    """

    schema_version: str = msgspec.field(default_factory=lambda: VALIDATION_SCHEMA_VERSION)
    kind: Kind
    trace: str
    criterion_id: str
    human: Word
    said: CellState
    cause: str | None = None
    critique: str | None = None
    notes: tuple[str, ...] = ()
    link: str

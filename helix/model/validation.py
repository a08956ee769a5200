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
    """What is validated: how a row is decided; another way has another standing (METHOD 60)."""

    judge: dict[str, Any] | None
    """The judge's pin and protocol; null for a row that code decides alone."""
    verifier: dict[str, Any] | None
    """The verifier's; null where none is asked."""
    prompt: str | None
    """The digest of how one fixed row and trace are asked about; null where code decides alone."""
    version: str
    """SHA-256 of the row, and of the norms that it is read under."""


class Rate(Whole, frozen=True, kw_only=True):
    """A share with two intervals at 95 %, null where nothing was counted."""

    k: int
    """How many of them."""
    n: int
    """Of how many."""
    effective: float
    """How many independent ones they are worth, where tasks repeat."""
    wilson: Interval | None
    """Wilson's interval."""
    exact: Interval | None
    """Clopper and Pearson's interval."""


class Confusion(Whole, frozen=True, kw_only=True):
    """Cells that people and Helix both decided, the people's word first."""

    pass_pass: int
    """Both pass."""
    pass_fail: int
    """A false fail."""
    fail_pass: int
    """A false pass."""
    fail_fail: int
    """Both fail."""


class Abstained(Whole, frozen=True, kw_only=True):
    """Cells that one of the two left undecided."""

    over: int
    """People decided and Helix did not, na included."""
    under: int
    """Helix decided what people could not."""
    agreed: int
    """Neither decided."""
    not_adjudicated: int
    """Those that machinery left undecided, which are no abstention (METHOD 8)."""


class Corrected(Whole, frozen=True, kw_only=True):
    """The run's pass rate behind the judge's errors; null where it is undefined (METHOD 61)."""

    seen: Ratio
    """What the judge passed of what it decided."""
    raw: float | None = None
    """Rogan and Gladen's rate, which may leave 0 to 1."""
    value: float | None = None
    """The same, clipped to 0 to 1."""
    clipped: bool = False
    """Whether clipping changed it."""
    interval: Interval | None = None
    """Lang and Reiczigel's, at 95 %, clipped."""
    jeffreys: Interval | None = None
    """A second opinion at 95 % by seeded draws, clipped."""
    abstentions_fail: float | None = None
    """The rate where every undecided cell counts as fail."""
    abstentions_pass: float | None = None
    """The rate where every undecided cell counts as pass."""
    ppi: float | None = None
    """Another correction, by the labelled cells themselves; may leave 0 to 1."""
    ppi_interval: Interval | None = None
    """Of that, at 95 %, clipped."""
    shifted: bool | None = None
    """Whether the two corrections disagree; null with fewer than 60 decided cells unlabelled."""


class Needed(Whole, frozen=True, kw_only=True):
    """How many labels of one class a width of the interval needs."""

    have: int
    """How many there are."""
    wilson: int
    """How many by Wilson's interval."""
    exact: int
    """How many by the exact one."""


class Wanted(Whole, frozen=True, kw_only=True):
    """What to label next."""

    width: float
    """Half the width that the intervals are to have: `validation.width`."""
    passes: Needed
    """Labels that say pass."""
    fails: Needed
    """Labels that say fail."""
    fails_share: float | None
    """The best share of fails among new labels; null while a class has none compared."""


class Measured(Whole, frozen=True, kw_only=True):
    """What labels say of a judge: over one criterion, or over all of them together."""

    labels: dict[str, int]
    """Cells by what people say."""
    confusion: Confusion
    """Cells that both decided."""
    tpr: Rate
    """Of what people pass, what the judge passes (METHOD 60)."""
    tnr: Rate
    """Of what people fail, what the judge fails."""
    accuracy: Ratio
    """Cells on which both say the same, of those that both decided."""
    kappa: float | None
    """Cohen's kappa: agreement beyond chance; null where it is undefined."""
    coverage: Ratio
    """Cells that both decided, of those that people decided."""
    abstained: Abstained
    """Cells that one of the two left undecided."""
    corrected: Corrected
    """The run's pass rate behind the judge's errors."""
    wanted: Wanted
    """What to label next."""


class CriterionValidation(Whole, frozen=True, kw_only=True):
    """One criterion under this pipeline."""

    criterion_id: str
    klass: str = msgspec.field(name="class")
    """Who decides it: code, judge or hybrid."""
    status: Status | None
    """Its standing; null where train and dev cannot give one, and where code decides."""
    reason: str
    """Why it stands so."""
    measured: Measured
    """What labels say of it."""


class Pairs(Whole, frozen=True, kw_only=True):
    """Two runs on the labelled cells that both decided: which of them is right where."""

    pairs: int
    """How many cells."""
    this_only: int
    """Where this run alone is right."""
    other_only: int
    """Where the other alone is."""
    chi2: float | None
    """McNemar's statistic; null where no cell tells them apart."""
    chi2_corrected: float | None
    """The same with continuity correction."""
    exact_p: float | None
    """The exact two-sided p of McNemar's test."""
    difference: float | None
    """This run's share of right cells less the other's; null without cells."""
    error: float | None
    """Its standard error, clustered by task."""
    interval: Interval | None
    """Of the difference, at 95 %."""
    pairs_needed: int | None
    """Pairs that would show it with a power of 80 %; null where there is no difference."""


class Comparison(Whole, frozen=True, kw_only=True):
    """This run against another one on the same labels: over all criteria, and on each."""

    other: str
    """The name of the other run's folder."""
    overall: Pairs
    """Over all criteria."""
    criteria: dict[str, Pairs]
    """By criterion."""


class Reading(Whole, frozen=True, kw_only=True):
    """One look at a fixed set of anchors."""

    schema_version: str
    at: str
    """When (ISO 8601)."""
    replicate: int
    """Which repeat it was drawn under, from 0."""
    tpr: Rate
    """Of what people pass, what the judge passes."""
    tnr: Rate
    """Of what people fail, what the judge fails."""
    undecided: Rate
    """Of what people decide, what the judge does not."""
    states: tuple[tuple[str, str, CellState], ...]
    """Trace, criterion and state of each cell."""


class Change(Whole, frozen=True, kw_only=True):
    """How a rate changed on the same cells since the first reading."""

    difference: float
    """The rate now less the rate then."""
    interval: Interval
    """Of the difference, at 95 %."""
    moved: bool
    """Whether 0 lies outside it."""


class Drift(Whole, frozen=True, kw_only=True):
    """The readings of a set of anchors by one pipeline."""

    anchors: str
    """The digest of label files and pipelines, by which the set is known."""
    readings: int
    """How many there are."""
    first: Reading
    """The first of them."""
    now: Reading
    """The last."""
    changes: dict[str, Change]
    """By rate; empty after a first reading, without a rate that has no cells in both."""


class LabelCounts(Whole, frozen=True, kw_only=True):
    """What became of the labels."""

    files: dict[str, str]
    """The label files: name by SHA-256."""
    cells: int
    """Cells that have a label."""
    disputed: int
    """Cells on which raters disagree and nobody has decided: no label stands."""
    outside: int
    """Cells that this run does not hold."""
    examples: int
    """Cells that stand as an example in a prompt, and so are train."""
    splits: dict[str, int]
    """Cells of each split."""
    used: int
    """Cells of the split that was measured."""


class Validation(Whole, frozen=True, kw_only=True):
    """validation.json: what one measurement against labels came to."""

    schema_version: str
    run: str
    """The folder of the run that was measured."""
    suite: str
    """The suite's name."""
    subject: str
    """The agent's name."""
    split: Split
    """Which labels were used: `validation.split`."""
    seed: int
    """The seed of the split."""
    forced: bool
    """Whether test labels were used a second time on purpose."""
    labels: LabelCounts
    """What became of the labels."""
    overall: Measured
    """Over all criteria."""
    criteria: tuple[CriterionValidation, ...]
    """By criterion."""
    comparison: Comparison | None = None
    """Against another run; null where none was named."""
    drift: Drift | None = None
    """Against earlier readings of anchors; null where none were named."""
    warnings: tuple[str, ...] = ()
    """What a reader should know before believing the figures."""


class Trust(Whole, frozen=True, kw_only=True):
    """The standing of one criterion under one pipeline, as a later run reads it."""

    schema_version: str
    suite: str
    """The suite's name."""
    criterion_id: str
    pipeline: Pipeline
    """Who was measured, and how they were asked."""
    status: Status
    """Its standing."""
    reason: str
    """Why it stands so."""
    at: str
    """When it was measured (ISO 8601)."""
    split: Split
    """Which labels were used."""
    seed: int
    """The seed of the split."""
    forced: bool
    """Whether test labels were used a second time on purpose."""
    tpr: Rate
    """Of what people pass, what the judge passes."""
    tnr: Rate
    """Of what people fail, what the judge fails."""
    coverage: Ratio
    """Cells that both decided, of those that people decided."""


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
    """One line of disagreements.jsonl: a cell on which people and Helix differ."""

    schema_version: str = msgspec.field(default_factory=lambda: VALIDATION_SCHEMA_VERSION)
    kind: Kind
    """Who decided what: a false pass or fail, or one of the two abstained."""
    trace: str
    """The id of the trace."""
    criterion_id: str
    human: Word
    """What people say."""
    said: CellState
    """What Helix says."""
    cause: str | None = None
    critique: str | None = None
    """The verdict's critique; null where there is no verdict."""
    notes: tuple[str, ...] = ()
    """What the raters add."""
    link: str
    """The place in the run's report."""

"""The canonical result of a run; every report is a projection of it (DESIGN “A run directory”)."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from helix.model.manifest import Load
from helix.model.verdict import Shape

GateState = Literal["pass", "fail", "incomplete"]
CriterionResult = Literal["pass", "fail", "uncertain", "na"]
TestState = Literal["pass", "fail", "not run", "could not run"]
Status = Literal["validated", "provisional", "rejected", "stale", "unvalidated"]
SCORECARD_SCHEMA_VERSION = "1.0"


class Whole(Shape, omit_defaults=False, frozen=True, kw_only=True):
    """A shape whose every field is written, null included."""


class Counts(Whole, frozen=True, kw_only=True):
    """Cells per state; `pass` is spelled `pass_` in Python."""

    pass_: int = msgspec.field(default=0, name="pass")
    fail: int = 0
    uncertain: int = 0
    na: int = 0


class Ratio(Whole, frozen=True, kw_only=True):
    """k of n, never a float; n = 0 is undefined, not 0 and not 1."""

    k: int
    n: int


class ComponentResult(Whole, frozen=True, kw_only=True):
    """The gate of one component, and the criteria that made it so."""

    component: str
    verdict: GateState
    reasons: tuple[str, ...] = ()


class Standing(Whole, frozen=True, kw_only=True):
    """How the judge stands on a criterion, and why (METHOD 60, 61).

    `coverage` is of the labels that it was measured by. `rate` is the corrected pass rate of the
    decided cells with its interval at 95 %; null where no correction may be made.
    """

    status: Status
    reason: str
    coverage: Ratio | None = None
    rate: float | None = None
    interval: tuple[float, float] | None = None


class Repeats(Whole, frozen=True, kw_only=True):
    """Several runs of one task: the chance that k of them all pass, and that any of them does.

    `passHat[0]` is pass^1 and so on, up to the fewest runs of a task; exact. `undecided` counts the
    tasks that are left out, because one of their runs is.
    """

    tasks: int
    undecided: int
    pass_hat: tuple[Ratio, ...]
    pass_at: tuple[Ratio, ...]


class Flips(Whole, frozen=True, kw_only=True):
    """Several answers on one trace: the chance that two of them disagree, exact (METHOD 73).

    Over the `traces` with two `answers` or more. An answer is pass, fail, na, or withdrawn by the
    verifier; `undecided` repeats are none of them and left out. `interval` is at 95 % and clustered
    by task, `entropy` the mean over traces in bits, `fleiss` the agreement corrected for chance.
    """

    traces: int
    answers: int
    undecided: int
    rate: Ratio
    interval: tuple[float, float] | None
    entropy: float | None
    fleiss: float | None


class Component(Whole, frozen=True, kw_only=True):
    """How often two answers disagree for one reason, over `of` traces, or tasks for the agent.

    `interval` is at 95 % and clustered by task. The agent's rate may be below 0: then its traces
    differ no more than the answers on one of them.
    """

    rate: Ratio
    interval: tuple[float, float]
    of: int


class Variance(Whole, frozen=True, kw_only=True):
    """Why two answers about a task disagree, split without a rest; null cannot be told.

    `agent`: its traces differ; `judge`: it answers one trace twice and differs; `verifier`: the
    judge said the same twice, and what was left differs. Half of a rate is a variance.
    """

    agent: Component | None = None
    judge: Component | None = None
    verifier: Component | None = None


class CriterionRow(Whole, frozen=True, kw_only=True):
    """One criterion over all traces: folded result, cell counts, k failing of n decided.

    `grounded` are the decided verdicts whose evidence all resolves. `notAdjudicated` counts cells,
    `unseen` the traces that nobody adjudicated in any repeat.

    `gate` is what the row does to its component after waivers and baseline; null does not gate.
    `waived` counts the cells that a waiver vouches for, by state. Against a baseline, `known`
    counts the failing cells that failed there already, and `new` those that count; else null.
    `failing`, `undecided` and `newTraces` name at most 50 traces; the counts are whole. `standing`
    is null where nobody judges. `failingInterval` is that of `prevalence` at 95 %, null where
    nothing was decided; `repeats` is null where no task has two runs, `flips` where a trace was
    answered once or code alone decides.
    """

    criterion_id: str
    component: str
    severity: str
    klass: str = msgspec.field(name="class")
    gating: bool
    result: CriterionResult
    counts: Counts
    prevalence: Ratio
    not_adjudicated: int = 0
    unseen: int = 0
    grounded: Ratio | None = None
    reason: str | None = None
    grounding: str | None = None
    waived: str | None = None
    gate: GateState | None = None
    failing: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    known: int | None = None
    new: int | None = None
    new_traces: tuple[str, ...] = ()
    standing: Standing | None = None
    failing_interval: tuple[float, float] | None = None
    repeats: Repeats | None = None
    flips: Flips | None = None
    variance: Variance | None = None


class Cells(Whole, frozen=True, kw_only=True):
    """Every criterion × trace cell, counted by who decided it and by state."""

    total: int
    code: int
    judge: int
    hybrid: int
    uncertain: int
    na: int
    not_adjudicated: int
    pass_: int = msgspec.field(default=0, name="pass")
    fail: int = 0


class TraceCounts(Whole, frozen=True, kw_only=True):
    """How many traces were found, chosen, evaluated, left incomplete, unreadable."""

    found: int
    sampled: int
    evaluated: int
    incomplete: int
    unreadable: int


class Blocked(Whole, frozen=True, kw_only=True):
    """Undecided cells by kind of block and by cause."""

    by_kind: dict[str, int] = msgspec.field(default_factory=dict)
    by_cause: dict[str, int] = msgspec.field(default_factory=dict)


class Verification(Whole, frozen=True, kw_only=True):
    """Decided verdicts by what the verifier said; `notVerified` where none was asked for."""

    not_in_scope: int = 0
    confirmed: int = 0
    downgraded: int = 0
    failed: int = 0
    not_verified: int = 0


class JudgeRecord(Whole, frozen=True, kw_only=True):
    """The pin as requested and as it took effect, and who answered; null is not recorded.

    `effective` is a list where answers came under several parameters, null among them for an
    answer that recorded none. `sameModel` says of a verifier whether its model is the judge's.
    """

    backend: str
    requested: dict[str, Any]
    effective: dict[str, Any] | tuple[dict[str, Any] | None, ...] | None = None
    returned_model: str | None = None
    same_model: bool | None = None


class UsageTotals(Whole, frozen=True, kw_only=True):
    """What this execution used; masked whole. `calls` are backend requests, never replays."""

    calls: int = 0
    cache_hits: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_micro_usd: int | None = None


class Gate(Whole, frozen=True, kw_only=True):
    """Why the run verdict is what it is, all gaps in one pass."""

    policy: str
    eligibility: str
    gaps: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    waivers: tuple[dict[str, Any], ...] = ()
    baseline: str | None = None


class ChangeTests(Whole, frozen=True, kw_only=True):
    """What a code change's own test command said; `output` names its file in the run directory.

    `exitCode` is null where there is none, `reason` says why the tests are neither green nor red.
    """

    state: TestState
    exit_code: int | None = None
    reason: str | None = None
    output: str | None = None


class Quality(Whole, frozen=True, kw_only=True):
    """Tests and verdict of a code change beside each other, neither in the other (METHOD 38).

    `verdict` is the gate of the rows alone. `converged` is true where both are green, false where
    one is red, null where it is not known.
    """

    tests: ChangeTests
    verdict: GateState
    converged: bool | None


class Scorecard(Whole, frozen=True, kw_only=True):
    """The result of a run; `selfEvaluation` says that its subject is Helix itself (METHOD 81).

    `runVerdict` is the gate as a whole; `components` and `gate` say how it came about. `grounded`
    counts the decided verdicts that cite evidence, all of it found in the trace. `load` tells of
    the files that were read, `usage` what this execution cost, `digests` which plan and suite it
    was.
    """

    schema_version: str
    run_verdict: GateState
    subject: str
    suite: str
    components: tuple[ComponentResult, ...]
    criteria: tuple[CriterionRow, ...]
    cells: Cells
    traces: TraceCounts
    grounded: Ratio
    blocked: Blocked
    verification: Verification
    judge: JudgeRecord
    verifier: JudgeRecord
    load: Load
    gate: Gate
    validation: dict[str, Any]
    digests: dict[str, str]
    usage: UsageTotals
    skipped_criteria: tuple[str, ...] = ()
    self_evaluation: bool = False
    variance: Variance | None = None
    quality: Quality | None = None

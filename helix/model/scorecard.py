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
    """Cells by state; `pass` is spelled `pass_` in Python."""

    pass_: int = msgspec.field(default=0, name="pass")
    """Cells that pass."""
    fail: int = 0
    """Cells that fail."""
    uncertain: int = 0
    """Cells that are not decided, for whatever cause."""
    na: int = 0
    """Cells that do not apply."""


class Ratio(Whole, frozen=True, kw_only=True):
    """k of n, never a float; n = 0 is undefined, not 0 and not 1."""

    k: int
    """How many of them."""
    n: int
    """Of how many; 0 where nothing was counted."""


class ComponentResult(Whole, frozen=True, kw_only=True):
    """The gate of one component, and the criteria that made it so."""

    component: str
    """Its name."""
    verdict: GateState
    """The worst of what its gating rows come to; pass where none gates."""
    reasons: tuple[str, ...] = ()
    """The rows that do not pass, and why, or that nothing gates."""


class Standing(Whole, frozen=True, kw_only=True):
    """How the judge stands on a criterion, by people's labels (METHOD 60, 61)."""

    status: Status
    """What may be made of its word: at a rate's gate, validated and provisional alone count."""
    reason: str
    """Why it stands so."""
    coverage: Ratio | None = None
    """Of the labels that it was measured by, those that it decided; null without a measurement."""
    rate: float | None = None
    """The pass rate of the decided cells, corrected for its errors; null where none may be made."""
    interval: tuple[float, float] | None = None
    """Of that rate, at 95 %; null where there is none."""


class Repeats(Whole, frozen=True, kw_only=True):
    """Several runs of one task: the chance that k of them all pass, and that any of them does."""

    tasks: int
    """Tasks that count."""
    undecided: int
    """Tasks that are left out, because one of their runs is undecided."""
    pass_hat: tuple[Ratio, ...]
    """pass^k, exact, from k = 1 up to the fewest runs of a task: all k pass."""
    pass_at: tuple[Ratio, ...]
    """pass@k in the same order: at least one of k passes."""


class Flips(Whole, frozen=True, kw_only=True):
    """Several answers on one trace: the chance that two of them disagree, exact (METHOD 73).

    An answer is pass, fail, na, or withdrawn by the verifier.
    """

    traces: int
    """Traces that have two answers or more."""
    answers: int
    """Their answers together."""
    undecided: int
    """Repeats that gave no answer, and are left out."""
    rate: Ratio
    """Pairs of answers on one trace that disagree, of all such pairs."""
    interval: tuple[float, float] | None
    """Of the rate, at 95 % and clustered by task; null where it cannot be told."""
    entropy: float | None
    """Mean over traces, in bits: 0 where all repeats agree; null where nothing counts."""
    fleiss: float | None
    """Fleiss' kappa: agreement beyond chance; null where it is undefined."""


class Component(Whole, frozen=True, kw_only=True):
    """How often two answers disagree for one reason."""

    rate: Ratio
    """The share; the agent's may be below 0, where its traces differ no more than answers on
    one."""
    interval: tuple[float, float]
    """Of the rate, at 95 % and clustered by task."""
    of: int
    """Over how many traces; over how many tasks for the agent."""


class Variance(Whole, frozen=True, kw_only=True):
    """Why two answers about a task disagree, split without a rest; null cannot be told.

    Half of a rate is a variance.
    """

    agent: Component | None = None
    """Its traces differ."""
    judge: Component | None = None
    """It answers one trace twice and differs."""
    verifier: Component | None = None
    """The judge said the same twice, and what the verifier left of it differs."""


class CriterionRow(Whole, frozen=True, kw_only=True):
    """One criterion over all traces."""

    criterion_id: str
    component: str
    """The component whose gate it enters."""
    severity: str
    """CRIT, HIGH, MED or LOW, as given or derived."""
    klass: str = msgspec.field(name="class")
    """Who decides it: code, judge or hybrid."""
    gating: bool
    """Whether it may decide the gate: CRIT or HIGH, and operator's, observed or ratified."""
    result: CriterionResult
    """All traces folded to one word: any fail, else any undecided, else any pass, else na."""
    counts: Counts
    """Its traces by state, each trace's repeats folded first."""
    prevalence: Ratio
    """Traces that fail, of those that are decided."""
    not_adjudicated: int = 0
    """Cells, repeats counted, that nobody could look at."""
    unseen: int = 0
    """Traces that nobody could look at in any repeat."""
    grounded: Ratio | None = None
    """Decided verdicts whose evidence all resolves, of all decided ones."""
    reason: str | None = None
    """Why the row is no pass at the gate; null where it is one, or does not gate."""
    grounding: str | None = None
    """Of a mined row, what it rests on; null for an operator's."""
    waived: str | None = None
    """Cells that a waiver vouches for, counted by state; null for none."""
    gate: GateState | None = None
    """What it does to its component after waivers and baseline; null does not gate."""
    failing: tuple[str, ...] = ()
    """Ids of traces that fail, at most 50."""
    undecided: tuple[str, ...] = ()
    """Ids of traces that are not decided, at most 50."""
    known: int | None = None
    """Failing traces that the baseline has failing too; null without a baseline."""
    new: int | None = None
    """Failing traces that count, being neither known nor waived; null without a baseline."""
    new_traces: tuple[str, ...] = ()
    """Their ids, at most 50."""
    standing: Standing | None = None
    """How its judge stands by people's labels; null where nobody judges."""
    failing_interval: tuple[float, float] | None = None
    """Of the prevalence, at 95 %; null where nothing is decided."""
    repeats: Repeats | None = None
    """Several runs of one task; null where no task has two."""
    flips: Flips | None = None
    """Several answers on one trace; null where there are none, or code alone decides."""
    variance: Variance | None = None
    """Why answers disagree; null where there is nothing to compare."""


class Cells(Whole, frozen=True, kw_only=True):
    """Every criterion × trace × repeat, counted by who decided it and by state."""

    total: int
    """All of them."""
    code: int
    """Said by code."""
    judge: int
    """Said by a judge."""
    hybrid: int
    """Said by code and a judge together."""
    uncertain: int
    """Not decided, those included that nobody could look at."""
    na: int
    """Found not to apply."""
    not_adjudicated: int
    """Without a verdict: nobody could look."""
    pass_: int = msgspec.field(default=0, name="pass")
    """Found to pass."""
    fail: int = 0
    """Found to fail."""


class TraceCounts(Whole, frozen=True, kw_only=True):
    """What became of the traces."""

    found: int
    """Traces that could be read."""
    sampled: int
    """Those of them that were chosen."""
    evaluated: int
    """Those chosen that have a verdict line and are whole."""
    incomplete: int
    """Those chosen that are cut off or empty."""
    unreadable: int
    """Files and records that could not be read."""


class Blocked(Whole, frozen=True, kw_only=True):
    """Undecided cells by what they wait for."""

    by_kind: dict[str, int] = msgspec.field(default_factory=dict)
    """By who unblocks them: factual-intent, normative, scope."""
    by_cause: dict[str, int] = msgspec.field(default_factory=dict)
    """By cause."""


class Verification(Whole, frozen=True, kw_only=True):
    """Cells that a judge had a part in, by what the verifier said."""

    not_in_scope: int = 0
    """Not asked about, by `verifier.verify`."""
    confirmed: int = 0
    """The evidence proves it."""
    downgraded: int = 0
    """Taken back to uncertain."""
    failed: int = 0
    """Asked for, without an answer that could be used."""
    not_verified: int = 0
    """Nobody was asked: there is no verifier, or nothing decided to refute."""


class JudgeRecord(Whole, frozen=True, kw_only=True):
    """Who was asked, under what, and who answered; null is not recorded (METHOD 42)."""

    backend: str
    """The name of the backend; `none` asks nobody."""
    requested: dict[str, Any]
    """The pin as requested."""
    effective: dict[str, Any] | tuple[dict[str, Any] | None, ...] | None = None
    """What took effect; a list where it differs between answers, null in it for one unrecorded."""
    returned_model: str | None = None
    """The models that the replies name, with commas between them."""
    same_model: bool | None = None
    """Of a verifier, whether its model is the judge's; null of a judge."""


class UsageTotals(Whole, frozen=True, kw_only=True):
    """What this execution used; masked whole where runs are compared (METHOD 69, 86)."""

    calls: int = 0
    """Requests that went to a backend; never those read from a recording."""
    cache_hits: int = 0
    """Replies that came from the reply cache."""
    prompt_tokens: int | None = None
    """Tokens sent; null where a call did not record them."""
    completion_tokens: int | None = None
    """Tokens received; null where a call did not record them."""
    cost_micro_usd: int | None = None
    """Millionths of a US dollar; null where a call did not record it."""


class Gate(Whole, frozen=True, kw_only=True):
    """Why the run verdict is what it is, all gaps in one pass."""

    policy: str
    """`gate.policy`: strict or rate."""
    eligibility: str
    """`gate.eligibility`: which mined rows may gate."""
    gaps: tuple[str, ...] = ()
    """Everything that keeps the run from passing besides a failure."""
    failing: tuple[str, ...] = ()
    """The rows that fail it."""
    waivers: tuple[dict[str, Any], ...] = ()
    """The waivers of the configuration, each with whether it has expired."""
    baseline: str | None = None
    """The digest of the cells that failed in the baseline; null without one."""


class ChangeTests(Whole, frozen=True, kw_only=True):
    """What a code change's own test command said (METHOD 38)."""

    state: TestState
    """Green, red, or why it is neither."""
    exit_code: int | None = None
    """The command's; null where it did not end by itself."""
    reason: str | None = None
    """Why the tests are neither green nor red; null where they are."""
    output: str | None = None
    """The file in the run directory that holds what it printed; null where it did not run."""


class Quality(Whole, frozen=True, kw_only=True):
    """Tests and verdict of a code change beside each other, neither in the other (METHOD 38)."""

    tests: ChangeTests
    """What its own tests said."""
    verdict: GateState
    """The gate of the rows alone."""
    converged: bool | None
    """True where both are green, false where one is red, null where it is not known."""


class Scorecard(Whole, frozen=True, kw_only=True):
    """The result of a run."""

    schema_version: str
    run_verdict: GateState
    """The gate as a whole: the worst component, and incomplete where there is a gap."""
    subject: str
    """The agent's name."""
    suite: str
    """The suite's name."""
    components: tuple[ComponentResult, ...]
    """The gate of each component, by name."""
    criteria: tuple[CriterionRow, ...]
    """Each row over all traces, in the order of the suite."""
    cells: Cells
    """All cells, counted."""
    traces: TraceCounts
    """What became of the traces."""
    grounded: Ratio
    """Decided verdicts whose evidence is all found in the trace, of all decided ones."""
    blocked: Blocked
    """Why cells are not decided."""
    verification: Verification
    """What the verifier said."""
    judge: JudgeRecord
    """Who judged, under what."""
    verifier: JudgeRecord
    """Who verified, under what."""
    load: Load
    """What was found on disk."""
    gate: Gate
    """How the verdict came about."""
    validation: dict[str, Any]
    """`status`: the worst standing of a judged row, na without one; `criteria`: rows by
    standing."""
    digests: dict[str, str]
    """SHA-256: `plan` of what decides, `suite` of the suite as it was compiled."""
    usage: UsageTotals
    """What this execution used."""
    skipped_criteria: tuple[str, ...] = ()
    """Active rows that `select` left out."""
    self_evaluation: bool = False
    """Whether the subject is Helix itself (METHOD 81)."""
    variance: Variance | None = None
    """Why answers disagree, over all rows; null where there is nothing to compare."""
    quality: Quality | None = None
    """Of a code change, its tests beside its rows; else null."""

"""What a judgement is made of: refs, verdicts, the file of one trace (METHOD 1–8, 32–34).

msgspec structs, because they are written by the million and read back strictly: unknown fields
and wrong types are errors that name the path. camelCase on disk. The critique stands before the
result here and in the schema that a judge is given (METHOD 3).
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Result = Literal["pass", "fail", "uncertain"]
CellState = Literal["pass", "fail", "uncertain", "na"]
BlockKind = Literal["factual-intent", "normative", "scope"]
WorldCause = Literal[
    "unbound-term", "leap", "dead-ref", "missing-field", "ambiguous-order", "unknown-tool",
    "unresolved-route", "unread", "not-decidable",
]  # fmt: skip
MachineryCause = Literal[
    "truncated", "judge-error", "check-error", "refusal", "timeout", "budget", "malformed",
    "unavailable", "flapping",
]  # fmt: skip
Cause = WorldCause | MachineryCause
ProducedBy = Literal["code", "judge", "hybrid"]
MatchKind = Literal["exact", "contains", "weak", "scan", "dead"]
VerificationStatus = Literal["notInScope", "confirmed", "downgraded", "failed"]
StepKind = Literal[
    "gather", "expect", "context", "examine", "detect", "bind", "ground", "critique", "decide",
    "verify", "localize",
]  # fmt: skip

Locus = Literal["prompt", "tool", "context", "skill", "capture"]

MACHINERY_CAUSES: frozenset[str] = frozenset(MachineryCause.__args__)  # type: ignore[attr-defined]
VERDICT_SCHEMA_VERSION = "1.0"
MAX_CITED = 200


class Shape(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """The base of every artifact's shape: frozen, closed, camelCase on disk, defaults left out."""


class Scan(Shape, frozen=True, kw_only=True):
    """A complete look at one channel for what is said to be absent (METHOD 4, 11)."""

    channel: str
    """The field path of every place that was looked at."""
    pattern: str
    """The RE2 expression that was looked for; empty is anything at all."""
    items: int
    """How many values were looked at."""
    matches: int
    """How many of them matched."""
    first: int | None = None
    """The `seq` that a check looked from; null for the whole trace."""
    last: int | None = None
    """The `seq` that a check looked to; null for the whole trace."""


class Ref(Shape, frozen=True, kw_only=True):
    """Evidence: a place in the trace and what stands there; code looks it up (METHOD 4, 5)."""

    obs: str
    """The id of the observation or message, or of the trace, that owns the value."""
    path: str
    """The field path inside it."""
    value: str | None = None
    """The text that is cited; null where `scan` cites an absence."""
    scan: Scan | None = None
    """The look that found nothing, or not enough; null where a value is cited."""
    match: MatchKind | None = None
    """How code found it: whole, inside, weakly, by the scan, or not (dead); null before."""
    note: str | None = None
    """What the judge says of it; decides nothing."""


class Binding(Shape, frozen=True, kw_only=True):
    """A term of the criterion, and what it stands for in this trace (METHOD 10)."""

    term: str
    """The term, as the row or the judge names it."""
    ref: Ref | None = None
    """What it stands for here; null is unbound, so that the verdict is uncertain."""


class Litmus(Shape, frozen=True, kw_only=True):
    """The smallest extra premise that the conclusion needs, and what grounds it (METHOD 12)."""

    premise: str
    """The premise, in a sentence."""
    grounded_by: str | None = None
    """What establishes it, in the judge's words; null where nothing does."""


class Assumption(Shape, frozen=True, kw_only=True):
    """A premise that the trace did not establish (METHOD 7)."""

    text: str
    """The premise, in a sentence."""
    kind: BlockKind
    """Who settles it: the trace (factual-intent), the operator (normative), a narrower row
    (scope)."""
    status: Literal["hypothesis", "unverified", "verified", "eliminated"] = "hypothesis"
    """How far it is settled; a decided verdict may rest on `verified` alone."""


class BlockedBy(Shape, frozen=True, kw_only=True):
    """What an uncertain verdict waits for, typed by who can unblock it (METHOD 8, 9)."""

    kind: BlockKind
    """Who unblocks it: the trace (factual-intent), the operator (normative), a narrower row
    (scope)."""
    text: str
    """What is missing, in a sentence."""


class Verification(Shape, frozen=True, kw_only=True):
    """What the independent verifier said of a decided verdict (METHOD 47, 48)."""

    status: VerificationStatus
    """What became of it: confirmed, downgraded, not asked for, or asked for in vain."""
    reviewer: str | None = None
    """Who answered, by name; null where nobody did."""
    entails: bool | None = None
    """Whether the evidence proves the verdict; null where nobody answered."""
    leap: str | None = None
    """What the verdict assumes beyond its evidence; null where it assumes nothing."""
    leap_kind: BlockKind | None = None
    """Who settles the leap; null without one."""
    original_result: CellState | None = None
    """What the cell was before it was downgraded; else null."""


class CodePart(Shape, frozen=True, kw_only=True):
    """The code half of a hybrid row, kept beside the judged half (METHOD 21)."""

    result: CellState
    """What the code half alone comes to."""
    critique: str
    """The check's own detail."""
    refs: tuple[Ref, ...] = ()
    """The fields that decided it."""


class Verdict(Shape, frozen=True, kw_only=True):
    """One cell that pass, fail or uncertain was said of (METHOD 2)."""

    criterion_id: str
    critique: str
    """Why, written before the result; a check's detail where code decided."""
    result: Result
    """pass, fail, or uncertain where the trace or the machinery decides nothing."""
    confidence: float | None = None
    """0 to 1 as the judge says, 1 for code; decides nothing, null where not given."""
    claim: str | None = None
    """The one factual sentence that the refs show; null where none was made."""
    refs: tuple[Ref, ...] = ()
    """The evidence; a verdict that is decided cites some."""
    bindings: tuple[Binding, ...] = ()
    """The criterion's terms, and what each stands for in this trace."""
    litmus: Litmus | None = None
    """The smallest extra premise that the result needs; null where none was named."""
    assumptions: tuple[Assumption, ...] = ()
    """Premises that the trace did not establish."""
    blocked_by: BlockedBy | None = None
    cause: Cause | None = None
    produced_by: ProducedBy = "judge"
    code: CodePart | None = None
    verification: Verification | None = None
    confidence_band: Literal["high", "med", "low"] | None = None
    """The judge's confidence in a word; decides nothing."""

    @property
    def grounded(self) -> bool:
        """Whether the verdict has evidence and all of it resolves."""
        return bool(self.refs) and all(ref.match != "dead" for ref in self.refs)


class NotApplicable(Shape, frozen=True, kw_only=True):
    """A cell that does not apply, with its proof: a code guard, or cited refs (METHOD 1)."""

    criterion_id: str
    critique: str
    """Why the row's condition is false here."""
    refs: tuple[Ref, ...] = ()
    """The evidence that it is false."""
    produced_by: ProducedBy = "judge"
    code: CodePart | None = None
    verification: Verification | None = None


def by_code_alone(cell: Verdict | NotApplicable) -> bool:
    """Whether code alone made a cell: a code row, or a hybrid whose code half did not pass."""
    return cell.produced_by == "code" or (cell.code is not None and cell.code.result != "pass")


class Understanding(Shape, frozen=True, kw_only=True):
    """What the judge says the agent is and was asked, given and inferred kept apart."""

    rephrase: str
    """What the agent is and was asked, in the judge's words."""
    given: tuple[str, ...] = ()
    """What the recording says of it."""
    inferred: tuple[str, ...] = ()
    """What the judge made of that without being told."""


class ExpectedStep(Shape, frozen=True, kw_only=True):
    """One step that the judge expects before it looks at what was done."""

    expected: str
    """What a good run would do."""
    step: str | int | None = None
    """The number or name of the step; null where it has none."""
    rationale: str | None = None
    """Why it is expected; null where the judge does not say."""


class Context(Shape, frozen=True, kw_only=True):
    """Harness, scenario and possible exits, as the judge understood them."""

    harness: str = "unknown"
    """What ran the agent; `unknown` where the judge cannot know."""
    scenario: str | None = None
    """The situation, in a sentence; null where none was told."""
    exit_states: tuple[str, ...] = ()
    """The ways in which such a run can end."""


class Fidelity(Shape, frozen=True, kw_only=True):
    """Whether the trace can carry a judgement at all, and why not (METHOD 35)."""

    complete: bool
    """False where it is cut off or empty, so that no judge decides a row."""
    reason: str | None = None
    """What is wrong with the recording; null where nothing is."""


class AgentStep(Shape, frozen=True, kw_only=True):
    """A fact: one thing the agent did, numbered in order; built by code (METHOD 33)."""

    n: int
    """Its place in the order of the steps, from 1."""
    id: str
    """The id of the observation."""
    tool: str | None = None
    """The name of what was done: of a tool, of a generation, of a span."""
    status: str | None = None
    """How it ended, as the trace says; `error` where it tells of one; null is not told."""
    detail: str | None = None
    """The text of its error; null where there is none."""


class JudgeStep(Shape, frozen=True, kw_only=True):
    """One step of the judge's own walk; `anchor` is the agent step it reasoned over."""

    kind: StepKind
    """What the judge did in it."""
    text: str | None = None
    """Its reasoning; null where none was written."""
    ref: Ref | None = None
    """What it looked at; null for nothing in particular."""
    anchor: int | None = None
    """`n` of the agent's step that it reasoned over; null for none."""


class Candidate(Shape, frozen=True, kw_only=True):
    """Something seen with no criterion for it: never scored, handed to discover (METHOD 37)."""

    kind: Literal["eval", "dataset"]
    """eval: a criterion is missing; dataset: the trace is worth keeping."""
    detection: str
    """What was seen, in a sentence."""
    anchor: int | None = None
    """`n` of the agent's step where it was seen; null for none."""
    ref: Ref | None = None
    """What shows it; null where nothing was cited."""


class Localize(Shape, frozen=True, kw_only=True):
    """Where a failure comes from: the root, not the symptom."""

    root: str
    """The root in a sentence."""
    locus: Locus
    """Where it lies: the agent's prompt, tools, context or skill, or the recording."""
    refs: tuple[Ref, ...] = ()
    """What shows it."""
    assumptions: tuple[Assumption, ...] = ()
    """What it takes for granted without evidence."""


class Health(Shape, frozen=True, kw_only=True):
    """The judge's own account of its work; decides nothing."""

    context_gathered: bool = False
    """Whether it looked around before it judged."""
    grounded: bool = False
    """Whether it says that all rests on evidence."""
    assumed: bool = False
    """Whether it took something for granted."""
    stopped_at_symptom: bool = False
    """Whether it stopped before the root."""


class Provenance(Shape, frozen=True, kw_only=True):
    """What made the line, by digests (SHA-256)."""

    trace: str
    """Of the trace's source bytes."""
    criteria: str
    """Of the suite as it was compiled."""
    prompt: str | None = None
    """Of the judge's prompt; null where no judge was asked."""
    reply: str | None = None
    """Of the judge's reply; null where there is none."""


class Verifying(Shape, frozen=True, kw_only=True):
    """Who was asked to refute a line's verdicts, and under what (METHOD 42)."""

    model: str
    """The model that was asked."""
    temperature: float | None
    identity: str
    """Who answered, by name; never the judge's."""
    returned_model: str | None = None
    effective: dict[str, Any] | None = None
    prompt: str | None = None
    """The digest of the prompt of the batch; null where not recorded."""
    reply: str | None = None
    """The digest of the reply; null where there is none."""


class MatrixVerdictFile(Shape, frozen=True, kw_only=True):
    """Every cell of one trace (and one replicate of it), one line of verdicts.jsonl (METHOD 32)."""

    trajectory_id: str
    """The id of the trace."""
    schema_version: str = msgspec.field(default_factory=lambda: VERDICT_SCHEMA_VERSION)
    replicate: int = 0
    judge_model: str | None = None
    temperature: float | None = None
    judge_identity: str | None = None
    returned_model: str | None = None
    """The model that the replies name, several with commas; null where none does."""
    effective: dict[str, Any] | tuple[dict[str, Any] | None, ...] | None = None
    """The parameters that took effect, a list where replies differ; null is not recorded."""
    verifying: Verifying | None = None
    """Who was asked to refute the verdicts; null where nobody was."""
    route: str | None = None
    task: str | None = None
    subject_profile: dict[str, Any] | None = None
    """What was known of the agent, in lines of other writers; Helix has subject.json."""
    understanding: Understanding | None = None
    """What the judge says the agent was asked; null where no judge said it."""
    expected_trajectory: tuple[ExpectedStep, ...] = ()
    """What the judge expected before it looked at what was done."""
    context: Context | None = None
    """What the judge says of the surroundings; null where no judge said it."""
    fidelity: Fidelity
    """Whether the trace can carry a judgement."""
    agent_steps: tuple[AgentStep, ...] = ()
    """What the agent did, as code read it from the trace."""
    judge_steps: tuple[JudgeStep, ...] = ()
    """How the judge went about it."""
    verdicts: tuple[Verdict, ...] = ()
    """The cells that pass, fail or are uncertain."""
    not_applicable: tuple[NotApplicable, ...] = ()
    """The cells that do not apply, each with its proof."""
    dense_map: dict[str, CellState]
    """The state of every cell of the trace, by criterion."""
    candidates: tuple[Candidate, ...] = ()
    """What was seen without a criterion for it."""
    localize: Localize | None = None
    """Where the failures come from; null where no judge said it."""
    health: Health | None = None
    """The judge's account of its work; null where no judge gave it."""
    not_adjudicated: dict[str, Cause] = {}
    """The cells without a verdict, by criterion, and why nobody could look."""
    not_adjudicated_reasons: dict[str, str] = {}
    """What went wrong with those cells in words, where that is known."""
    warnings: tuple[str, ...] = ()
    """What a reader should know of how the line came about."""
    provenance: Provenance | None = None
    """What made the line; null where not recorded."""

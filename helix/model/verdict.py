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
    """A complete look at one channel for what is said to be absent (METHOD 4, 11).

    `channel` is a field path, `pattern` an RE2 expression (empty: anything at all), `items` how
    many values were looked at, `matches` how many matched. `first` and `last` are the `seq` between
    which a check looked, where it looks at a part of the trace.
    """

    channel: str
    pattern: str
    items: int
    matches: int
    first: int | None = None
    last: int | None = None


class Ref(Shape, frozen=True, kw_only=True):
    """Evidence: the owner's id, the path inside it, the cited text; `match` is set by code."""

    obs: str
    path: str
    value: str | None = None
    scan: Scan | None = None
    match: MatchKind | None = None
    note: str | None = None


class Binding(Shape, frozen=True, kw_only=True):
    """A term of the criterion and the ref that is its referent here; None is unbound."""

    term: str
    ref: Ref | None = None


class Litmus(Shape, frozen=True, kw_only=True):
    """The smallest extra premise that the conclusion needs, and what grounds it (METHOD 12)."""

    premise: str
    grounded_by: str | None = None


class Assumption(Shape, frozen=True, kw_only=True):
    """A premise that the trace did not establish (METHOD 7)."""

    text: str
    kind: BlockKind
    status: Literal["hypothesis", "unverified", "verified", "eliminated"] = "hypothesis"


class BlockedBy(Shape, frozen=True, kw_only=True):
    """What an uncertain verdict waits for, typed by who can unblock it (METHOD 8, 9)."""

    kind: BlockKind
    text: str


class Verification(Shape, frozen=True, kw_only=True):
    """What the independent verifier said of a decided verdict (METHOD 47, 48)."""

    status: VerificationStatus
    reviewer: str | None = None
    entails: bool | None = None
    leap: str | None = None
    leap_kind: BlockKind | None = None
    original_result: CellState | None = None


class CodePart(Shape, frozen=True, kw_only=True):
    """The code half of a hybrid row, kept beside the judged half (METHOD 21)."""

    result: CellState
    critique: str
    refs: tuple[Ref, ...] = ()


class Verdict(Shape, frozen=True, kw_only=True):
    """One cell that pass, fail or uncertain was said of (METHOD 2)."""

    criterion_id: str
    critique: str
    result: Result
    confidence: float | None = None
    claim: str | None = None
    refs: tuple[Ref, ...] = ()
    bindings: tuple[Binding, ...] = ()
    litmus: Litmus | None = None
    assumptions: tuple[Assumption, ...] = ()
    blocked_by: BlockedBy | None = None
    cause: Cause | None = None
    produced_by: ProducedBy = "judge"
    code: CodePart | None = None
    verification: Verification | None = None
    confidence_band: Literal["high", "med", "low"] | None = None

    @property
    def grounded(self) -> bool:
        """Whether the verdict has evidence and all of it resolves."""
        return bool(self.refs) and all(ref.match != "dead" for ref in self.refs)


class NotApplicable(Shape, frozen=True, kw_only=True):
    """A cell that does not apply, with its proof: a code guard, or cited refs (METHOD 1)."""

    criterion_id: str
    critique: str
    refs: tuple[Ref, ...] = ()
    produced_by: ProducedBy = "judge"
    code: CodePart | None = None
    verification: Verification | None = None


def by_code_alone(cell: Verdict | NotApplicable) -> bool:
    """Whether code alone made a cell: a code row, or a hybrid whose code half did not pass."""
    return cell.produced_by == "code" or (cell.code is not None and cell.code.result != "pass")


class Understanding(Shape, frozen=True, kw_only=True):
    """What the judge says the agent is and was asked, given and inferred kept apart."""

    rephrase: str
    given: tuple[str, ...] = ()
    inferred: tuple[str, ...] = ()


class ExpectedStep(Shape, frozen=True, kw_only=True):
    """One step that the judge expects before it looks at what was done."""

    expected: str
    step: str | int | None = None
    rationale: str | None = None


class Context(Shape, frozen=True, kw_only=True):
    """Harness, scenario and possible exits, as the judge understood them."""

    harness: str = "unknown"
    scenario: str | None = None
    exit_states: tuple[str, ...] = ()


class Fidelity(Shape, frozen=True, kw_only=True):
    """Whether the trace can carry a judgement at all, and why not (METHOD 35)."""

    complete: bool
    reason: str | None = None


class AgentStep(Shape, frozen=True, kw_only=True):
    """A fact: one thing the agent did, numbered in order; built by code (METHOD 33)."""

    n: int
    id: str
    tool: str | None = None
    status: str | None = None
    detail: str | None = None


class JudgeStep(Shape, frozen=True, kw_only=True):
    """One step of the judge's own walk; `anchor` is the agent step it reasoned over."""

    kind: StepKind
    text: str | None = None
    ref: Ref | None = None
    anchor: int | None = None


class Candidate(Shape, frozen=True, kw_only=True):
    """Something seen with no criterion for it: never scored, handed to discover (METHOD 37)."""

    kind: Literal["eval", "dataset"]
    detection: str
    anchor: int | None = None
    ref: Ref | None = None


class Localize(Shape, frozen=True, kw_only=True):
    """Where a failure comes from: the root, not the symptom."""

    root: str
    locus: Locus
    refs: tuple[Ref, ...] = ()
    assumptions: tuple[Assumption, ...] = ()


class Health(Shape, frozen=True, kw_only=True):
    """The judge's own account of its work."""

    context_gathered: bool = False
    grounded: bool = False
    assumed: bool = False
    stopped_at_symptom: bool = False


class Provenance(Shape, frozen=True, kw_only=True):
    """Digests of what made the line: trace, criteria, and prompt and reply where a judge spoke."""

    trace: str
    criteria: str
    prompt: str | None = None
    reply: str | None = None


class Verifying(Shape, frozen=True, kw_only=True):
    """Who was asked to refute a line's verdicts and under what; null is not recorded (METHOD 42).

    `prompt` and `reply` are the digests of the batch.
    """

    model: str
    temperature: float | None
    identity: str
    returned_model: str | None = None
    effective: dict[str, Any] | None = None
    prompt: str | None = None
    reply: str | None = None


class MatrixVerdictFile(Shape, frozen=True, kw_only=True):
    """Every cell of one trace (and one replicate of it), one line of verdicts.jsonl (METHOD 32).

    `notAdjudicatedReasons` says of a cell without a verdict what went wrong, where that is known.
    `effective` are the parameters that the judge answered under, a list where its replies came
    under several; null is not recorded (METHOD 42). `returnedModel` names several with commas.
    """

    trajectory_id: str
    schema_version: str = msgspec.field(default_factory=lambda: VERDICT_SCHEMA_VERSION)
    replicate: int = 0
    judge_model: str | None = None
    temperature: float | None = None
    judge_identity: str | None = None
    returned_model: str | None = None
    effective: dict[str, Any] | tuple[dict[str, Any] | None, ...] | None = None
    verifying: Verifying | None = None
    route: str | None = None
    task: str | None = None
    subject_profile: dict[str, Any] | None = None
    understanding: Understanding | None = None
    expected_trajectory: tuple[ExpectedStep, ...] = ()
    context: Context | None = None
    fidelity: Fidelity
    agent_steps: tuple[AgentStep, ...] = ()
    judge_steps: tuple[JudgeStep, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    not_applicable: tuple[NotApplicable, ...] = ()
    dense_map: dict[str, CellState]
    candidates: tuple[Candidate, ...] = ()
    localize: Localize | None = None
    health: Health | None = None
    not_adjudicated: dict[str, Cause] = {}
    not_adjudicated_reasons: dict[str, str] = {}
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None

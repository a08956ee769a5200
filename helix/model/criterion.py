"""Criteria: one binary, actionable statement about a trace each (METHOD 16–24).

Pydantic, because people write them: frozen, no unknown keys, camelCase on disk, snake_case read
as well. What a row means once it is compiled lives in `helix.suite`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic.alias_generators import to_camel

from helix.model.canonical import digest

Severity = Literal["CRIT", "HIGH", "MED", "LOW"]
Dimension = Literal["operation-correctness", "data-correctness", "operational-deviation"]
CheckClass = Literal["code", "judge", "hybrid"]
CheckMethod = Literal["deterministic", "llm-judge", "hybrid"]
Origin = Literal["operator", "mined"]
Grounding = Literal["observed", "inferred", "hypothesis-pending"]
AssumptionKind = Literal["factual-intent", "normative", "scope"]
AssumptionStatus = Literal["hypothesis", "unverified", "verified", "eliminated"]

CHECK_METHOD: dict[str, CheckMethod] = {
    "code": "deterministic",
    "judge": "llm-judge",
    "hybrid": "hybrid",
}
CLASS_OF: dict[CheckMethod, CheckClass] = {
    "deterministic": "code",
    "llm-judge": "judge",
    "hybrid": "hybrid",
}
GATING_SEVERITIES = ("CRIT", "HIGH")
SUITE_SCHEMA_VERSION = "1.0"


class Record(BaseModel):
    """The base of everything that people write: frozen, closed, camelCase on disk."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )


class RefSpec(Record):
    """Evidence as written in a suite (METHOD 4)."""

    obs: str
    """The id of the observation, message or trace that owns the value."""
    path: str
    """The field path inside it."""
    value: str | None = None
    """The text that is cited; null cites the place alone."""


class AssumptionSpec(Record):
    """A premise that the trace did not establish (METHOD 7)."""

    text: str
    """The premise, in a sentence."""
    status: AssumptionStatus = "hypothesis"
    """How far it is settled."""
    kind: AssumptionKind = "factual-intent"
    """Who settles it: the trace (factual-intent), the operator (normative), a narrower row
    (scope)."""


class Prevalence(Record):
    """k of n examined traces showed it."""

    k: int = Field(ge=0)
    """Traces that show it."""
    n: int = Field(ge=0)
    """Traces that were examined."""


class Evidence(Record):
    """What a mined criterion was seen in (METHOD 18)."""

    refs: tuple[RefSpec, ...] = ()
    """Places in those traces."""
    trace_ids: tuple[str, ...] = ()
    """The ids of those traces."""


class Discovery(Record):
    """How a mined criterion came about (METHOD 18)."""

    grounding: Grounding = "inferred"
    """What it rests on; observed needs refs and k > 0, and only that gates by itself."""
    evidence: Evidence = Evidence()
    """What it was seen in."""
    prevalence: Prevalence | None = None
    """How many of the examined traces showed it; null was not counted."""
    assumptions: tuple[AssumptionSpec, ...] = ()
    """What it takes for granted."""
    single_trace: bool = False
    """Whether only one trace showed it, with no healthy one beside it."""


class Ratified(Record):
    """Who accepted a criterion as a norm, when, and why (METHOD 16)."""

    by: str = Field(min_length=1)
    """Who."""
    at: str = Field(min_length=1)
    """When, as it was given (ISO 8601)."""
    note: str = ""
    """Why."""


class CodeEval(BaseModel):
    """A primitive's name; every other key is one of its parameters, checked when it compiles."""

    model_config = ConfigDict(frozen=True, extra="allow", populate_by_name=True)
    primitive: str
    """The name of the check."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The primitive's parameters as written."""
        return dict(self.model_extra or {})


class FewShot(Record):
    """One example in a judge's prompt; only the TRAIN split may give it (METHOD 39)."""

    trace_id: str
    split: Literal["train"]
    """train: an example of dev or test would show the judge what it is measured on."""
    text: str
    """The part of that trace that the row needs."""
    critique: str
    result: Literal["pass", "fail", "uncertain"]
    """What it was decided to be."""

    @field_validator("split", mode="before")
    @classmethod
    def _no_leak(cls, value: Any) -> Any:
        if value != "train":
            raise ValueError(
                f"must be train (got {value!r}): an example from dev or test shows the judge what "
                "it is measured on"
            )
        return value


class Criterion(Record):
    """A matrix row (METHOD 16, 17, 18, 23, 24)."""

    criterion_id: str = Field(min_length=1, max_length=200)
    """What verdicts, labels and waivers name the row by; never used again once retired."""
    statement: str
    """What is asked, one sentence that begins “Pass = …”."""
    pass_condition: str = ""
    fail_condition: str = ""
    severity: Severity | None = None
    """CRIT and HIGH may decide the gate; null is derived from how often it failed."""
    dimension: Dimension = "operation-correctness"
    """What is to be right: what is done, with which data, or how it is done."""
    klass: CheckClass | None = Field(default=None, alias="class")
    """Who decides it; null follows from `checkMethod`, else from `codeEval`."""
    check_method: CheckMethod | None = None
    """The same in other words: deterministic, llm-judge, hybrid; null follows from `class`."""
    code_eval: CodeEval | None = None
    """The check that decides it, or its code half; null in a judge's row."""
    judge_inputs: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    few_shot: tuple[FewShot, ...] = ()
    """Decided examples for the judge's prompt."""
    origin: Origin = "operator"
    """Who wrote it: an operator, or discover."""
    ratified: Ratified | None = None
    """Who accepted it as a norm, so that it may gate; null for nobody."""
    may_not_apply: bool = False
    """Whether a run may pass in which it applies to no trace."""
    component: str | None = None
    """The component whose gate it enters; null is the subject."""
    route: str | None = None
    """The one kind of request that it is about; null is all."""
    tags: tuple[str, ...] = ()
    """Words to select rows by."""
    level: Literal["context", "output", "cross-stage"] | None = None
    """Whether it looks at what was given, at the output, or across stages; decides nothing."""
    generality: Literal["general-structural", "specific-semantic"] | None = None
    """Whether it holds for any agent or this one; decides nothing."""
    discovery: Discovery | None = None
    """How a mined row came about; null in an operator's."""
    scope: Literal["COMMAND", "SKILL", "AGENT"] | None = None
    """Where its root lies: a command, a skill, or the agent; null is not told."""
    variance_mechanism: str | None = None
    """How runs come to differ, in a row about determinism; else null."""
    controls: tuple[Literal["C-SCRIPT", "C-SCHEMA", "C-GATE", "C-GUARD", "C-PIN"], ...] = ()
    """The controls that hold what it looks for in check."""
    root_cause: (
        Literal[
            "RC-INGEST", "RC-ENV", "RC-LLM-PIN", "RC-RUNMETA", "RC-LATENCY", "RC-SCHEMA",
            "RC-SAMPLE", "RC-GATE", "RC-CONFIG",
        ]
        | None
    ) = None  # fmt: skip
    """The root that it looks for, by its name in METHOD 24; null is not told."""
    defect_class: (
        Literal[
            "code-bug", "missing-determinism", "schema-contract-gap", "gate-coverage-gap",
            "capability-gap", "skill-forced-improvisation", "agent-discretion",
            "reactive-improvisation",
        ]
        | None
    ) = None  # fmt: skip
    """What kind of defect it looks for; null is not told."""
    status: Literal["active", "retired"] = "active"
    """retired: no run evaluates it, and its id stays taken."""
    version: int = Field(default=1, ge=1)
    """Counts up when the row's meaning changes."""

    @cached_property
    def digest(self) -> str:
        """The digest of all that the row says."""
        return digest(self.model_dump(mode="json", by_alias=True, exclude_defaults=True))

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy, with a digest of its own."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("digest", None)
        return copied

    @property
    def implied_class(self) -> CheckClass:
        """The class as given, else that of the check method, else by its code (METHOD 17, 20)."""
        if self.klass is None and self.check_method is not None:
            return CLASS_OF[self.check_method]
        return self.klass or ("judge" if self.code_eval is None else "code")

    @property
    def gating_severity(self) -> bool:
        """Whether the row's severity may decide the gate (METHOD 65)."""
        return self.severity in GATING_SEVERITIES


class Suite(Record):
    """A criteria file."""

    suite: str = Field(min_length=1)
    """Its name."""
    version: int | str = 1
    """Its version, as its authors count."""
    schema_version: str = SUITE_SCHEMA_VERSION
    tools: tuple[str, ...] = ()
    """Tools that the subject is known to have, called or not, beside `subject.tools`."""
    criteria: tuple[Criterion, ...]
    """Its rows; ids are unique."""

    @field_validator("schema_version")
    @classmethod
    def _of_this_version(cls, value: str) -> str:
        if value.partition(".")[0] != SUITE_SCHEMA_VERSION.partition(".")[0]:
            raise ValueError(f"must be {SUITE_SCHEMA_VERSION} (got {value!r})")
        return value

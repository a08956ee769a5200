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
    """Evidence as written in a suite: owner id, relative path, cited text (METHOD 4)."""

    obs: str
    path: str
    value: str | None = None


class AssumptionSpec(Record):
    """A premise that the trace did not establish (METHOD 7)."""

    text: str
    status: AssumptionStatus = "hypothesis"
    kind: AssumptionKind = "factual-intent"


class Prevalence(Record):
    """k of n examined traces showed it."""

    k: int = Field(ge=0)
    n: int = Field(ge=0)


class Evidence(Record):
    """What a mined criterion was seen in (METHOD 18)."""

    refs: tuple[RefSpec, ...] = ()
    trace_ids: tuple[str, ...] = ()


class Discovery(Record):
    """How a mined criterion came about (METHOD 18): observed needs refs and k > 0."""

    grounding: Grounding = "inferred"
    evidence: Evidence = Evidence()
    prevalence: Prevalence | None = None
    assumptions: tuple[AssumptionSpec, ...] = ()
    single_trace: bool = False


class Ratified(Record):
    """Who accepted a criterion as a norm, when, and why (METHOD 16)."""

    by: str = Field(min_length=1)
    at: str = Field(min_length=1)
    note: str = ""


class CodeEval(BaseModel):
    """A primitive's name; every other key is one of its parameters, checked when it compiles."""

    model_config = ConfigDict(frozen=True, extra="allow", populate_by_name=True)
    primitive: str

    @property
    def parameters(self) -> dict[str, Any]:
        """The primitive's parameters as written."""
        return dict(self.model_extra or {})


class FewShot(Record):
    """One example in a judge's prompt; only the TRAIN split may give it (METHOD 39)."""

    trace_id: str
    split: Literal["train"]
    text: str
    critique: str
    result: Literal["pass", "fail", "uncertain"]

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
    statement: str
    pass_condition: str = ""
    fail_condition: str = ""
    severity: Severity | None = None
    dimension: Dimension = "operation-correctness"
    klass: CheckClass | None = Field(default=None, alias="class")
    check_method: CheckMethod | None = None
    code_eval: CodeEval | None = None
    judge_inputs: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    few_shot: tuple[FewShot, ...] = ()
    origin: Origin = "operator"
    ratified: Ratified | None = None
    may_not_apply: bool = False
    component: str | None = None
    route: str | None = None
    tags: tuple[str, ...] = ()
    level: Literal["context", "output", "cross-stage"] | None = None
    generality: Literal["general-structural", "specific-semantic"] | None = None
    discovery: Discovery | None = None
    scope: Literal["COMMAND", "SKILL", "AGENT"] | None = None
    variance_mechanism: str | None = None
    controls: tuple[Literal["C-SCRIPT", "C-SCHEMA", "C-GATE", "C-GUARD", "C-PIN"], ...] = ()
    root_cause: (
        Literal[
            "RC-INGEST", "RC-ENV", "RC-LLM-PIN", "RC-RUNMETA", "RC-LATENCY", "RC-SCHEMA",
            "RC-SAMPLE", "RC-GATE", "RC-CONFIG",
        ]
        | None
    ) = None  # fmt: skip
    defect_class: (
        Literal[
            "code-bug", "missing-determinism", "schema-contract-gap", "gate-coverage-gap",
            "capability-gap", "skill-forced-improvisation", "agent-discretion",
            "reactive-improvisation",
        ]
        | None
    ) = None  # fmt: skip
    status: Literal["active", "retired"] = "active"
    version: int = Field(default=1, ge=1)

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
    """One suite file: a name, a version, its rows.

    `tools` are those that the subject is known to have, whether or not a trace calls them; they
    count as inventory beside `subject.tools` (METHOD 27).
    """

    suite: str = Field(min_length=1)
    version: int | str = 1
    schema_version: str = SUITE_SCHEMA_VERSION
    tools: tuple[str, ...] = ()
    criteria: tuple[Criterion, ...]

    @field_validator("schema_version")
    @classmethod
    def _of_this_version(cls, value: str) -> str:
        if value.partition(".")[0] != SUITE_SCHEMA_VERSION.partition(".")[0]:
            raise ValueError(f"must be {SUITE_SCHEMA_VERSION} (got {value!r})")
        return value

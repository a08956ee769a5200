"""The configuration of a run, validated after Hydra composed it (DESIGN “Commands and keys”).

What of it changes answers and what only carries the work out is told apart in `helix.planning`.
Plain Python can build a `Config` without Hydra.
"""

from __future__ import annotations

import datetime
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

Verbosity = Literal["quiet", "normal", "verbose"]
"""How much a report on the terminal shows: the gate alone, what to look at, everything."""


class Section(BaseModel):
    """The base of every config section: frozen and closed, snake_case as typed."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _true_is_no_number(cls, value: Any, info: ValidationInfo) -> Any:
        taken = cls.model_fields[str(info.field_name)].annotation
        if isinstance(value, bool) and taken is not bool and bool not in get_args(taken):
            raise ValueError("a value other than true or false")
        return value


class SubjectConfig(Section):
    """The agent whose traces are read: where they are, what is known of it (METHOD 11, 13, 31)."""

    name: str = "subject"
    traces: str | tuple[str, ...] | None = None
    format: str = "auto"
    component: str | None = None
    routes: tuple[str, ...] = ()
    route_field: str | None = None
    tools: tuple[str, ...] = ()
    complete_channels: tuple[str, ...] = ()
    truncation_flags: tuple[str, ...] = ("truncated",)
    truncation_fields: tuple[str, ...] = ("metadata.truncated", "output.truncated")
    purpose: str | None = None
    skill: str | None = None
    scope: str | None = None
    harness: str | None = None
    version: str | None = None
    events: tuple[str, ...] = ()


class CriteriaConfig(Section):
    """Where the suite is."""

    file: str | None = None


class ChecksConfig(Section):
    """Local Python files or modules that register custom checks."""

    modules: tuple[str, ...] = ()


class JudgeConfig(Section):
    """Who answers what code cannot: backend name and pin (METHOD 42)."""

    backend: str = "dispatch"
    model: str | None = None
    identity: str | None = None
    temperature: float = 0.0
    base_url: str | None = None
    api_key_env: str | None = None
    seed: int | None = None
    max_tokens: int | None = Field(default=None, gt=0)
    extra: dict[str, Any] = {}
    context_tokens: int = Field(default=128_000, gt=0, le=1_000_000_000)
    model_aliases: tuple[str, ...] = ()
    dir: str | None = None
    script: str | None = None
    command: tuple[str, ...] = ()
    structured: Literal["auto", "schema", "instruction"] = "auto"
    axis: Literal["trajectory", "criterion", "code-quality"] = "trajectory"
    two_pass: bool = False
    allow_unpinned_temperature: bool = False


class VerifierConfig(JudgeConfig):
    """Who tries to refute a decided verdict (METHOD 47).

    The backend `same` is the judge's: what is left unset here is as it is there.
    """

    backend: str = "same"
    verify: Literal["gating", "fails", "all", "none"] = "gating"


class SamplingConfig(Section):
    """Which traces are taken and how often each is judged; seeded (METHOD 53, 73)."""

    strategy: str = "all"
    n: int | None = Field(default=None, ge=0)
    seed: int = 0
    replicates: int = Field(default=1, ge=1, le=10_000)
    replicate_offset: int = Field(default=0, ge=0)


class SelectConfig(Section):
    """What a person picked by hand; a selector that matches nothing is an error."""

    criteria: tuple[str, ...] = ()
    traces: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    failed_from: str | None = None


class Waiver(Section):
    """A failing or undecided gating criterion that someone vouches for until a date."""

    criterion: str
    """The id of the row."""
    by: str = Field(pattern=r"\S")
    """Who vouches."""
    reason: str = Field(pattern=r"\S")
    """Why."""
    expires: datetime.date
    """The last day that it holds (YYYY-MM-DD)."""
    trace: str | None = None
    """The one trace that it is about; null is all."""


class PerTask(Section):
    """k of n runs of one task must pass (METHOD 66)."""

    k: int = Field(ge=1)
    """How many runs of a task must pass."""
    n: int = Field(ge=1)
    """Of how many."""


class RatePolicy(Section):
    """The pass rate that a criterion must reach; an exact ratio, written as `9/10` or `90%`."""

    target: str = "1"
    confidence: float | None = Field(default=None, gt=0, lt=1)

    @field_validator("target", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> str:
        return str(value)


class GateConfig(Section):
    """How verdicts become a gate, and the gate an exit code (METHOD 64–67)."""

    policy: Literal["strict", "rate"] = "strict"
    exit: Literal["gate", "advisory"] = "gate"
    eligibility: Literal["default", "observed"] = "default"
    per_task: PerTask | None = None
    rate: RatePolicy = RatePolicy()
    require_validated: bool = False
    require_verified: bool = False
    baseline: str | None = None
    waivers: tuple[Waiver, ...] = ()
    today: datetime.date | None = None


class ValidationConfig(Section):
    """What a judge is measured by: labels, a split of them, another run (METHOD 60–62)."""

    labels: tuple[str, ...] = ()
    adjudicated: tuple[str, ...] = ()
    split: Literal["train", "dev", "test", "all"] = "dev"
    seed: int = 0
    force: bool = False
    run: str | None = None
    against: str | None = None
    anchors: tuple[str, ...] = ()
    width: float = Field(default=0.1, ge=0.01, le=0.5)


class DiscoverConfig(Section):
    """How discover reads a batch, and what it makes of it (METHOD 22, 52, 54)."""

    batch: int = Field(default=20, ge=1)
    window: int = Field(default=20, ge=1)
    max_categories: int = Field(default=10, ge=1)
    severity_high: int = Field(default=3, ge=1)
    severity_med: int = Field(default=1, ge=1)
    preferences: bool = True
    living: bool = True


class DatasetConfig(Section):
    """What becomes a dataset: runs, picks, labels, tuples for tasks to write (METHOD 58, 62)."""

    name: str | None = None
    runs: tuple[str, ...] = ()
    include: tuple[Literal["failing", "uncertain", "candidate", "passing"], ...] = (
        "failing",
        "uncertain",
        "candidate",
    )
    pick: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    seed: int = 0
    dimensions: dict[str, tuple[str, ...]] | None = None
    combine: Literal["all", "pairwise"] = "all"


class ImproveConfig(Section):
    """How the improve loop runs a subject, measures it and asks for changes (METHOD 73–77)."""

    id: str = Field(default="subject", pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*$")
    subject: str = "directory"
    cases: str | tuple[str, ...] | None = None
    command: tuple[str, ...] = ()
    call: str | None = None
    dir: str | None = None
    subject_files: tuple[str, ...] = ()
    engineer: str = "human"
    engineer_command: tuple[str, ...] = ()
    engineer_call: str | None = None
    repeats: int = Field(default=5, ge=1, le=1_000)
    max_variance: float = Field(default=0.0, ge=0, le=1)
    target: str = "1"
    max_swings: int = Field(default=6, ge=1)
    max_minutes: float = Field(default=30.0, gt=0)
    streak: int = Field(default=2, ge=1)
    concurrency: int = Field(default=4, ge=1)
    case_s: float = Field(default=300.0, gt=0)
    engineer_s: float = Field(default=1800.0, gt=0)

    @field_validator("target", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> str:
        return str(value)


Vary = Literal["hash-seed", "time-zone", "locale", "directory", "order", "concurrency"]
"""A condition that an execution of an audit may change."""


class AuditConfig(Section):
    """What is executed or taken to be compared, and what varies between executions (METHOD 71)."""

    runs: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    times: int = Field(default=2, ge=2, le=20)
    vary: tuple[Vary, ...] = get_args(Vary)
    pythons: tuple[str, ...] = ()
    executors: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    defects: str | None = None
    deadline_s: float = Field(default=3600.0, gt=0)

    @field_validator("vary", "pythons", "executors")
    @classmethod
    def _each_once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(value)) < len(value):
            raise ValueError("a list that names each once")
        return value


class QualityConfig(Section):
    """How a code change's own tests are run, with `judge.axis=code-quality` alone (METHOD 38).

    `tests_untested` are the exit codes that say neither green nor red; None takes a shell's 126
    and 127, and pytest's 2 to 5 where the command names pytest.
    """

    tests_command: tuple[str, ...] = ()
    tests_dir: str | None = None
    tests_timeout_s: float = Field(default=600.0, gt=0)
    tests_untested: tuple[int, ...] | None = None


class LimitsConfig(Section):
    """Bounds on time, calls and money; None is no bound."""

    concurrency: int = Field(default=8, ge=1)
    rate: float | None = Field(default=None, gt=0)
    retries: int = Field(default=3, ge=0)
    deadline_s: float = Field(default=120.0, gt=0)
    unit_s: float = Field(default=240.0, gt=0)
    max_calls: int | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    max_cost_usd: float | None = Field(default=None, ge=0)


class ShardConfig(Section):
    """Which share of the traces this run evaluates."""

    index: int = Field(default=0, ge=0)
    count: int = Field(default=1, ge=1)


class RunConfig(Section):
    """`dry` prints what would be done and spends nothing."""

    dry: bool = False
    id: str | None = None
    dir: str | None = None


class ReportConfig(Section):
    """Which renderers run, and where each writes; the page lists the `worst` traces, null all."""

    out: tuple[str, ...] = ("terminal", "html")
    to: dict[str, str] = {}
    mode: Literal["auto", "single", "directory"] = "auto"
    worst: int | None = Field(default=10_000, ge=1)
    verbosity: Verbosity = "normal"


class CacheConfig(Section):
    """Where replies are kept, and what becomes of those of no use.

    `options` are what a plugin's cache takes; `unusable` draws malformed and refused replies again.
    """

    name: str = "disk"
    options: dict[str, Any] = {}
    refresh: Literal["never", "unusable"] = "never"


class ExecutorConfig(Section):
    """Who carries the work out: `workers` processes, as many as there are cores if null.

    `options` are what a plugin's executor takes beside that.
    """

    name: str = "local"
    workers: int | None = Field(default=None, ge=1)
    options: dict[str, Any] = {}


class PathsConfig(Section):
    """Roots; every artifact stays under one of them (METHOD 83)."""

    state: str = ".helix"


class Config(Section):
    """Everything that `helix evaluate` can be told."""

    subject: SubjectConfig = SubjectConfig()
    criteria: CriteriaConfig = CriteriaConfig()
    checks: ChecksConfig = ChecksConfig()
    judge: JudgeConfig = JudgeConfig()
    verifier: VerifierConfig = VerifierConfig()
    quality: QualityConfig = QualityConfig()
    sampling: SamplingConfig = SamplingConfig()
    select: SelectConfig = SelectConfig()
    gate: GateConfig = GateConfig()
    executor: ExecutorConfig = ExecutorConfig()
    cache: CacheConfig = CacheConfig()
    limits: LimitsConfig = LimitsConfig()
    shard: ShardConfig = ShardConfig()
    run: RunConfig = RunConfig()
    report: ReportConfig = ReportConfig()
    paths: PathsConfig = PathsConfig()
    validation: ValidationConfig = ValidationConfig()
    discover: DiscoverConfig = DiscoverConfig()
    dataset: DatasetConfig = DatasetConfig()
    audit: AuditConfig = AuditConfig()
    improve: ImproveConfig = ImproveConfig()

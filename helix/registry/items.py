"""What plugins hand out: one small frozen type per hook, each with a name and a version.

The same types carry the built-ins. `helix.testing` holds the conformance suites.
"""

from __future__ import annotations

import datetime
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel

from helix.model.config import CacheConfig, Config, ImproveConfig, JudgeConfig
from helix.model.criterion import Suite
from helix.model.manifest import LoadFailure, ManifestEntry, Survey
from helix.model.request import Pin, Price, Reply, Request
from helix.model.scorecard import UsageTotals
from helix.model.trace import Trace
from helix.model.verdict import Cause, CellState, Ref
from helix.registry.leaf import Leaf


@dataclass(frozen=True, slots=True)
class Decision:
    """What a check says of one trace: state, detail in words, the places that decided it.

    `cause` is needed for uncertain and forbidden otherwise; na needs `detail` as its reason.
    """

    state: CellState
    detail: str
    refs: tuple[Ref, ...] = ()
    cause: Cause | None = None

    def __post_init__(self) -> None:
        if self.state not in ("pass", "fail", "uncertain", "na"):
            raise ValueError(
                f"Decision.state must be pass, fail, uncertain or na (got {self.state!r})"
            )
        if (self.cause is None) == (self.state == "uncertain"):
            raise ValueError(
                f"Decision.cause must be given for uncertain and only then (state {self.state!r}, "
                f"cause {self.cause!r})"
            )


@dataclass(frozen=True, slots=True)
class CheckContext:
    """What a check may know besides the trace: declared tools, and tools and roles of the batch.

    `complete_channels` are the field paths that the subject's config declares complete.
    """

    inventory: frozenset[str] = frozenset()
    seen: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    complete_channels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """A primitive or custom check: parameters as a pydantic model, and a pure function."""

    name: str
    version: str
    params: type[BaseModel]
    decide: Callable[[Trace, Any, CheckContext], Decision]


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a source file: decoded value, its bytes, its place; `line` is 0 for a file.

    `strict` is False where the text held numbers that JSON does not have.
    """

    value: Any
    data: bytes
    file: str
    line: int
    strict: bool = True


@dataclass(frozen=True, slots=True)
class Match:
    """Why a format recognises a file, and whether a top-level list holds one trace or many.

    Where several formats recognise a file, the higher `specificity` wins; a tie is an error.
    """

    reason: str
    list_is_one_trace: bool = False
    specificity: int = 1


Lines = Callable[[], Iterator[tuple[int, bytes]]]
Stream = Callable[[Iterable[Record | LoadFailure], Lines], Iterator[Trace | LoadFailure]]


@dataclass(frozen=True, slots=True)
class Format:
    """A trace format: `detect` sees the first decoded value, `read` turns records into traces.

    `detect(value)` gets the whole first record (a line of JSON Lines, or a document); for a list
    it gets a list of the first few elements, since the whole may not fit into memory. `read`
    gets one record; where `whole_file` is set, it gets every record of the file at once, because
    one trace spans them. `stream(records, lines)` is `read` for formats whose traces each span
    some records: it gets records as they come, and a function that reads the bytes of all JSON
    Lines anew, numbered, so that it can see which record is a trace's last. Once a file is known
    to be of the format, `decode(data)` may make of a record's bytes the value that `read` gets;
    where it returns None, that is the plain one.
    """

    name: str
    version: str
    detect: Callable[[Any], Match | None]
    read: Callable[[Sequence[Record]], Iterable[Trace | LoadFailure]]
    whole_file: bool = False
    stream: Stream | None = None
    decode: Callable[[bytes], Any] | None = None


class Backend(Protocol):
    """Who answers requests: an async context manager with one method.

    `ask` may raise `helix.model.request.Unavailable` or `Pending`; nothing else is expected.
    """

    async def __aenter__(self) -> Backend: ...

    async def __aexit__(self, *exc: object) -> None: ...

    async def ask(self, request: Request) -> Reply: ...


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """What a backend is opened with: its config section, the folders it may use, the seconds
    after which an answer is no longer waited for (`limits.deadline_s`).
    """

    config: JudgeConfig
    state_dir: str
    run_dir: str
    deadline_s: float = 120.0


@dataclass(frozen=True, slots=True)
class Judge:
    """A judge backend. `protocol` is part of the cache key: raise it when answers may change.

    `cacheable` is False for backends whose replies are already recorded. `asks` is False for the
    backend that never answers, so that no packet is made for it. `price` returns what a pinned
    model costs, or None where that is not known; it asks nobody.
    """

    name: str
    version: str
    protocol: int
    open: Callable[[JudgeSettings], Backend]
    cacheable: bool = True
    asks: bool = True
    needs_model: bool = True
    price: Callable[[Pin], Price | None] | None = None


@dataclass(frozen=True, slots=True)
class Sampler:
    """A sampling strategy: which ordinals of the manifest are taken; n is None for no bound."""

    name: str
    version: str
    choose: Callable[[Sequence[ManifestEntry], int | None, int], Iterable[int]]


@dataclass(frozen=True, slots=True)
class Renderer:
    """A projection of a run report to bytes; `filename` is its place in the run directory.

    `filename` is None for a renderer that writes to standard output. `discovery` projects the
    report of a discovery; it is None for a renderer that has no view of one. With `stream`,
    `render` gets a `RunStream`, whose traces are read one at a time, instead of a `RunReport`,
    which holds them all; either may return bytes or yield them in parts, and among them files that
    stand beside the report. `ready`, asked before a run begins, raises ConfigError where something
    is missing that the renderer needs.
    """

    name: str
    version: str
    filename: str | None
    render: Callable[[Any], bytes | Iterable[bytes | Leaf]]
    discovery: Callable[[Any], bytes | Iterable[bytes | Leaf]] | None = None
    stream: bool = False
    ready: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """A run of traces as data, from which another process can prepare the same run.

    `plan` is the digest that its plan must have, `suite` what `criteria.file` held, or the object
    that took its place; None has it read again. `survey` holds every trace in the plan's order,
    those that were chosen marked, and `files` where the bytes of each file are, by the name that
    the survey gives it.
    `used` takes what an executor spent on judges that this process did not ask.
    """

    config: Config
    suite: Suite | None
    today: datetime.date
    plan: str
    survey: Survey
    files: Mapping[str, str]
    run_dir: str
    used: Callable[[UsageTotals], None]


@dataclass(frozen=True, slots=True)
class Executor:
    """Who carries jobs out, in one of two ways.

    `run` has the signature of `helix.engine.drive.drive` and carries out conversations of this
    process; without it Helix's own does. `jobs` is for work that is done elsewhere: it gets the
    run as an `Assignment` and returns an asynchronous iterator of `helix.engine.drive.Job`, one
    for each chosen trace and replicate, whose conversations end in a `helix.adjudication.Written`;
    its `aclose` is called at the end, however that came. Where a command has no assignment to
    give, as discover has none, `run` does the work.
    """

    name: str
    version: str
    run: Callable[..., Awaitable[None]] | None = None
    jobs: Callable[[Assignment], AsyncIterator[Any]] | None = None


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """What a reply cache is opened with: its config section and the state folder."""

    config: CacheConfig
    state_dir: str


@dataclass(frozen=True, slots=True)
class ReplyCache:
    """A store of replies by key. `open` raises CacheError where nothing can be written to it."""

    name: str
    version: str
    open: Callable[[CacheSettings], Any]


@dataclass(frozen=True, slots=True)
class LabelSource:
    """A reader of human labels: `read(path)` yields what people said, as it was recorded.

    Each mapping holds `trace`, `key` (what was labelled, in the source's words) and `value`, and
    where they were recorded `file`, `row`, `note`, `rater`, `when`, `refs` and `by` (what kind of
    rater it was; `human: False` where that is no person). One with `unread` instead tells of
    something that could not be read. `maps` are the rules KEY=CRITERION that hold where the user
    gives none; a `*` stands for any text, and in CRITERION for what it stood for in KEY.
    """

    name: str
    version: str
    read: Callable[[str], Iterator[Mapping[str, Any]]]
    maps: tuple[str, ...] = ("*=*",)


@dataclass(frozen=True, slots=True)
class Case:
    """One case that a subject is run on: its id, and its input as JSON, the id among it."""

    id: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SubjectContext:
    """What a subject is run with: its settings, which repeat of which swing it is, the folders.

    Traces go to `folder`; `aside` is a folder for what is no trace. `format` is that of the traces.
    """

    config: ImproveConfig
    swing: int
    repeat: int
    folder: Path
    aside: Path
    format: str = "auto"


@dataclass(frozen=True, slots=True)
class Fresh:
    """Where the fresh traces of one repeat are, one file per case; one file holds one trace.

    `lost` says of a case why it has none: that is incomplete, and no failure. `waiting` are the
    cases that are still to be recorded, and `told` what somebody has to do for that.
    """

    files: Mapping[str, Path]
    lost: Mapping[str, str] = field(default_factory=dict)
    waiting: tuple[str, ...] = ()
    told: str = ""


class RunSubject(Protocol):
    """Run each case once, and say where the traces are (METHOD 77).

    It is called again after an interruption, and then leaves a trace that is there as it is.
    """

    def __call__(self, cases: Sequence[Case], context: SubjectContext) -> Fresh: ...


@dataclass(frozen=True, slots=True)
class EngineerContext:
    """What an engineer is asked with: settings, the request as a file, where the answer goes."""

    config: ImproveConfig
    request: Path
    answer: Path


class Respond(Protocol):
    """Return the response to a change request as JSON, or None where it is still waited for."""

    def __call__(self, context: EngineerContext) -> bytes | None: ...


@dataclass(frozen=True, slots=True)
class SubjectRunner:
    """A way to run the subject anew, for the improve loop (METHOD 77).

    `respond` hands a change request to whoever amends the subject; None cannot be an engineer.
    `ready`, asked before anything runs, raises ConfigError where a setting is missing.
    """

    name: str
    version: str
    run: RunSubject
    respond: Respond | None = None
    ready: Callable[[ImproveConfig, Literal["subject", "engineer"]], None] | None = None


@dataclass(frozen=True, slots=True)
class DeterminismDimension:
    """One dimension of the determinism scorecard (METHOD 70).

    `measure` gets a `helix.runs.RunFiles` and returns a JSON value, or None where the run does not
    hold it; `artifact` and `field` say what it reads. Two values that are not equal differ, unless
    `same(a, b)` says otherwise.
    """

    name: str
    version: str
    artifact: str
    field: str
    measure: Callable[[Any], Any]
    target: str = "0 differences"
    same: Callable[[Any, Any], bool] | None = None


Item = (
    Check
    | Format
    | Judge
    | Sampler
    | Renderer
    | Executor
    | ReplyCache
    | LabelSource
    | SubjectRunner
    | DeterminismDimension
)


@dataclass(slots=True)
class Registered:
    """An item and the plugin that registered it."""

    item: Any
    plugin: str

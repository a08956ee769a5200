"""A dataset: rows that say which trace is in it and why, and tasks that wait for a trace (58, 62).

Traces stand beside them as canonical Helix JSONL, one file per split.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from helix.model.splits import Part
from helix.model.validation import Word
from helix.model.verdict import BlockedBy, CellState, Ref, Shape

DATASET_SCHEMA_VERSION = "1.0"
Why = Literal["failing", "uncertain", "candidate", "passing", "picked"]


def _version() -> str:
    return DATASET_SCHEMA_VERSION


class RowSource(Shape, frozen=True, kw_only=True):
    """Where a row was seen: the run's name, its plan's digest, the digest of the line there."""

    run: str
    plan: str
    line: str


class DatasetRow(Shape, frozen=True, kw_only=True):
    """One reason why a trace is in a dataset: a cell, something seen besides, or a person's pick.

    `about` names what a candidate or a detection is. `traceDigest` is that of the bytes that were
    evaluated, of which the trace here is the canonical form. `human` is what people say of the
    cell, where labels were given.
    """

    schema_version: str = msgspec.field(default_factory=_version)
    id: str
    trace_id: str
    trace_digest: str
    split: Part
    why: Why
    criterion_id: str | None = None
    about: str | None = None
    result: CellState | None = None
    critique: str | None = None
    cause: str | None = None
    blocked_by: BlockedBy | None = None
    refs: tuple[Ref, ...] = ()
    human: Word | None = None
    route: str | None = None
    task: str | None = None
    sources: tuple[RowSource, ...] = ()


class UsedRun(Shape, frozen=True, kw_only=True, omit_defaults=False):
    """A run that rows came from; `leftOut` counts, by cause, what is no matter of the subject."""

    run: str
    command: Literal["evaluate", "discover"]
    subject: str
    suite: str | None
    plan: str
    lines: str
    left_out: dict[str, int]


class SplitCount(Shape, frozen=True, kw_only=True, omit_defaults=False):
    """How many traces, rows by why, and tasks one split holds."""

    traces: int
    rows: dict[str, int]
    tasks: int


class DatasetRecord(Shape, frozen=True, kw_only=True, omit_defaults=False):
    """dataset.json: what a dataset holds, and the runs that it came from."""

    schema_version: str = msgspec.field(default_factory=_version)
    name: str
    seed: int
    splits: dict[str, SplitCount]
    runs: tuple[UsedRun, ...]


class TaskTemplate(Shape, frozen=True, kw_only=True, omit_defaults=False):
    """A task that is still to be written and run: what it is to be like, and what is filled in.

    `prompt` and `expected` are null until somebody fills them. A run of it is recorded under `id`,
    so that its trace belongs to `split`.
    """

    schema_version: str = msgspec.field(default_factory=_version)
    id: str
    split: Part
    dimensions: dict[str, str]
    instruction: str
    prompt: Any = None
    expected: Any = None
    notes: str | None = None

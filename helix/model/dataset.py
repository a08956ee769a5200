"""A dataset: rows that say which trace is in it and why, and tasks that wait (METHOD 58, 62).

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
    """Where a row was seen."""

    run: str
    """The run's name."""
    plan: str
    """The digest of its plan."""
    line: str
    """SHA-256 of the line there."""


class DatasetRow(Shape, frozen=True, kw_only=True):
    """Why a trace is in a dataset: a cell, something seen besides, or a person's pick."""

    schema_version: str = msgspec.field(default_factory=_version)
    id: str
    """What the row is called, made of trace, reason and criterion."""
    trace_id: str
    trace_digest: str
    """SHA-256 of the bytes that were evaluated; the trace here is their canonical form."""
    split: Part
    """The split that the trace belongs to, for good."""
    why: Why
    """Why the trace is here: what its cell came to, what was seen besides, or a person's pick."""
    criterion_id: str | None = None
    """The row of the suite; null for what has none."""
    about: str | None = None
    """What a candidate or a detection is; else null."""
    result: CellState | None = None
    """What the cell came to; null where there is no cell."""
    critique: str | None = None
    """Why, in the verdict's words; null where there is no verdict."""
    cause: str | None = None
    blocked_by: BlockedBy | None = None
    refs: tuple[Ref, ...] = ()
    """The evidence of the verdict, or of what was seen."""
    human: Word | None = None
    """What people say of the cell; null where no label was given."""
    route: str | None = None
    task: str | None = None
    sources: tuple[RowSource, ...] = ()
    """The runs that it was seen in."""


class UsedRun(Shape, frozen=True, kw_only=True, omit_defaults=False):
    """A run that rows came from."""

    run: str
    """Its name."""
    command: Literal["evaluate", "discover"]
    """What kind of run it is."""
    subject: str
    """The agent's name."""
    suite: str | None
    """The suite's name; null of a discovery."""
    plan: str
    """The digest of its plan."""
    lines: str
    """SHA-256 of the file that rows were read from."""
    left_out: dict[str, int]
    """Cells and traces that say nothing of the agent, by cause."""


class SplitCount(Shape, frozen=True, kw_only=True, omit_defaults=False):
    """What one split holds."""

    traces: int
    """Traces."""
    rows: dict[str, int]
    """Rows, by why they are there."""
    tasks: int
    """Tasks that are still to be run."""


class DatasetRecord(Shape, frozen=True, kw_only=True, omit_defaults=False):
    """dataset.json: what a dataset holds, and the runs that it came from."""

    schema_version: str = msgspec.field(default_factory=_version)
    name: str
    """The dataset's name."""
    seed: int
    """The seed of the splits, which never changes."""
    splits: dict[str, SplitCount]
    """What each split holds."""
    runs: tuple[UsedRun, ...]
    """The runs that rows came from."""


class TaskTemplate(Shape, frozen=True, kw_only=True, omit_defaults=False):
    """A task that is still to be written and run."""

    schema_version: str = msgspec.field(default_factory=_version)
    id: str
    """What a run of it has to be recorded under, so that its trace belongs to `split`."""
    split: Part
    """The split that its trace will belong to."""
    dimensions: dict[str, str]
    """What the task is to be like: a value for each dimension."""
    instruction: str
    """What to do with it."""
    prompt: Any = None
    """What the agent is to be given; null until somebody fills it in."""
    expected: Any = None
    """What a good run would do; null until somebody fills it in."""
    notes: str | None = None
    """What else its author says; null for nothing."""

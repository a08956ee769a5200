"""A dataset's folder: traces by split, rows, tasks, labels; it only grows, and is read strictly."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from helix.errors import ArtifactError, ConfigError
from helix.files import atomic_write, clear_parts
from helix.ingest import Input
from helix.ingest.writing import canonical_line
from helix.model.dataset import (
    DATASET_SCHEMA_VERSION,
    DatasetRecord,
    DatasetRow,
    SplitCount,
    TaskTemplate,
    UsedRun,
)
from helix.model.lines import decode_line, encode_line, encode_page, read_page
from helix.model.manifest import LoadFailure
from helix.model.splits import PARTS, split_of
from helix.registry import Registry

FOLDER: Final = "datasets"
RECORD, ROWS, TASKS, LABELS = "dataset.json", "rows.jsonl", "tasks.jsonl", "labels.jsonl"
TRACES: Final = "traces"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset in memory: rows and tasks by id, traces as canonical bytes by the trace's id."""

    name: str
    seed: int
    rows: dict[str, DatasetRow] = field(default_factory=dict)
    traces: dict[str, bytes] = field(default_factory=dict)
    tasks: dict[str, TaskTemplate] = field(default_factory=dict)
    runs: tuple[UsedRun, ...] = ()

    def with_traces(self, found: dict[str, bytes]) -> Dataset:
        """Return it with traces added; ArtifactError where an id stands for another trace here."""
        for name, line in found.items():
            if self.traces.get(name, line) != line:
                raise ArtifactError(
                    f"the trace '{name}' is another than the one of that id in the dataset "
                    f"{self.name}: give it an id of its own, or name another dataset"
                )
        return replace(self, traces={**self.traces, **found})

    def with_rows(self, rows: Iterable[DatasetRow]) -> Dataset:
        """Return it with rows added; one that is there keeps what it says, and gains sources."""
        held = dict(self.rows)
        for row in rows:
            first = held.get(row.id, row)
            sources = {(s.run, s.plan, s.line): s for s in (*first.sources, *row.sources)}
            ordered = tuple(sources[key] for key in sorted(sources))
            held[row.id] = msgspec.structs.replace(first, sources=ordered)
        return replace(self, rows=held)

    def with_runs(self, runs: Iterable[UsedRun]) -> Dataset:
        """Return it with runs added, each once."""
        held = {(run.run, run.plan, run.lines): run for run in (*self.runs, *runs)}
        return replace(self, runs=tuple(held[key] for key in sorted(held)))

    @property
    def record(self) -> DatasetRecord:
        """What dataset.json says."""
        counts: dict[str, SplitCount] = {
            part: SplitCount(
                traces=sum(split_of(name, self.seed) == part for name in self.traces),
                rows=dict(
                    sorted(Counter(r.why for r in self.rows.values() if r.split == part).items())
                ),
                tasks=sum(task.split == part for task in self.tasks.values()),
            )
            for part in PARTS
        }
        return DatasetRecord(name=self.name, seed=self.seed, splits=counts, runs=self.runs)


def folder_of(state: str | Path, name: str | None) -> Path:
    """Return the folder of a dataset; ConfigError for a name that could be another folder."""
    if name is None or not _NAME.fullmatch(name):
        got = "nothing" if name is None else repr(name[:80])
        raise ConfigError(
            "dataset.name must be lower-case letters, digits, hyphens and underscores (got "
            f"{got}): add dataset.name=NAME"
        )
    return Path(state) / FOLDER / name


def read(folder: Path, seed: int, registry: Registry) -> Dataset:
    """Return the dataset of a folder, an empty one where there is none.

    Rows and traces count without their record too: what was lost then is which runs were used.
    ArtifactError names file and line of what is damaged, or in another split than its trace;
    ConfigError for another seed than the dataset was made with.
    """
    at = folder / RECORD
    record = read_page(at, DatasetRecord, DATASET_SCHEMA_VERSION) if at.exists() else None
    if record is not None and record.seed != seed:
        raise ConfigError(
            f"dataset.seed must be {record.seed}, with which the dataset {folder.name} was split "
            f"(got {seed})"
        )
    rows = _lines(folder / ROWS, DatasetRow, lambda row: (row.id, row.trace_id, row.split), seed)
    tasks = _lines(folder / TASKS, TaskTemplate, lambda task: (task.id, task.id, task.split), seed)
    runs = () if record is None else record.runs
    found = Dataset(folder.name, seed, rows, _traces(folder, seed, registry), tasks, runs)
    for row in rows.values():
        if row.trace_id not in found.traces:
            raise ArtifactError(f"{folder / ROWS}: the trace '{row.trace_id}' of {row.id} is lost")
    return found


def write(folder: Path, dataset: Dataset) -> None:
    """Write a dataset, its record last, to a held folder; the same dataset is the same bytes."""
    (folder / TRACES).mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        names = sorted(name for name in dataset.traces if split_of(name, dataset.seed) == part)
        lines = b"".join(dataset.traces[name] + b"\n" for name in names)
        if lines or (folder / TRACES / f"{part}.jsonl").exists():
            atomic_write(folder / TRACES / f"{part}.jsonl", lines)
    rows = sorted(dataset.rows.values(), key=lambda row: (row.trace_id, row.id))
    atomic_write(folder / ROWS, b"".join(encode_line(row) + b"\n" for row in rows))
    if dataset.tasks:
        tasks = [dataset.tasks[name] for name in sorted(dataset.tasks)]
        atomic_write(folder / TASKS, b"".join(encode_line(task) + b"\n" for task in tasks))
    atomic_write(folder / RECORD, encode_page(dataset.record))
    clear_parts(folder)
    clear_parts(folder / TRACES)


def _lines(
    path: Path, kind: type[T], placed: Callable[[T], tuple[str, str, str]], seed: int
) -> dict[str, T]:
    """Return a file's lines by id; `placed` gives id, what the split goes by, and the split."""
    found: dict[str, T] = {}
    lines = path.read_bytes().splitlines() if path.exists() else []
    for number, line in enumerate(lines, 1):
        try:
            one = decode_line(line, kind)
        except ValueError as error:
            raise ArtifactError(f"{path}:{number} is damaged: {error}") from None
        name, by, part = placed(one)
        if part != split_of(by, seed):
            told = f"{split_of(by, seed)} (got {part}): nothing moves between splits"
            raise ArtifactError(f"{path}:{number}: split must be {told}")
        if name in found:
            raise ArtifactError(f"{path}:{number}: the id {name} stands twice")
        found[name] = one
    return found


def _traces(folder: Path, seed: int, registry: Registry) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for part in PARTS:
        path = folder / TRACES / f"{part}.jsonl"
        if not path.exists() or not path.stat().st_size:
            continue
        for item in Input.open(str(path), "helix", registry):
            if isinstance(item, LoadFailure):
                raise ArtifactError(f"{path}:{item.line} is damaged: {item.reason}")
            if split_of(item.id, seed) != part or item.id in found:
                raise ArtifactError(
                    f"{path}:{item.source.line}: the trace '{item.id}' does not belong here"
                )
            found[item.id] = canonical_line(item)
    return found

"""`helix build-dataset`: candidates of runs and picked traces into a dataset (METHOD 58, 62)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from helix.build_dataset.candidates import Found, of_run
from helix.build_dataset.store import LABELS, Dataset, folder_of, read, write
from helix.build_dataset.tuples import templates
from helix.errors import ArtifactError, ConfigError, TraceError
from helix.files import held
from helix.ingest import Input
from helix.ingest.writing import canonical_line
from helix.labels import Cell, Label, check, load, settle
from helix.labels import read as read_labels
from helix.labels import write as write_labels
from helix.labels.files import raise_problems
from helix.labels.importing import joined
from helix.model.canonical import digest
from helix.model.config import Config, DatasetConfig
from helix.model.dataset import DatasetRow, TaskTemplate
from helix.model.manifest import LoadFailure, ManifestEntry
from helix.model.splits import Part, split_of
from helix.planning import matched
from helix.registry import Registry
from helix.survey import look

Place = tuple[str | tuple[str, ...], str]
NAMED = 5


@dataclass(frozen=True, slots=True)
class Built:
    """What a call made of a dataset: the whole of it, what is new, and what no row came of.

    `left_out` counts, by cause, cells that say nothing of the subject. `short` are criteria and
    splits that have fewer passing cells than failing ones, where passing ones were asked for.
    """

    folder: Path
    dataset: Dataset
    rows: tuple[DatasetRow, ...]
    tasks: tuple[TaskTemplate, ...]
    traces: int
    labels: int
    left_out: dict[str, int]
    short: tuple[str, ...]


def build(config: Config, registry: Registry) -> Built:
    """Add to the dataset of `dataset.name`, which is made where there is none.

    Raises UsageError before anything is written; a row or trace that is there never goes.
    """
    wanted = config.dataset
    folder = folder_of(config.paths.state, wanted.name)
    _check(config)
    found = _runs(wanted)
    with held(folder, "dataset", "name another one with dataset.name=NAME"):
        before = read(folder, wanted.seed, registry)
        grown, short = _grown(config, before, found, registry)
        tasks = before.tasks.values()
        fresh = templates(wanted.dimensions or {}, wanted.combine, wanted.seed, tasks)
        grown = replace(grown, tasks={**before.tasks, **{task.id: task for task in fresh}})
        labels = _labels(folder, wanted.labels, grown.traces)
        grown = _with_words(grown, labels)
        write(folder, grown)
        if labels:
            write_labels(folder / LABELS, labels)
    return Built(
        folder=folder,
        dataset=grown,
        rows=tuple(row for name, row in grown.rows.items() if name not in before.rows),
        tasks=tuple(fresh),
        traces=len(grown.traces) - len(before.traces),
        labels=len(labels),
        left_out=dict(sum((one.left_out for one in found), Counter[str]())),
        short=short,
    )


def _check(config: Config) -> None:
    wanted = config.dataset
    if not wanted.runs and not wanted.pick and not wanted.dimensions and not wanted.labels:
        raise ConfigError(
            "dataset.runs must name a run's folder (got none): add dataset.runs=[RUN], or "
            "dataset.pick=[ID] with subject.traces=PATH, or dataset.dimensions={…}"
        )
    if wanted.pick and not wanted.runs and config.subject.traces is None:
        raise ConfigError(
            "dataset.pick must have traces to pick from: add subject.traces=PATH or dataset.runs"
        )
    if config.subject.traces == "-":
        raise ConfigError("subject.traces must name a file (got -): build-dataset reads it twice")


def _runs(wanted: DatasetConfig) -> list[Found]:
    """Return what the runs offer, in an order that is not that of typing."""
    passing = "passing" in wanted.include
    found = [of_run(run, wanted.seed, passing=passing) for run in wanted.runs]
    return sorted(found, key=lambda one: (one.name, one.plan.digest))


def _needed(before: Dataset, rows: Iterable[DatasetRow]) -> set[str]:
    """Return the traces that are to be read: those that are not there under the same digest."""
    have = {(row.trace_id, row.trace_digest) for row in before.rows.values()}
    return {row.trace_id for row in rows if (row.trace_id, row.trace_digest) not in have}


def _grown(
    config: Config, before: Dataset, found: Sequence[Found], registry: Registry
) -> tuple[Dataset, tuple[str, ...]]:
    """Return the dataset with what runs and picks offer, and where passing cells are short."""
    included = config.dataset.include
    rows = [row for one in found for row in one.rows if row.why in included]
    rows += _picked(config, found, registry)
    grown = before.with_rows(rows).with_runs(one.used() for one in found)
    short: tuple[str, ...] = ()
    if "passing" in included:
        passing, short = _balanced(grown, [row for one in found for row in one.passing])
        grown, rows = grown.with_rows(passing), [*rows, *passing]
    return grown.with_traces(_traces(config, found, _needed(before, rows), registry)), short


def _picked(config: Config, found: Sequence[Found], registry: Registry) -> list[DatasetRow]:
    wanted = config.dataset
    if not wanted.pick:
        return []
    if found:
        entries = {name: entry for one in found for name, entry in one.entries.items()}
    else:
        subject = config.subject
        source = Input.open(subject.traces or (), subject.format, registry)
        entries = {entry.id: entry for entry in look(source, len(source.files), subject).entries}
    names = matched("dataset.pick: no trace has the id", wanted.pick, entries)
    return [_pick(entries[name], wanted.seed) for name in sorted(names)]


def _pick(entry: ManifestEntry, seed: int) -> DatasetRow:
    return DatasetRow(
        id=digest([entry.id, "picked", None, None])[:16],
        trace_id=entry.id,
        trace_digest=entry.digest,
        split=split_of(entry.id, seed),
        why="picked",
        route=entry.route,
        task=entry.task,
    )


def _balanced(
    dataset: Dataset, passing: Sequence[DatasetRow]
) -> tuple[list[DatasetRow], tuple[str, ...]]:
    """Return passing cells, as many per criterion and split as fail there, and where they lack.

    Which ones is decided by a hash, so that the same are chosen whatever order runs come in.
    """
    rows = list(dataset.rows.values())
    spoken = {(row.trace_id, row.criterion_id) for row in rows if row.criterion_id}
    need = Counter(_where(row) for row in rows if row.why == "failing" and row.criterion_id)
    need.subtract(_where(row) for row in rows if row.why == "passing")
    chosen: dict[str, DatasetRow] = {}
    for row in sorted(passing, key=lambda row: digest([dataset.seed, row.id])):
        where = _where(row)
        if row.id in chosen or row.id in dataset.rows:
            continue
        if need[where] > 0 and (row.trace_id, row.criterion_id) not in spoken:
            chosen[row.id] = row
            need[where] -= 1
    again = [row for row in passing if row.id in chosen or row.id in dataset.rows]
    short = tuple(f"{name} in {part}" for (name, part), n in sorted(need.items()) if n > 0)
    return again, short


def _where(row: DatasetRow) -> tuple[str, Part]:
    return row.criterion_id or "", row.split


def _traces(
    config: Config, found: Sequence[Found], wanted: set[str], registry: Registry
) -> dict[str, bytes]:
    """Return the canonical lines of the wanted traces, read once per place that runs name."""
    lines: dict[str, bytes] = {}
    if not wanted:
        return lines
    for place, runs in _places(config, found).items():
        expected: dict[str, list[tuple[str, str]]] = {}
        for one in runs:
            for name in wanted & one.entries.keys():
                expected.setdefault(name, []).append((one.name, one.entries[name].digest))
        names = expected.keys() if runs else wanted
        read = _read(place, expected, set(names), registry)
        for name, line in read.items():
            if lines.setdefault(name, line) != line:
                raise TraceError(f"two runs speak of different traces by the id '{name}'")
    return lines


def _places(config: Config, found: Sequence[Found]) -> dict[Place, list[Found]]:
    """Return where traces are to be read, and the runs that each place is of."""
    subject = config.subject
    places: dict[Place, list[Found]] = {}
    if subject.traces is not None:
        places[subject.traces, subject.format] = list(found)
        return places
    for one in found:
        traces = one.plan.runs.get("traces")
        if not traces or traces == "-":
            raise TraceError(
                f"{one.run.folder} read its traces from standard input: say where they are with "
                "subject.traces=PATH"
            )
        path = traces if isinstance(traces, str) else tuple(traces)
        format = str(one.plan.decides.get("subject", {}).get("format", "auto"))
        places.setdefault((path, format), []).append(one)
    return places


def _read(
    place: Place, expected: Mapping[str, list[tuple[str, str]]], names: set[str], registry: Registry
) -> dict[str, bytes]:
    path, format = place
    where = path if isinstance(path, str) else ", ".join(path)
    try:
        source = Input.open(path, format, registry)
        lines = {}
        for item in source:
            if isinstance(item, LoadFailure) or item.id not in names:
                continue
            for run, known in expected.get(item.id, []):
                if known != item.source.digest:
                    raise TraceError(
                        f"the trace '{item.id}' in {where} has changed since the run {run}: "
                        "say where the same ones are with subject.traces=PATH, or run again"
                    )
            lines[item.id] = canonical_line(item)
    except OSError as error:
        raise TraceError(f"{where} cannot be read: {error.strerror}") from error
    if lost := sorted(expected.keys() - lines.keys()):
        more = f" and {len(lost) - NAMED} more" if len(lost) > NAMED else ""
        raise ArtifactError(
            f"{where} lacks traces of the runs: {', '.join(lost[:NAMED])}{more}; say where they "
            "are with subject.traces=PATH"
        )
    return lines


def _labels(folder: Path, files: Sequence[str], traces: Iterable[str]) -> list[Label]:
    """Return the labels of the dataset's traces: those that stand there, and those of the files."""
    path = folder / LABELS
    kept = read_labels(path).rows if path.exists() else ()
    if not files:
        return [row.label for row in kept]
    load(files)
    known = set(traces)
    given = [row for row in read_labels(files).rows if row.label.trace in known]
    rows, _ = joined(given, kept)
    raise_problems(check(rows))
    return [row.label for row in rows]


def _with_words(dataset: Dataset, labels: Sequence[Label]) -> Dataset:
    """Return it with what people say beside each row of a cell that they agree on."""
    words = settle(labels).labels
    rows = {
        name: row
        if row.criterion_id is None
        else msgspec.structs.replace(row, human=words.get(Cell(row.trace_id, row.criterion_id)))
        for name, row in dataset.rows.items()
    }
    return replace(dataset, rows=rows)

"""`helix build-dataset`: candidates of runs, and traces picked by hand, into a dataset (METHOD 62).

Rows and traces pass one by one into a store on disk; what a run holds in memory is its manifest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from helix.build_dataset.candidates import Found
from helix.build_dataset.store import LABELS, Store, folder_of, opened
from helix.build_dataset.tuples import templates
from helix.errors import ArtifactError, ConfigError, TraceError
from helix.files import atomic_writer, held
from helix.ingest import Input
from helix.ingest.writing import canonical_line
from helix.labels import Label, check, load, settle
from helix.labels import read as read_labels
from helix.labels import write as write_labels
from helix.labels.files import raise_problems
from helix.labels.importing import joined
from helix.model.canonical import digest
from helix.model.config import Config, DatasetConfig
from helix.model.dataset import DatasetRecord, DatasetRow, TaskTemplate
from helix.model.lines import encode_line
from helix.model.manifest import LoadFailure, ManifestEntry
from helix.model.splits import split_of
from helix.planning import matched
from helix.registry import Registry
from helix.survey import look

Place = tuple[str | tuple[str, ...], str]
ADDED = "added.jsonl"
NAMED = 5


@dataclass(frozen=True, slots=True)
class Built:
    """What a call made of a dataset: its record, how much is new, and what no row came of.

    `rows`, `traces` and `tasks` count what is new. `left_out` counts, by cause, cells that say
    nothing of the subject. `short` are criteria and splits that have fewer passing cells than
    failing ones, where passing ones were asked for.
    """

    folder: Path
    record: DatasetRecord
    rows: int
    tasks: int
    traces: int
    labels: int
    left_out: dict[str, int]
    short: tuple[str, ...]


def build(config: Config, registry: Registry, run_dir: Path) -> Built:
    """Add to the dataset of `dataset.name`, which is made where there is none.

    What is new is written into the run directory too. Raises UsageError before anything is
    written; a row or trace that is there never goes.
    """
    wanted = config.dataset
    folder = folder_of(config.paths.state, wanted.name)
    _check(config)
    found = _runs(wanted)
    with (
        held(folder, "dataset", "name another one with dataset.name=NAME"),
        opened(folder, wanted.seed, registry) as store,
    ):
        short = _grow(config, store, found, registry)
        tasks = templates(
            wanted.dimensions or {}, wanted.combine, wanted.seed, store.tasks.values()
        )
        store.tasks |= {task.id: task for task in tasks}
        labels = _labels(folder, wanted.labels, store)
        words = settle(labels).labels
        store.write(folder, words)
        if labels:
            write_labels(folder / LABELS, labels)
        _write_added(run_dir, store.added(words), tasks)
        rows, traces = store.fresh()
        return Built(
            folder=folder,
            record=store.record,
            rows=rows,
            tasks=len(tasks),
            traces=traces,
            labels=len(labels),
            left_out=dict(sum((one.left_out for one in found), Counter[str]())),
            short=short,
        )


def _write_added(run_dir: Path, rows: Iterable[DatasetRow], tasks: Sequence[TaskTemplate]) -> None:
    run_dir.mkdir(parents=True, exist_ok=True)
    with atomic_writer(run_dir / ADDED) as file:
        for one in chain(rows, tasks):
            file.write(encode_line(one) + b"\n")


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
    """Return the runs in an order that is not that of typing."""
    found = [Found.open(run, wanted.seed) for run in wanted.runs]
    return sorted(found, key=lambda one: (one.name, one.plan.digest))


def _grow(
    config: Config, store: Store, found: Sequence[Found], registry: Registry
) -> tuple[str, ...]:
    """Add what runs and picks offer, and return where passing cells are short."""
    included = config.dataset.include
    passing = "passing" in included
    for one in found:
        for row in one.offered(passing=passing):
            if row.why == "passing":
                store.hold(row, digest([store.seed, row.id]))
            elif row.why in included:
                store.offer(row)
    for row in _picked(config, found, registry):
        store.offer(row)
    store.used(one.used() for one in found)
    # Which passing cells are drawn is decided by a hash, so that the order of runs is none of it.
    short = store.draw() if passing else ()
    _read_traces(config, store, found, registry)
    return short


def _picked(config: Config, found: Sequence[Found], registry: Registry) -> Iterator[DatasetRow]:
    wanted = config.dataset
    if not wanted.pick:
        return
    if found:
        known = [one.entries for one in found]
    else:
        subject = config.subject
        source = Input.open(subject.traces or (), subject.format, registry)
        known = [look(source, len(source.files), subject).entries]
    ids = dict.fromkeys(entry.id for entries in known for entry in entries)
    for name in sorted(matched("dataset.pick: no trace has the id", wanted.pick, ids)):
        entry = next(e for entries in reversed(known) if (e := entries.find(name)) is not None)
        yield _pick(entry, wanted.seed)


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


def _read_traces(config: Config, store: Store, found: Sequence[Found], registry: Registry) -> None:
    """Read the wanted traces, once per place that runs name."""
    if next(store.wanted(), None) is None:
        return
    for number, (place, runs) in enumerate(_places(config, found).items(), 1):
        _read(place, number, runs, store, registry)


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
    place: Place, number: int, runs: Sequence[Found], store: Store, registry: Registry
) -> None:
    path, format = place
    where = path if isinstance(path, str) else ", ".join(path)
    try:
        for item in Input.open(path, format, registry):
            if isinstance(item, LoadFailure) or not store.wants(item.id):
                continue
            known = [(one, e) for one in runs if (e := one.entries.find(item.id)) is not None]
            if runs and not known:
                continue
            for one, entry in known:
                if entry.digest != item.source.digest:
                    raise TraceError(
                        f"the trace '{item.id}' in {where} has changed since the run {one.name}: "
                        "say where the same ones are with subject.traces=PATH, or run again"
                    )
            store.keep(item.id, canonical_line(item), number)
    except OSError as error:
        raise TraceError(f"{where} cannot be read: {error.strerror}") from error
    lost = [
        name
        for name in store.wanted()
        if not store.has(name, number) and any(one.entries.find(name) for one in runs)
    ]
    if lost:
        more = f" and {len(lost) - NAMED} more" if len(lost) > NAMED else ""
        raise ArtifactError(
            f"{where} lacks traces of the runs: {', '.join(lost[:NAMED])}{more}; say where they "
            "are with subject.traces=PATH"
        )


def _labels(folder: Path, files: Sequence[str], store: Store) -> list[Label]:
    """Return the labels of the dataset's traces: those that stand there, and those of the files."""
    path = folder / LABELS
    kept = read_labels(path).rows if path.exists() else ()
    if not files:
        return [row.label for row in kept]
    load(files)
    given = [row for row in read_labels(files).rows if store.has(row.label.trace)]
    rows, _ = joined(given, kept)
    raise_problems(check(rows))
    return [row.label for row in rows]

"""A dataset's folder: traces by split, rows, tasks, labels; it only grows, and is read strictly."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from helix.errors import ArtifactError, ConfigError, TraceError
from helix.files import atomic_write, atomic_writer, clear_parts, scratch
from helix.ingest import Input
from helix.ingest.writing import canonical_line
from helix.labels import Cell
from helix.model.dataset import (
    DATASET_SCHEMA_VERSION,
    DatasetRecord,
    DatasetRow,
    RowSource,
    SplitCount,
    TaskTemplate,
    UsedRun,
    Why,
)
from helix.model.lines import decode_line, encode_line, encode_page, read_page
from helix.model.manifest import LoadFailure
from helix.model.splits import PARTS, Part, split_of
from helix.model.validation import Word
from helix.registry import Registry

FOLDER: Final = "datasets"
RECORD, ROWS, TASKS, LABELS = "dataset.json", "rows.jsonl", "tasks.jsonl", "labels.jsonl"
TRACES: Final = "traces"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_TABLES: Final = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE rows (n INTEGER PRIMARY KEY, id BLOB UNIQUE, trace BLOB, digest BLOB, part TEXT,
                   why TEXT, criterion BLOB, line BLOB, fresh INTEGER);
CREATE INDEX of_trace ON rows (trace, id);
CREATE TABLE passing (n INTEGER PRIMARY KEY, id BLOB, trace BLOB, part TEXT, criterion BLOB,
                      drawn TEXT, line BLOB, taken INTEGER DEFAULT 0);
CREATE INDEX of_passing ON passing (id);
CREATE TABLE traces (id BLOB PRIMARY KEY, part TEXT, line BLOB, fresh INTEGER, place INTEGER);
CREATE TABLE wanted (trace BLOB PRIMARY KEY);
BEGIN;
"""
T = TypeVar("T")
Words = Mapping[Cell, Word]


class Store:
    """A dataset while it grows: rows and traces on disk, so that memory does not follow them.

    Rows keep the order in which they came. Texts are bytes, since an id may be no UTF-8.
    """

    def __init__(self, name: str, seed: int, database: sqlite3.Connection) -> None:
        self.name, self.seed = name, seed
        self.tasks: dict[str, TaskTemplate] = {}
        self.runs: tuple[UsedRun, ...] = ()
        self._do = database.execute
        database.executescript(_TABLES)

    def add(self, row: DatasetRow, *, fresh: bool = True) -> None:
        """Add a row; one that is there keeps what it says, and gains sources."""
        name = _bytes(row.id)
        held = self._do("SELECT line FROM rows WHERE id = ?", (name,)).fetchone()
        if held is not None:
            first = decode_line(held[0], DatasetRow)
            row = msgspec.structs.replace(first, sources=_joined(first, row))
            self._do("UPDATE rows SET line = ? WHERE id = ?", (encode_line(row), name))
            return
        if fresh:
            row = msgspec.structs.replace(row, sources=_joined(row))
        about = (_bytes(row.trace_id), _bytes(row.trace_digest), row.split, row.why)
        said = (_bytes(row.criterion_id or ""), encode_line(row), fresh)
        self._do("INSERT INTO rows VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)", (name, *about, *said))

    def offer(self, row: DatasetRow) -> None:
        """Add a row and want its trace, unless the dataset had the same one before."""
        trace, digest = _bytes(row.trace_id), _bytes(row.trace_digest)
        self._do(
            "INSERT OR IGNORE INTO wanted SELECT ?1 WHERE NOT EXISTS "
            "(SELECT 1 FROM rows WHERE trace = ?1 AND digest = ?2 AND NOT fresh)",
            (trace, digest),
        )
        self.add(row)

    def hold(self, row: DatasetRow, drawn: str) -> None:
        """Keep a passing cell back until it is known which are drawn."""
        texts = (_bytes(row.id), _bytes(row.trace_id), row.split, _bytes(row.criterion_id or ""))
        self._do(
            "INSERT INTO passing VALUES (NULL, ?, ?, ?, ?, ?, ?, 0)",
            (*texts, drawn, encode_line(row)),
        )

    def draw(self) -> tuple[str, ...]:
        """Add passing cells, as many per criterion and split as fail there; say where they lack.

        A cell that a row speaks of already is passed over.
        """
        need = Counter(self._cells("failing"))
        need.subtract(self._cells("passing"))
        last = b""
        for name, trace, part, criterion in self._do(
            "SELECT id, trace, part, criterion FROM passing ORDER BY drawn, n"
        ):
            if need[criterion, part] > 0 and name != last and not self._speaks(trace, criterion):
                self._do("UPDATE passing SET taken = 1 WHERE id = ?", (name,))
                need[criterion, part] -= 1
                last = name
        self._do("UPDATE passing SET taken = 1 WHERE id IN (SELECT id FROM rows)")
        for (line,) in self._do("SELECT line FROM passing WHERE taken ORDER BY n"):
            self.offer(decode_line(line, DatasetRow))
        lacking = sorted((_text(name), part) for (name, part), n in need.items() if n > 0)
        return tuple(f"{name} in {part}" for name, part in lacking)

    def _cells(self, why: Why) -> dict[tuple[bytes, Part], int]:
        found = self._do(
            "SELECT criterion, part, count(*) FROM rows WHERE why = ? AND criterion != x'' "
            "GROUP BY criterion, part",
            (why,),
        )
        return {(criterion, part): count for criterion, part, count in found}

    def _speaks(self, trace: bytes, criterion: bytes) -> bool:
        asked = "SELECT 1 FROM rows WHERE trace = ? AND criterion = ? AND criterion != x''"
        return self._do(asked, (trace, criterion)).fetchone() is not None

    def wanted(self) -> Iterator[str]:
        """Yield the traces that are to be read, in the order of their ids."""
        return (_text(name) for (name,) in self._do("SELECT trace FROM wanted ORDER BY trace"))

    def wants(self, trace: str) -> bool:
        """Whether a trace is to be read."""
        asked = self._do("SELECT 1 FROM wanted WHERE trace = ?", (_bytes(trace),))
        return asked.fetchone() is not None

    def has(self, trace: str, place: int | None = None) -> bool:
        """Whether a trace is there, and was read last from that place."""
        found = self._do("SELECT place FROM traces WHERE id = ?", (_bytes(trace),)).fetchone()
        return found is not None and place in (None, found[0])

    def keep(self, trace: str, line: bytes, place: int) -> None:
        """Add a trace's canonical line, read from the place of that number, which counts from 1.

        Raises TraceError or ArtifactError where the id stands for another trace.
        """
        name, part = _bytes(trace), split_of(trace, self.seed)
        held = self._do("SELECT line, fresh FROM traces WHERE id = ?", (name,)).fetchone()
        if held is None:
            values = (name, part, line, place > 0, place)
            self._do("INSERT INTO traces VALUES (?, ?, ?, ?, ?)", values)
            return
        if held[0] != line and held[1]:
            raise TraceError(f"two runs speak of different traces by the id '{trace}'")
        if held[0] != line:
            raise ArtifactError(
                f"the trace '{trace}' is another than the one of that id in the dataset "
                f"{self.name}: give it an id of its own, or name another dataset"
            )
        self._do("UPDATE traces SET place = ? WHERE id = ?", (place, name))

    def used(self, runs: Iterable[UsedRun]) -> None:
        """Add runs, each once."""
        held = {(run.run, run.plan, run.lines): run for run in (*self.runs, *runs)}
        self.runs = tuple(held[key] for key in sorted(held))

    def traces(self, part: Part) -> Iterator[bytes]:
        """Yield the canonical lines of a split's traces, in the order of their ids."""
        asked = "SELECT line FROM traces WHERE part = ? ORDER BY id"
        return (line for (line,) in self._do(asked, (part,)))

    def rows(self, words: Words) -> Iterator[DatasetRow]:
        """Yield all rows by trace and id, each with what people say of its cell."""
        return self._rows("SELECT line FROM rows ORDER BY trace, id", words)

    def added(self, words: Words) -> Iterator[DatasetRow]:
        """Yield the rows that are new, in the order in which they came."""
        return self._rows("SELECT line FROM rows WHERE fresh ORDER BY n", words)

    def _rows(self, asked: str, words: Words) -> Iterator[DatasetRow]:
        for (line,) in self._do(asked):
            row = decode_line(line, DatasetRow)
            if row.criterion_id is not None:
                human = words.get(Cell(row.trace_id, row.criterion_id))
                row = msgspec.structs.replace(row, human=human)
            yield row

    def fresh(self) -> tuple[int, int]:
        """Return how many rows and how many traces are new."""
        asked = "SELECT (SELECT sum(fresh) FROM rows), (SELECT sum(fresh) FROM traces)"
        rows, traces = self._do(asked).fetchone()
        return rows or 0, traces or 0

    @property
    def record(self) -> DatasetRecord:
        """What dataset.json says."""
        traces = dict(self._do("SELECT part, count(*) FROM traces GROUP BY part"))
        asked = "SELECT why, count(*) FROM rows WHERE part = ? GROUP BY why ORDER BY why"
        counts: dict[str, SplitCount] = {
            part: SplitCount(
                traces=traces.get(part, 0),
                rows=dict(self._do(asked, (part,))),
                tasks=sum(task.split == part for task in self.tasks.values()),
            )
            for part in PARTS
        }
        return DatasetRecord(name=self.name, seed=self.seed, splits=counts, runs=self.runs)

    def read(self, folder: Path, registry: Registry) -> None:
        """Take in what a dataset's folder holds, as `opened` says."""
        at = folder / RECORD
        record = read_page(at, DatasetRecord, DATASET_SCHEMA_VERSION) if at.exists() else None
        if record is not None and record.seed != self.seed:
            raise ConfigError(
                f"dataset.seed must be {record.seed}, with which the dataset {folder.name} was "
                f"split (got {self.seed})"
            )
        for place, row in _lines(folder / ROWS, DatasetRow):
            _check(place, row.trace_id, row.split, self.seed)
            if self._do("SELECT 1 FROM rows WHERE id = ?", (_bytes(row.id),)).fetchone():
                raise ArtifactError(f"{place}: the id {row.id} stands twice")
            self.add(row, fresh=False)
        for place, task in _lines(folder / TASKS, TaskTemplate):
            _check(place, task.id, task.split, self.seed)
            if task.id in self.tasks:
                raise ArtifactError(f"{place}: the id {task.id} stands twice")
            self.tasks[task.id] = task
        self.runs = () if record is None else record.runs
        for part in PARTS:
            self._read_traces(folder / TRACES / f"{part}.jsonl", part, registry)
        asked = "SELECT trace, id FROM rows WHERE trace NOT IN (SELECT id FROM traces) ORDER BY n"
        if lost := self._do(asked).fetchone():
            trace, row_id = map(_text, lost)
            raise ArtifactError(f"{folder / ROWS}: the trace '{trace}' of {row_id} is lost")

    def _read_traces(self, path: Path, part: Part, registry: Registry) -> None:
        if not path.exists() or not path.stat().st_size:
            return
        for item in Input.open(str(path), "helix", registry):
            if isinstance(item, LoadFailure):
                raise ArtifactError(f"{path}:{item.line} is damaged: {item.reason}")
            if split_of(item.id, self.seed) != part or self.has(item.id):
                raise ArtifactError(
                    f"{path}:{item.source.line}: the trace '{item.id}' does not belong here"
                )
            self.keep(item.id, canonical_line(item), 0)

    def write(self, folder: Path, words: Words) -> None:
        """Write the dataset, its record last, to its folder; the same dataset is the same bytes."""
        (folder / TRACES).mkdir(parents=True, exist_ok=True)
        record = self.record
        for part in PARTS:
            path = folder / TRACES / f"{part}.jsonl"
            if record.splits[part].traces or path.exists():
                _write(path, self.traces(part))
        _write(folder / ROWS, map(encode_line, self.rows(words)))
        if self.tasks:
            _write(folder / TASKS, (encode_line(self.tasks[name]) for name in sorted(self.tasks)))
        atomic_write(folder / RECORD, encode_page(record))
        clear_parts(folder / TRACES)


def folder_of(state: str | Path, name: str | None) -> Path:
    """Return the folder of a dataset; ConfigError for a name that could be another folder."""
    if name is None or not _NAME.fullmatch(name):
        got = "nothing" if name is None else repr(name[:80])
        raise ConfigError(
            "dataset.name must be lower-case letters, digits, hyphens and underscores (got "
            f"{got}): add dataset.name=NAME"
        )
    return Path(state) / FOLDER / name


@contextlib.contextmanager
def opened(folder: Path, seed: int, registry: Registry) -> Iterator[Store]:
    """Give the dataset of a held folder, an empty one where there is none.

    Rows and traces count without their record too: what was lost then is which runs were used.
    ArtifactError names file and line of what is damaged, or in another split than its trace;
    ConfigError for another seed than the dataset was made with.
    """
    clear_parts(folder)
    with scratch(folder) as place, contextlib.closing(_database(place)) as database:
        try:
            store = Store(folder.name, seed, database)
            store.read(folder, registry)
            yield store
        except sqlite3.Error as error:
            raise ArtifactError(f"{folder} cannot be written: {error}") from error


def _database(place: Path) -> sqlite3.Connection:
    return sqlite3.connect(place, isolation_level=None)


def _joined(*rows: DatasetRow) -> tuple[RowSource, ...]:
    """Return where rows were seen, each place once, in an order of its own."""
    sources = {(s.run, s.plan, s.line): s for row in rows for s in row.sources}
    return tuple(sources[key] for key in sorted(sources))


def _lines(path: Path, kind: type[T]) -> Iterator[tuple[str, T]]:
    """Yield each line with where it stands."""
    if not path.exists():
        return
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            place = f"{path}:{number}"
            try:
                yield place, decode_line(line, kind)
            except ValueError as error:
                raise ArtifactError(f"{place} is damaged: {error}") from None


def _check(place: str, by: str, part: Part, seed: int) -> None:
    if part != split_of(by, seed):
        told = f"{split_of(by, seed)} (got {part}): nothing moves between splits"
        raise ArtifactError(f"{place}: split must be {told}")


def _write(path: Path, lines: Iterable[bytes]) -> None:
    with atomic_writer(path) as file:
        file.writelines(line + b"\n" for line in lines)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")

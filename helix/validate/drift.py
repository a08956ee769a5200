"""Did the judge drift: a fixed set of anchors, judged anew and held against its first reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from helix.errors import ArtifactError
from helix.files import atomic_write
from helix.model.canonical import digest
from helix.model.lines import decode_line, encode_line
from helix.model.validation import (
    VALIDATION_SCHEMA_VERSION,
    Change,
    Drift,
    Reading,
)
from helix.stats import paired_difference
from helix.trust import FOLDER
from helix.validate.cells import DECIDED, Cell
from helix.validate.measure import rate_of


class Anchors:
    """The readings of one set of anchors by one pipeline, kept under `paths.state`.

    `files` are the digests of the label files, `pipelines` those of the criteria's pipelines.
    """

    def __init__(
        self, state: str | Path, files: Mapping[str, str], pipelines: Mapping[str, str]
    ) -> None:
        self.name = digest([sorted(files.values()), sorted(pipelines.items())])
        self._path = Path(state) / FOLDER / "anchors" / f"{self.name}.jsonl"
        self.readings = self._read()

    def add(self, cells: Sequence[Cell], *, at: str, replicate: int) -> Drift:
        """Take a reading, keep it, and return what changed since the first."""
        now = _reading(cells, at, replicate)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        readings = [*self.readings, now]
        atomic_write(self._path, b"".join(encode_line(r) + b"\n" for r in readings))
        first = readings[0]
        return Drift(
            anchors=self.name,
            first=first,
            now=now,
            readings=len(readings),
            changes=_changes(cells, first) if len(readings) > 1 else {},
        )

    def _read(self) -> list[Reading]:
        if not self._path.exists():
            return []
        try:
            return [decode_line(x, Reading) for x in self._path.read_bytes().splitlines()]
        except ValueError as error:
            raise ArtifactError(f"{self._path} is damaged: {error}") from None


def _changes(cells: Sequence[Cell], first: Reading) -> dict[str, Change]:
    before = {(trace, criterion): state for trace, criterion, state in first.states}
    pairs = [
        (replace(cell, state=before[cell.trace, cell.criterion]), cell)
        for cell in cells
        if cell.adjudicated and (cell.trace, cell.criterion) in before
    ]
    both = [(a, b) for a, b in pairs if a.compared and b.compared]
    found = {
        "tpr": _change([(a, b) for a, b in both if b.human == "pass"], _right),
        "tnr": _change([(a, b) for a, b in both if b.human == "fail"], _right),
        "undecided": _change([(a, b) for a, b in pairs if b.human in DECIDED], _undecided),
    }
    return {name: change for name, change in found.items() if change is not None}


def _change(pairs: Sequence[tuple[Cell, Cell]], good: Callable[[Cell], bool]) -> Change | None:
    clusters: dict[str, list[tuple[bool, bool]]] = {}
    for then, now in pairs:
        clusters.setdefault(now.cluster, []).append((good(now), good(then)))
    found = paired_difference(clusters)
    if found is None:
        return None
    low, high = found.interval
    return Change(difference=found.value, interval=found.interval, moved=not low <= 0 <= high)


def _right(cell: Cell) -> bool:
    return cell.right


def _undecided(cell: Cell) -> bool:
    return not cell.decided


def _reading(cells: Sequence[Cell], at: str, replicate: int) -> Reading:
    # What machinery lost is no abstention, and would look like drift.
    cells = [cell for cell in cells if cell.adjudicated]
    compared = [cell for cell in cells if cell.compared]
    return Reading(
        schema_version=VALIDATION_SCHEMA_VERSION,
        at=at,
        replicate=replicate,
        tpr=rate_of([c for c in compared if c.human == "pass"], _right),
        tnr=rate_of([c for c in compared if c.human == "fail"], _right),
        undecided=rate_of([c for c in cells if c.human in DECIDED], _undecided),
        states=tuple((cell.trace, cell.criterion, cell.state) for cell in cells),
    )

"""Reading a run directory that Helix wrote: its scorecard, its lines, what was left undone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

from helix.errors import ArtifactError
from helix.gate import fold_repeats, repeat_states
from helix.model.discovery import Determination
from helix.model.lines import of_version
from helix.model.manifest import ManifestEntry
from helix.model.plan import PLAN_SCHEMA_VERSION, Plan
from helix.model.scorecard import SCORECARD_SCHEMA_VERSION, Scorecard
from helix.model.subject import SUBJECT_SCHEMA_VERSION, SubjectRecord
from helix.model.verdict import VERDICT_SCHEMA_VERSION, MatrixVerdictFile

SHOWN_RUNS = 4

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RunFiles:
    """A finished run's folder."""

    folder: Path

    @classmethod
    def open(cls, folder: str | Path, key: str | None = None) -> RunFiles:
        """Return the run that a key of the configuration names, or say why the folder is none."""
        path = Path(folder)
        where = f"{key}: {path}" if key else str(path)
        if not (path / "scorecard.json").is_file():
            raise ArtifactError(
                f"{where} must be the folder of a finished run (no scorecard.json){_runs_in(path)}"
            )
        return cls(path)

    def scorecard(self) -> Scorecard:
        """Read the scorecard; an unknown major version is refused."""
        path = self.folder / "scorecard.json"
        return _read(path, path.read_bytes(), Scorecard, SCORECARD_SCHEMA_VERSION)

    def plan(self) -> Plan:
        """Read the frozen plan; an unknown major version is refused."""
        path = self.folder / "plan.json"
        try:
            data = path.read_bytes()
        except OSError as error:
            raise ArtifactError(f"{path} cannot be read: {error.strerror}") from None
        return _read(path, data, Plan, PLAN_SCHEMA_VERSION)

    def subject(self) -> SubjectRecord | None:
        """Read the subject's profile; None where the run is of a Helix that wrote none."""
        path = self.folder / "subject.json"
        if not path.exists():
            return None
        return _read(path, path.read_bytes(), SubjectRecord, SUBJECT_SCHEMA_VERSION)

    def lines(self) -> Iterator[MatrixVerdictFile]:
        """Yield the verdict lines in plan order."""
        return _rows(self._verdicts, MatrixVerdictFile)

    def blocks(self) -> Iterator[tuple[str, int, int]]:
        """Yield each trace that has lines, in plan order, and at which byte they begin and end."""
        start = end = 0
        read = _sized(self._verdicts, MatrixVerdictFile)
        for trace, group in groupby(read, key=lambda pair: pair[1].trajectory_id):
            start, end = end, end + sum(size for size, _ in group)
            yield trace, start, end

    def block(self, start: int, end: int) -> list[MatrixVerdictFile]:
        """Read the lines between two bytes that `blocks` named."""
        try:
            with open(self._verdicts, "rb") as file:
                file.seek(start)
                lines = file.read(end - start).split(b"\n")
        except OSError as error:
            raise ArtifactError(f"{self._verdicts} cannot be read: {error.strerror}") from None
        where = f"{self._verdicts}, byte {start}"
        return [_read(where, x, MatrixVerdictFile, VERDICT_SCHEMA_VERSION) for x in lines if x]

    @property
    def _verdicts(self) -> Path:
        return self.folder / "verdicts.jsonl"

    def determinations(self) -> Iterator[Determination]:
        """Yield what discover said of each trace, in plan order."""
        return _rows(self.folder / "determinations.jsonl", Determination)

    def manifest(self) -> Iterator[ManifestEntry]:
        """Yield every trace that was found: its place, digest and fidelity."""
        return _rows(self.folder / "manifest.jsonl", ManifestEntry)

    def replicates(self) -> int:
        """Return how often each trace was to be judged."""
        found: int = self.plan().decides["sampling"]["replicates"]
        return found

    def undone(self) -> tuple[tuple[str, str], ...]:
        """Return (trace, criterion) of every cell that failed or is undecided.

        Repeats that disagree leave it undecided, as a chosen trace without a line, one that waits
        or broke, is in every row.
        """
        judged = {line.trajectory_id for line in self.lines()}
        lost = [e.id for e in self.manifest() if e.selected and e.id not in judged]
        rows = [row.criterion_id for row in self.scorecard().criteria] if lost else []
        absent = [(trace, criterion) for trace in lost for criterion in rows]
        return (*self._cells(("fail", "uncertain")), *absent)

    def failing(self) -> tuple[tuple[str, str], ...]:
        """Return (trace, criterion) of every cell that failed, in all repeats of its trace."""
        return tuple(self._cells(("fail",)))

    def _cells(self, states: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        replicates = self.replicates()
        for trace, group in groupby(self.lines(), key=lambda line: line.trajectory_id):
            repeats = list(group)
            for criterion in repeats[0].dense_map:
                if fold_repeats(repeat_states(repeats, criterion, replicates))[0] in states:
                    yield trace, criterion


def object_of(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file that may be missing or damaged; an empty one then."""
    try:
        # What is no file, as a pipe, would be waited for.
        found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _runs_in(folder: Path) -> str:
    """Say which runs a folder holds, as that of a sweep does."""
    runs = sorted((p.parent for p in folder.glob("*/scorecard.json")), key=lambda p: p.name)
    if not runs:
        return ""
    more = f" and {len(runs) - SHOWN_RUNS} more" if len(runs) > SHOWN_RUNS else ""
    return f"; it holds {', '.join(map(str, runs[:SHOWN_RUNS]))}{more}: name these"


def _rows(path: Path, kind: type[T]) -> Iterator[T]:
    return (row for _, row in _sized(path, kind))


def _sized(path: Path, kind: type[T]) -> Iterator[tuple[int, T]]:
    """Yield each line with the number of its bytes."""
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                where = f"{path}, line {number}"
                yield len(line), _read(where, line, kind, VERDICT_SCHEMA_VERSION)
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror}") from None


def _read(where: object, data: bytes, kind: type[T], version: str) -> T:
    return of_version(where, data, kind, f"{version.partition('.')[0]}.x")

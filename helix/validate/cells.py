"""A run joined with labels: every cell with its state, its task, and what people say of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from helix.gate import fold_repeats, repeat_states, task_of
from helix.labels import Cell as CellId
from helix.labels import Label
from helix.model.validation import VALIDATION_SCHEMA_VERSION, Disagreement, Kind, Word
from helix.model.verdict import MACHINERY_CAUSES, CellState, MatrixVerdictFile
from helix.runs import RunFiles

REPORT = "report.html"
DECIDED = ("pass", "fail")


@dataclass(frozen=True, slots=True)
class Cell:
    """One criterion on one trace, repeats folded; `human` is None without a label.

    `cluster` is what goes together: the trace's task, else the trace. `adjudicated` is False
    where machinery left it undecided: nobody answered, or repeats disagree (METHOD 8).
    """

    trace: str
    criterion: str
    cluster: str
    state: CellState
    adjudicated: bool
    human: Word | None = None

    @property
    def decided(self) -> bool:
        """Whether Helix says pass or fail."""
        return self.state in DECIDED

    @property
    def compared(self) -> bool:
        """Whether people and Helix both say pass or fail."""
        return self.decided and self.human in DECIDED

    @property
    def right(self) -> bool:
        """Whether people and Helix say the same; only of a cell that is compared."""
        return self.state == self.human


def cells_of(run: RunFiles, labels: Mapping[CellId, Word]) -> list[Cell]:
    """Return every cell of a run's chosen traces; a trace without a line is undecided in all."""
    entries = [entry for entry in run.manifest() if entry.selected]
    clusters = {entry.id: task_of(entry) for entry in entries}
    criteria = [row.criterion_id for row in run.scorecard().criteria]
    states: dict[CellId, tuple[CellState, bool]] = {}
    replicates = run.replicates()
    for trace, group in groupby(run.lines(), key=lambda line: line.trajectory_id):
        repeats = list(group)
        for criterion in criteria:
            states[CellId(trace, criterion)] = _folded(repeats, criterion, replicates)
    ids = [CellId(entry.id, criterion) for entry in entries for criterion in criteria]
    return [
        Cell(
            cell_id.trace,
            cell_id.criterion,
            clusters[cell_id.trace],
            *states.get(cell_id, ("uncertain", False)),
            labels.get(cell_id),
        )
        for cell_id in ids
    ]


def _folded(
    repeats: list[MatrixVerdictFile], criterion: str, replicates: int
) -> tuple[CellState, bool]:
    state, flapping = fold_repeats(repeat_states(repeats, criterion, replicates))
    return state, not flapping and any(_answered(line, criterion) for line in repeats)


def _answered(line: MatrixVerdictFile, criterion: str) -> bool:
    """Whether a line says something of a criterion, if only that it cannot be decided."""
    causes = {verdict.criterion_id: verdict.cause for verdict in line.verdicts}
    lost = criterion in line.not_adjudicated or criterion not in line.dense_map
    return not lost and causes.get(criterion) not in MACHINERY_CAUSES


def by_criterion(cells: Iterable[Cell]) -> dict[str, list[Cell]]:
    """Return the cells of each criterion, in their order."""
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        found.setdefault(cell.criterion, []).append(cell)
    return found


def disagreements(
    run: RunFiles, cells: Iterable[Cell], labels: Iterable[Label], folder: Path
) -> Iterator[Disagreement]:
    """Yield the labelled cells on which people and Helix differ, each with its place in the report.

    `folder` is where the list will stand; links are relative to it.
    """
    wanted = {CellId(cell.trace, cell.criterion): (cell, kind) for cell, kind in _kinds(cells)}
    notes: dict[CellId, list[str]] = {}
    for label in labels:
        if label.note and label.cell in wanted:
            notes.setdefault(label.cell, []).append(f"{label.rater}: {label.note}")
    page = Path(os.path.relpath(run.folder / REPORT, folder)).as_posix()
    rows = {row.criterion_id: at for at, row in enumerate(run.scorecard().criteria)}
    for index, line in enumerate(run.lines()):
        said = {verdict.criterion_id: verdict for verdict in line.verdicts}
        for criterion in line.dense_map:
            cell_id = CellId(line.trajectory_id, criterion)
            if cell_id not in wanted:
                continue
            cell, kind = wanted.pop(cell_id)
            verdict = said.get(criterion)
            nobody = line.not_adjudicated.get(criterion)
            yield Disagreement(
                schema_version=VALIDATION_SCHEMA_VERSION,
                kind=kind,
                trace=cell.trace,
                criterion_id=criterion,
                human=cell.human or "cannot-decide",
                said=cell.state,
                cause=nobody or (verdict.cause if verdict else None),
                critique=verdict.critique if verdict else None,
                notes=tuple(notes.get(cell_id, ())),
                link=f"{page}#t{index}-c{rows[criterion]}",
            )


def _kinds(cells: Iterable[Cell]) -> Iterator[tuple[Cell, Kind]]:
    for cell in cells:
        if cell.compared and not cell.right:
            yield cell, "false-pass" if cell.state == "pass" else "false-fail"
        elif cell.human in DECIDED and not cell.decided and cell.adjudicated:
            yield cell, "over-abstain"
        elif cell.human == "cannot-decide" and cell.decided:
            yield cell, "under-abstain"

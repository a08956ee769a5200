"""What nobody can be asked to amend goes to calibration, where people decide (METHOD 63, 74)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from helix.calibrate import Desk, apply, record, replay
from helix.improve.request import Uncertain
from helix.model.calibration import Entry
from helix.model.canonical import digest
from helix.runs import RunFiles


def hand_over(
    state: str | Path, cells: Sequence[Uncertain], runs: Sequence[RunFiles], loop: str, at: str
) -> tuple[str, ...]:
    """Write these cells into the calibration log of `state`; return their criteria.

    A flapping judge is found as a doubt about the scope of its row: it reads the same trace two
    ways. `loop` is the digest that tells this finding from others.
    """
    if not cells:
        return ()
    desk = before = Desk.open(state)
    for run in runs:
        plan = run.plan().digest
        for criterion in sorted({cell.criterion for cell in cells if not cell.flaps}):
            desk = record(desk, run.lines(), plan, at=at, only=criterion)
    told = {(entry.criterion_id, entry.run) for entry in desk.log}
    for cell in cells:
        seen = digest([loop, cell.case, cell.criterion])
        retired = replay(desk.log).get(cell.criterion) == "retired"
        if not cell.flaps or retired or (cell.criterion, seen) in told:
            continue
        entry = Entry(
            criterion_id=cell.criterion,
            action="found",
            at=at,
            why=f"the judge's answers differ on one trace of the case {cell.case}",
            run=seen,
            kinds=(cell.kind,),
        )
        desk = replace(desk, log=(*desk.log, entry))
    if desk != before:
        apply(state, desk)
    return tuple(sorted({cell.criterion for cell in cells}))

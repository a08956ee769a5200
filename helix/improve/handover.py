"""What nobody can be asked to amend goes to calibration, where people decide (METHOD 63, 74)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from helix.calibrate import Desk, apply, record, replay
from helix.improve.request import Uncertain
from helix.model.calibration import Entry
from helix.model.canonical import digest
from helix.model.verdict import BlockKind
from helix.runs import RunFiles

_FLAPS: tuple[BlockKind, str] = ("scope", "the judge gives two answers on one trace")
_GROUNDLESS: tuple[BlockKind, str] = ("factual-intent", "nothing that was cited shows it")


def hand_over(
    state: str | Path, cells: Sequence[Uncertain], runs: Sequence[RunFiles], loop: str, at: str
) -> tuple[str, ...]:
    """Write these cells into the calibration log of `state`; return their criteria.

    What blocks an undecided cell is what its verdict says. A flapping judge is a doubt about the
    scope of its row, which it reads two ways; a verdict that nothing shows lacks a fact. `loop` is
    the digest that tells these findings from others.
    """
    if not cells:
        return ()
    desk = before = Desk.open(state)
    criteria = sorted({cell.criterion for cell in cells})
    groundless = sorted({cell.criterion for cell in cells if not cell.flaps})
    for run in runs:
        plan = run.plan().digest
        for criterion in groundless:
            desk = record(desk, run.lines(), plan, at=at, only=criterion)
    for cell in cells:
        known = replay(desk.log).get(cell.criterion)
        seen = digest([loop, cell.case, cell.criterion])
        told = any((e.criterion_id, e.run) == (cell.criterion, seen) for e in desk.log)
        if told or known == "retired" or (known == "uncertain" and not cell.flaps):
            continue
        kind, why = _FLAPS if cell.flaps else _GROUNDLESS
        entry = Entry(
            criterion_id=cell.criterion,
            action="found",
            at=at,
            why=f"{why}, in the case {cell.case}",
            run=seen,
            kinds=(kind,),
        )
        desk = replace(desk, log=(*desk.log, entry))
    if desk != before:
        apply(state, desk)
    return tuple(criteria)

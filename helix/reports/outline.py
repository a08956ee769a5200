"""How the cells of a run stand, and which of its traces a page lists: no word of what was said."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from helix.model.verdict import Cause, CellState, MatrixVerdictFile
from helix.reports.page import PageFacts
from helix.reports.run import CellView, TraceView, by_standing
from helix.reports.stream import RunStream
from helix.reports.words import Standing

_NOTHING: Final[MappingProxyType[Any, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Outline:
    """The traces that a page lists, the worst first, and what it tells of all of them.

    `traces` is how many there are, `warned` each kind of warning with how many traces have it.
    """

    listed: tuple[TraceView, ...]
    traces: int
    warned: list[tuple[str, int]]

    @property
    def cut(self) -> bool:
        """Whether there are traces that the page does not list."""
        return len(self.listed) < self.traces

    def standing(self, standing: Standing) -> int:
        """Return how many of the traces that are listed stand so."""
        return sum(1 for trace in self.listed if trace.standing == standing)


def outline(run: RunStream, facts: PageFacts) -> Outline:
    """Read a run's traces once: give each to the facts of its page, and keep those it lists."""
    drawn = _Drawn()
    found = drawn.bare(run, facts)
    if run.worst is None:
        listed = sorted(found, key=by_standing)
    else:
        listed = heapq.nsmallest(run.worst, found, key=by_standing)
    return Outline(tuple(listed), drawn.traces, drawn.warned)


@dataclass(slots=True)
class _Kind:
    """Warnings of one kind: the text, as long as it is the same, and how many there are."""

    text: str | None
    count: int = 0


@dataclass(slots=True)
class _Drawn:
    """What is counted on the way; a cell that stands as another does is the same value."""

    traces: int = 0
    kinds: dict[str, _Kind] = field(default_factory=dict)
    cells: dict[tuple[int, CellState, Standing, Cause | None], CellView] = field(
        default_factory=dict
    )

    def bare(self, run: RunStream, facts: PageFacts) -> Iterator[TraceView]:
        """Yield how each trace stands, once the facts know it."""
        for view in run.traces:
            facts.add(view)
            self.traces += 1
            for warning in view.line.warnings:
                kind = self.kinds.setdefault(warning.partition(": ")[0], _Kind(warning))
                kind.text = warning if kind.text == warning else None
                kind.count += 1
            cells = tuple(map(self._cell, view.cells))
            yield replace(
                view, line=_bare(view.line), cells=cells, targets=_NOTHING, anchors=_NOTHING
            )

    @property
    def warned(self) -> list[tuple[str, int]]:
        """Each kind of warning, the commonest first, in full where there is one alone."""
        kinds = sorted(self.kinds.items(), key=lambda item: -item[1].count)
        return [(name if kind.text is None else kind.text, kind.count) for name, kind in kinds]

    def _cell(self, cell: CellView) -> CellView:
        key = (cell.row.index, cell.state, cell.standing, cell.cause)
        if key not in self.cells:
            self.cells[key] = replace(cell, entry=None, refs=(), reason="")
        return self.cells[key]


def _bare(line: MatrixVerdictFile) -> MatrixVerdictFile:
    """Return a line with its identity and route alone, which a row of the list tells."""
    return MatrixVerdictFile(
        trajectory_id=line.trajectory_id,
        replicate=line.replicate,
        route=line.route,
        fidelity=line.fidelity,
        dense_map=_EMPTY,
    )


_EMPTY: Final[dict[str, CellState]] = {}

"""One of two runs that are compared: where the lines of each trace stand, to be read again."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping

from helix.errors import ArtifactError
from helix.model.manifest import Manifest
from helix.reports.run import CellView, RowView, row_views, trace_view
from helix.runs import RunFiles

Cells = Mapping[str, CellView]


class Side:
    """A finished run whose chosen traces are known by their positions, some 130 bytes each."""

    def __init__(self, run: RunFiles) -> None:
        self.plan, self.card = run.plan(), run.scorecard()
        self.rows = row_views(self.card, ())
        self.chosen = Manifest(entry for entry in run.manifest() if entry.selected)
        self.nobody: Cells = {row.id: _nobody(row) for row in self.rows}
        self._run = run
        self._starts = array("Q", bytes(8 * len(self.chosen)))
        self._ends = array("Q", self._starts)
        for trace, start, end in run.blocks():
            position = self.position(trace)
            if self._ends[position]:
                raise ArtifactError(f"{run.folder}: the lines of '{trace}' stand in two places")
            self._starts[position], self._ends[position] = start, end

    def position(self, trace: str) -> int:
        """Return where a trace stands that this run has."""
        position = self.chosen.position(trace)
        if position is None:
            raise ArtifactError(f"{self._run.folder}: the manifest lacks the trace '{trace}'")
        return position

    def positions(self) -> Iterator[int]:
        """Yield the positions of the traces: in plan order those with lines, then those without."""
        for have in (True, False):
            yield from (position for position, end in enumerate(self._ends) if bool(end) == have)

    def repeats(self, position: int) -> dict[int, Cells]:
        """Read a trace's cells, by repeat and criterion; none where it waits or broke."""
        return {
            line.replicate: {cell.row.id: cell for cell in trace_view(0, line, self.rows, {}).cells}
            for line in self._run.block(self._starts[position], self._ends[position])
        }

    def cells(self, position: int, repeat: int) -> Cells:
        """Read the cells of one repeat; nobody decided those of a trace without lines."""
        return self.repeats(position).get(repeat, self.nobody)

    def named(self, position: int, repeats: Iterable[int]) -> Iterator[str]:
        """Yield a trace by name, once a repeat; one that is not the first is one of its own."""
        trace = self.chosen[position].id
        return (f"{trace} · repeat {at}" if at else trace for at in repeats)


def _nobody(row: RowView) -> CellView:
    return CellView(row, "uncertain", "incomplete", None, None, (), "the trace has no verdicts")

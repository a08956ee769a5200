"""What the page of a run tells besides its traces: facts that every trace's part may need.

One pass over the traces counts what the page shows of all of them; the rest stands beside the
verdicts in the run's folder. It serves a run that is held whole and one that is read as a stream.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from helix.model.scorecard import Scorecard
from helix.model.validation import Disagreement
from helix.reports.beside import Beside, beside
from helix.reports.heat import Heat, Spot, shown_rows
from helix.reports.itself import Itself
from helix.reports.run import CellView, RowView, RunMeta, TraceView
from helix.reports.since import Since, Word
from helix.reports.stream import Run


@dataclass(frozen=True, slots=True)
class PageFacts:
    """The facts of a page that a trace's part is rendered with, whole or by itself."""

    card: Scorecard
    meta: RunMeta = field(default_factory=RunMeta)
    rows: tuple[RowView, ...] = ()
    heat: Heat = field(default_factory=Heat)
    itself: Itself = field(default_factory=Itself)
    beside: Beside = field(default_factory=Beside)
    causes: Counter[str] = field(default_factory=Counter)

    @classmethod
    def begun(cls, run: Run) -> PageFacts:
        """Return the facts of a run of which no trace was looked at yet."""
        read = beside(run.meta.run_dir, run.scorecard)
        return cls(run.scorecard, run.meta, run.rows, beside=read)

    def add(self, trace: TraceView) -> None:
        """Look at one trace."""
        self.heat.add(trace)
        self.itself.add(trace)
        self.causes.update(self.why(trace))
        if self.since is not None:
            self.since.add(trace)

    @property
    def since(self) -> Since | None:
        """The baseline, where the gate compares with one that can be read."""
        return self.beside.since

    @property
    def spots(self) -> list[tuple[RowView, list[Spot]]]:
        """The heatmap: each criterion everywhere, then on each route."""
        return shown_rows(self.heat, self.rows)

    @property
    def named_routes(self) -> list[str]:
        """The routes to filter by; empty where no trace has one."""
        return [route for route, _ in self.heat.routes if route is not None]

    def change(self, trace: TraceView, cell: CellView) -> Word | None:
        """Return what became of a cell since the baseline; None without one."""
        return None if self.since is None else self.since.word(trace, cell)

    def changes(self, trace: TraceView) -> list[Word]:
        """Return what became of a trace's cells since the baseline, each word once."""
        if self.since is None:
            return []
        words = (self.since.word(trace, cell) for cell in trace.cells)
        return list(dict.fromkeys(word for word in words if word is not None))

    def label(self, trace: TraceView, cell: CellView) -> Disagreement | None:
        """Return what people said of a cell where that is known and differs from its state."""
        return self.beside.labels.get((trace.id, cell.row.id))

    @staticmethod
    def why(trace: TraceView) -> list[str]:
        """Return what left cells of a trace undecided, each cause once."""
        found = (cell.cause for cell in trace.cells if cell.action is not None)
        return list(dict.fromkeys(cause for cause in found if cause is not None))

    def marks(self, trace: TraceView) -> str:
        """Return how a trace's cells stand, the first letter per criterion; a dot for no cell."""
        found = {cell.row.index: cell.standing[0] for cell in trace.cells}
        return "".join(found.get(row.index, ".") for row in self.rows)

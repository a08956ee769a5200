"""What a short report tells of single traces, gathered in one pass that keeps no trace.

Of failing cells those that are shown stay, of undecided ones the names of their traces.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from helix.reports.run import CellView, RowView, TraceView, weight
from helix.reports.summary import warned
from helix.reports.visible import first_line
from helix.reports.words import Standing

Key = tuple[Standing, str, str]
LONGEST = 2_000
"""Characters of one text."""


@dataclass(frozen=True, slots=True)
class Named:
    """A trace by its name, and the file that it stands in."""

    id: str
    name: str
    file: str | None


@dataclass(slots=True)
class Failing:
    """The failing cells of a row: how many, on how many traces, and the first of them.

    `new` are those on traces that did not fail in the baseline, which come first; `judged` says
    that a judge gave at least one of the verdicts.
    """

    row: RowView
    most: int
    cells: int = 0
    traces: int = 0
    judged: bool = False
    new: list[tuple[Named, CellView]] = field(default_factory=list)
    known: list[tuple[Named, CellView]] = field(default_factory=list)
    _last: str | None = None

    def add(self, trace: Named, cell: CellView) -> None:
        """Take in one more cell, in plan order."""
        self.cells += 1
        self.traces += trace.id != self._last
        self._last = trace.id
        self.judged |= cell.judged
        held = self.new if trace.id in self.row.row.new_traces else self.known
        if len(held) < self.most:
            held.append((trace, cell))

    @property
    def first(self) -> list[tuple[Named, CellView]]:
        """The cells that are shown or named, the new ones first."""
        return (self.new + self.known)[: self.most]


@dataclass(slots=True)
class Undecided:
    """The cells of a row that wait for the same: their traces, and why, in particular.

    `index` is the place of the first trace in the plan's order; of different `details` two are
    enough to know that they differ.
    """

    row: RowView
    index: int
    traces: list[Named] = field(default_factory=list)
    details: list[str] = field(default_factory=list)

    def add(self, trace: Named, cell: CellView) -> None:
        """Take in one more cell, in plan order."""
        self.traces.append(trace)
        detail = first_line(cell.detail, LONGEST)
        if len(self.details) < 2 and detail not in self.details:
            self.details.append(detail)


@dataclass(frozen=True, slots=True)
class Gathered:
    """Failing rows, the worst first; undecided cells by what they wait for; kinds of warning."""

    failing: Sequence[Failing]
    undecided: Sequence[tuple[Key, Sequence[Undecided]]]
    warned: Sequence[tuple[str, list[str]]]


def gathered(traces: Iterable[TraceView], most: int) -> Gathered:
    """Return what is told of the traces; of a row's failing cells `most` are kept."""
    failing: dict[int, Failing] = {}
    waiting: dict[Key, dict[int, Undecided]] = {}
    warnings: list[tuple[str, tuple[str, ...]]] = []
    for trace in traces:
        named = Named(trace.id, trace.name, trace.file)
        if trace.line.warnings:
            warnings.append((trace.id, tuple(trace.line.warnings)))
        for cell in trace.cells:
            at = cell.row.index
            if cell.standing == "fail":
                failing.setdefault(at, Failing(cell.row, most)).add(named, cell)
            elif cell.standing in ("incomplete", "uncertain"):
                key = (cell.standing, cell.cause or "no cause recorded", cell.action or "")
                rows = waiting.setdefault(key, {})
                rows.setdefault(at, Undecided(cell.row, trace.index)).add(named, cell)
    groups = [(key, sorted(rows.values(), key=_weight)) for key, rows in waiting.items()]
    return Gathered(
        sorted(failing.values(), key=_weight),
        sorted(groups, key=lambda group: (_weight(group[1][0]), group[1][0].index)),
        warned(warnings),
    )


def _weight(of: Failing | Undecided) -> tuple[int, bool, int]:
    return weight(of.row)

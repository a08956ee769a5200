"""How often each criterion fails on each route: counts, so that a rate never stands without its n.

A route on which nothing was decided has no rate, and is shown as not measured (METHOD 85, 86).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from helix.reports.run import RowView, TraceView
from helix.reports.words import Standing, counted

MAX_ROUTES = 24
STEPS = 10


@dataclass(frozen=True, slots=True)
class Spot:
    """A criterion on one route: its cells by how they stand."""

    standings: Counter[Standing]

    @property
    def failing(self) -> int:
        """How many cells fail."""
        return self.standings["fail"]

    @property
    def decided(self) -> int:
        """How many cells pass or fail."""
        return self.failing + self.standings["pass"]

    @property
    def undecided(self) -> int:
        """How many cells nobody could decide or adjudicate."""
        return self.standings["uncertain"] + self.standings["incomplete"]

    @property
    def level(self) -> int:
        """The share that fails in steps of a tenth: 0 is none at all, 10 is all."""
        return -(-STEPS * self.failing // self.decided) if self.decided else 0

    @property
    def told(self) -> str:
        """The spot in words, the rate with its n."""
        if not self.standings.total():
            return "no cell"
        if not self.decided:
            left = f", {counted(self.undecided, 'cell')} undecided" if self.undecided else ""
            return f"not measured: none decided{left}" if left else "applies nowhere"
        left = f", {self.undecided:,} undecided" if self.undecided else ""
        share = f"{self.failing / self.decided:.0%}"
        return f"fails {self.failing:,} of {self.decided:,} decided ({share}){left}"


@dataclass(slots=True)
class Heat:
    """All spots of a run, counted trace by trace."""

    _spots: dict[tuple[int, str | None], Counter[Standing]] = field(default_factory=dict)
    _traces: Counter[str | None] = field(default_factory=Counter)

    def add(self, trace: TraceView) -> None:
        """Count one trace."""
        route = trace.line.route
        self._traces[route] += 1
        for cell in trace.cells:
            self._spots.setdefault((cell.row.index, route), Counter())[cell.standing] += 1

    @property
    def routes(self) -> list[tuple[str | None, int]]:
        """The routes with the most traces, each with how many it has; None is not recorded."""
        ordered = sorted(self._traces.items(), key=lambda item: (-item[1], item[0] or ""))
        return ordered[:MAX_ROUTES]

    @property
    def left_out(self) -> int:
        """How many routes are not shown."""
        return max(len(self._traces) - MAX_ROUTES, 0)

    def spot(self, row: RowView, route: str | None) -> Spot:
        """Return a criterion on a route."""
        return Spot(self._spots.get((row.index, route), Counter()))

    def everywhere(self, row: RowView) -> Spot:
        """Return a criterion on all routes."""
        found: Counter[Standing] = Counter()
        for (index, _), standings in self._spots.items():
            if index == row.index:
                found += standings
        return Spot(found)


def shown_rows(heat: Heat, rows: Sequence[RowView]) -> list[tuple[RowView, list[Spot]]]:
    """Return each criterion with its spots: everywhere first, then by route."""
    routes = [route for route, _ in heat.routes]
    return [
        (row, [heat.everywhere(row), *(heat.spot(row, route) for route in routes)]) for row in rows
    ]

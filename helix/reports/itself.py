"""How well a run did its own work: what was grounded, left open, verified, emitted and read.

Counted trace by trace; what no line records is not counted as 0 but not told (METHOD 85, 86).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from helix.model.scorecard import Ratio
from helix.reports.run import CellView, TraceView
from helix.reports.words import Standing

WALK = (
    ("understanding", "what the judge understood"),
    ("expected_trajectory", "what it expected before looking"),
    ("judge_steps", "the walk"),
    ("health", "its account of its own work"),
)
HEALTH = (
    ("context_gathered", "context gathered"),
    ("grounded", "grounded by its own account"),
    ("assumed", "something assumed"),
    ("stopped_at_symptom", "stopped at a symptom"),
)


@dataclass(slots=True)
class OfRow:
    """One criterion: its cells by standing, its verdicts by what the verifier said."""

    standings: Counter[Standing] = field(default_factory=Counter)
    verified: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Itself:
    """The counts over all traces.

    `leaps` are the verifier's downgrades by kind; `walked` and `health` count judged lines that
    hold a part of the walk, or whose judge says so of itself.
    """

    rows: dict[int, OfRow] = field(default_factory=dict)
    leaps: Counter[str] = field(default_factory=Counter)
    judged: int = 0
    cells: int = 0
    walked: Counter[str] = field(default_factory=Counter)
    health: Counter[str] = field(default_factory=Counter)
    unread: int = 0

    def add(self, trace: TraceView) -> None:
        """Count one trace."""
        line = trace.line
        if line.judge_identity is not None:
            self.judged += 1
            self.walked.update(name for name, _ in WALK if getattr(line, name))
            if line.health is not None:
                self.health.update(name for name, _ in HEALTH if getattr(line.health, name))
        for cell in trace.cells:
            self._cell(cell)

    def _cell(self, cell: CellView) -> None:
        self.cells += 1
        self.unread += cell.cause == "unread"
        own = self.rows.setdefault(cell.row.index, OfRow())
        own.standings[cell.standing] += 1
        seen = cell.entry.verification if cell.entry is not None else None
        if seen is None:
            own.verified["notVerified"] += cell.judged and cell.state in ("pass", "fail", "na")
            return
        own.verified[seen.status] += 1
        if seen.status == "downgraded":
            self.leaps[seen.leap_kind or "normative"] += 1

    def emitted(self) -> Iterator[tuple[str, Ratio]]:
        """Yield the parts of the walk, each with how many judged traces hold it."""
        for name, words in WALK:
            yield words, Ratio(k=self.walked[name], n=self.judged)

    def said_of_itself(self) -> Iterator[tuple[str, Ratio]]:
        """Yield what judges say of their own work, of those who say anything."""
        for name, words in HEALTH:
            yield words, Ratio(k=self.health[name], n=self.walked["health"])

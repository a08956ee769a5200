"""What changed since the baseline that the gate compares with, cell by cell, for the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from helix.errors import HelixError
from helix.reports.comparison import Comparison, compare
from helix.reports.run import CellView, RowView, TraceView
from helix.runs import RunFiles

Word = Literal["new", "known", "fixed", "other"]
WORDS: Final[dict[Word, str]] = {
    "new": "fails now and did not",
    "known": "failed already",
    "fixed": "failed and passes now",
    "other": "changed in another way",
}
MAX_CELLS = 50_000
MAX_LISTED = 300
_WORST: Final[tuple[Word, ...]] = ("new", "other", "fixed", "known")


@dataclass(frozen=True, slots=True)
class Since:
    """A run against its baseline: `before` is each cell's state there, by trace, repeat, row.

    `failing` are (trace, row) of what failed there, which the gate takes for known: what only some
    repeats failed is not. `comparison` is None where the runs are too large to be compared inside
    a page; `counts` are of cells by criterion index and word.
    """

    name: str
    before: Mapping[tuple[str, int], Mapping[str, str]]
    failing: frozenset[tuple[str, str]]
    comparison: Comparison | None
    counts: Counter[tuple[int, Word]] = field(default_factory=Counter)
    listed: list[tuple[TraceView, CellView, Word]] = field(default_factory=list)

    def word(self, trace: TraceView, cell: CellView) -> Word | None:
        """Return what became of a cell; None where nothing is to be told."""
        if cell.state == "fail":
            return "known" if (trace.id, cell.row.id) in self.failing else "new"
        states = self.before.get((trace.id, trace.line.replicate), {})
        was = states.get(cell.row.id)
        if was is None or was == cell.state:
            return None
        return "fixed" if (was, cell.state) == ("fail", "pass") else "other"

    def was(self, trace: TraceView, cell: CellView) -> str:
        """Return a cell's state in the baseline, or that it has none there."""
        states = self.before.get((trace.id, trace.line.replicate), {})
        return states.get(cell.row.id, "not there")

    def add(self, trace: TraceView) -> None:
        """Count one trace of this run."""
        for cell in trace.cells:
            word = self.word(trace, cell)
            if word is not None:
                self.counts[cell.row.index, word] += 1
                if word != "known" and len(self.listed) < MAX_LISTED:
                    self.listed.append((trace, cell, word))

    def total(self, word: Word) -> int:
        """Return how many cells a word is said of."""
        return sum(n for (_, said), n in self.counts.items() if said == word)

    def rows(self, rows: tuple[RowView, ...]) -> Iterator[tuple[RowView, dict[Word, int]]]:
        """Yield each criterion that has cells to tell, with how many of each word."""
        for row in rows:
            found = {word: self.counts[row.index, word] for word in WORDS}
            if any(found.values()):
                yield row, found

    def worst_first(self) -> list[tuple[TraceView, CellView, Word]]:
        """Return the cells that changed, new failures first."""
        return sorted(self.listed, key=lambda one: _WORST.index(one[2]))


def since(name: str, run: RunFiles, cells: int) -> Since | None:
    """Return a run's baseline read anew; None where its folder cannot be read any more."""
    try:
        baseline = RunFiles.open(name)
        before = {(x.trajectory_id, x.replicate): x.dense_map for x in baseline.lines()}
        failing = frozenset(baseline.failing())
        both = compare(baseline, run) if cells <= MAX_CELLS else None
    except (HelixError, OSError):
        return None
    return Since(name, before, failing, both)

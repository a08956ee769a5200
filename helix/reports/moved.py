"""The cells that differ between two runs: which they are is held, what they say is read again."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from helix.reports.run import CellView
from helix.reports.sides import Side

Change = Literal[
    "broken", "newlyUncertain", "newlyDecided", "scope", "fixed", "cause", "wording", "same"
]
WORST_FIRST: Final[tuple[Change, ...]] = Change.__args__  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Moved:
    """One cell that is not in both runs the same."""

    trace: str
    replicate: int
    change: Change
    before: CellView
    after: CellView

    @property
    def worse(self) -> bool:
        """Whether the cell got worse."""
        return is_worse(self.before, self.after)


def is_worse(before: CellView, after: CellView) -> bool:
    """Whether a cell fails now and did not, or passed or did not apply and is undecided now."""
    if after.state == before.state:
        return False
    return after.state in ("fail", "uncertain") and before.state != "fail"


class MovedCells:
    """Cells of one criterion that moved, in nine bytes each, in the order of the second run.

    A cell is read from both runs when it is looked at.
    """

    def __init__(self, criterion: str, first: Side, second: Side) -> None:
        self._criterion, self._first, self._second = criterion, first, second
        self._positions, self._repeats = array("I"), array("I")
        self._changes = bytearray()

    def add(self, position: int, repeat: int, change: Change) -> None:
        """Take in a cell of the trace that stands at a position of the second run."""
        self._positions.append(position)
        self._repeats.append(repeat)
        self._changes.append(WORST_FIRST.index(change))

    def of(self, change: Change) -> MovedCells:
        """Return those that moved so."""
        found = MovedCells(self._criterion, self._first, self._second)
        for position, repeat, at in zip(self._positions, self._repeats, self._changes, strict=True):
            if WORST_FIRST[at] == change:
                found.add(position, repeat, change)
        return found

    def count_of(self, change: Change) -> int:
        """Return how many moved so."""
        return self._changes.count(WORST_FIRST.index(change))

    def traces(self) -> list[str]:
        """Return the traces of the cells, each once."""
        return [self._second.chosen[position].id for position in dict.fromkeys(self._positions)]

    def __len__(self) -> int:
        return len(self._changes)

    def __iter__(self) -> Iterator[Moved]:
        for position, repeat, at in zip(self._positions, self._repeats, self._changes, strict=True):
            trace = self._second.chosen[position].id
            before = self._first.cells(self._first.position(trace), repeat)[self._criterion]
            after = self._second.cells(position, repeat)[self._criterion]
            yield Moved(trace, repeat, WORST_FIRST[at], before, after)

"""The spread of answers over repeats, and who is at fault for it: the agent or the judge.

Fresh traces of one case that get different answers are the agent's variance, where each of them
gets the same answer again; one trace that gets two answers is the judge's (METHOD 73, 74).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from helix.gate import fold_repeats
from helix.model.verdict import CellState, Locus, Ref

Source = Literal["steady", "agent", "judge", "unclear"]
REPEATS = 5


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer on one cell: of which fresh run of the case, on which trace, under which index.

    `digest` is that of the trace's bytes, so that two runs which recorded the same are one trace.
    What nobody adjudicated is no answer and has none of these.
    """

    case: str
    criterion: str
    run: int
    digest: str
    index: int
    state: CellState
    by_code: bool = True
    critique: str = ""
    refs: tuple[Ref, ...] = ()
    trace: str = ""
    file: str = ""
    locus: Locus | None = None
    root: str | None = None


@dataclass(frozen=True)
class Cell:
    """All answers on one criterion in one case; `repeats` is how many of a kind settle it."""

    case: str
    criterion: str
    answers: tuple[Answer, ...]
    repeats: int

    @cached_property
    def runs(self) -> int:
        """How many fresh runs were answered."""
        return len(self.states)

    @cached_property
    def states(self) -> tuple[CellState, ...]:
        """The state of each fresh run; one that was answered differently again is uncertain."""
        runs: dict[int, list[CellState]] = {}
        for answer in self.answers:
            runs.setdefault(answer.run, []).append(answer.state)
        return tuple(fold_repeats(states)[0] for states in runs.values())

    @cached_property
    def variance(self) -> Fraction:
        """The chance that two of the answers disagree, exactly; 0 of fewer than two."""
        n = len(self.answers)
        if n < 2:
            return Fraction(0)
        alike = sum(k * (k - 1) for k in Counter(a.state for a in self.answers).values())
        return 1 - Fraction(alike, n * (n - 1))

    @cached_property
    def source(self) -> Source:
        """Who is at fault for answers that disagree; a doubt about the judge goes before.

        `unclear` is a trace that was judged too seldom to tell: its judge may have flipped.
        """
        if not self.variance:
            return "steady"
        traces: dict[str, list[Answer]] = {}
        for answer in self.answers:
            traces.setdefault(answer.digest, []).append(answer)
        if any(len({a.state for a in same}) > 1 for same in traces.values()):
            return "judge"
        enough = max(2, self.repeats)
        if all(len(same) >= enough or all(a.by_code for a in same) for same in traces.values()):
            return "agent"
        return "unclear"


@dataclass(frozen=True)
class Spread:
    """The spread over repeats of the same cases, and whether it lets accuracy be measured.

    It passes if every case was answered `repeats` times in every row and no cell varies by more
    than `max_variance`; a case with fewer answers is never stable, and no case at all fails. `rows`
    are those that were asked: one that nobody answered in any case is a row all the same.
    """

    cases: tuple[str, ...]
    cells: tuple[Cell, ...]
    repeats: int = REPEATS
    max_variance: Fraction = Fraction(0)
    rows: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        cases: Sequence[str],
        answers: Iterable[Answer],
        repeats: int = REPEATS,
        max_variance: Fraction = Fraction(0),
        rows: Iterable[str] = (),
    ) -> Spread:
        """Group answers by cell; an answer that was read twice under one index counts once."""
        cells: dict[tuple[str, str], dict[tuple[int, str, int], Answer]] = {}
        for answer in answers:
            held = cells.setdefault((answer.case, answer.criterion), {})
            held.setdefault((answer.run, answer.digest, answer.index), answer)
        grouped = tuple(
            Cell(case, criterion, tuple(cells[case, criterion].values()), repeats)
            for case, criterion in sorted(cells)
        )
        answered = (cell.criterion for cell in grouped)
        return cls(tuple(cases), grouped, repeats, max_variance, frozenset((*rows, *answered)))

    @cached_property
    def flapping(self) -> tuple[Cell, ...]:
        """The cells that vary by more than is allowed."""
        return tuple(cell for cell in self.cells if cell.variance > self.max_variance)

    @cached_property
    def unclear(self) -> tuple[Cell, ...]:
        """The cells that vary and whose traces were judged too seldom to say why."""
        return tuple(cell for cell in self.cells if cell.source == "unclear")

    @cached_property
    def under_sampled(self) -> tuple[str, ...]:
        """The cases with fewer answers than repeats in a row, or with none."""
        runs = {(cell.case, cell.criterion): cell.runs for cell in self.cells}
        return tuple(
            case
            for case in self.cases
            if not self.rows or any(runs.get((case, row), 0) < self.repeats for row in self.rows)
        )

    @property
    def passed(self) -> bool:
        """Whether accuracy may be measured."""
        return bool(self.cases) and not self.flapping and not self.under_sampled

    def varying(self, source: Source) -> tuple[str, ...]:
        """Return the cases in which a cell varies for this reason by more than is allowed."""
        return tuple(sorted({cell.case for cell in self.flapping if cell.source == source}))

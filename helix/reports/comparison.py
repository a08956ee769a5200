"""The composer of a comparison: what changed between two runs, cell by cell (METHOD 44, 68).

Cells are joined by trace id, repeat and criterion id. A row that was another question, its digest
being another, is marked and left out of the statistics; a trace that changed is still the same
task, so it is counted and told.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from helix.model.scorecard import Scorecard
from helix.reports.moved import WORST_FIRST, Change, MovedCells, is_worse
from helix.reports.run import CellView, RowView, weight
from helix.reports.sides import Cells, Side
from helix.runs import RunFiles
from helix.stats import Difference, mcnemar, mean_difference

ROWS_TELL = ("criteria", "versions", "examples")
PLAN_FIRST = (
    "judge",
    "verifier",
    "suite",
    "suiteDigest",
    "prompt",
    "sampling",
    "select",
    "subject",
)
ABSENT: Final = object()
FEW: Final = 32


@dataclass(frozen=True, slots=True)
class Setting:
    """A place of the plan that differs; a run that lacks it holds ABSENT."""

    path: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Paired:
    """Cells that pass or fail in both runs: after against before.

    `exact_p` is McNemar's exact p, None where no cell differs; `difference` is that of the pass
    rates, after − before, clustered by task; None without a pair.
    """

    pairs: int
    broken: int
    fixed: int
    exact_p: float | None
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class RowChange:
    """One criterion of both runs; `other` says that it was another question.

    `same` and `worse` are how many cells did not move and how many got worse.
    """

    row: RowView
    other: bool
    moved: MovedCells
    same: int
    worse: int
    paired: Paired | None

    @property
    def counts(self) -> dict[Change, int]:
        """How many cells changed how."""
        return {change: self.moved.count_of(change) for change in WORST_FIRST} | {"same": self.same}


@dataclass(frozen=True)
class Comparison:
    """Everything that two runs differ in; the text and the JSON project it.

    `rows_added` and `traces_added` are those of the second run alone; `traces_changed` have the
    same id and another digest.
    """

    before: Scorecard
    after: Scorecard
    plan: tuple[Setting, ...]
    rows: tuple[RowChange, ...]
    rows_added: tuple[str, ...]
    rows_removed: tuple[str, ...]
    traces: int
    traces_added: tuple[str, ...]
    traces_removed: tuple[str, ...]
    traces_changed: tuple[str, ...]
    overall: Paired

    @cached_property
    def counts(self) -> dict[Change, int]:
        """How many cells of both runs changed how."""
        counts = [row.counts for row in self.rows]
        return {change: sum(one[change] for one in counts) for change in WORST_FIRST}

    @property
    def worse(self) -> int:
        """How many cells got worse."""
        return sum(row.worse for row in self.rows)

    @property
    def aligned(self) -> bool:
        """Whether both have the same rows and the same traces, by id and by digest."""
        apart = (self.rows_added, self.rows_removed, self.traces_added, self.traces_removed)
        return not any((*apart, self.traces_changed))

    @property
    def equal(self) -> bool:
        """Whether nothing at all differs in what was asked and in what was decided."""
        moved = any(row.moved or row.other for row in self.rows)
        return self.aligned and not self.plan and not moved

    def of(self, change: Change) -> list[tuple[RowChange, MovedCells]]:
        """Return the rows that have cells of a change, the gravest row first, with those cells."""
        found = [(row, row.moved.of(change)) for row in self.rows if row.counts[change]]
        return sorted(found, key=lambda pair: weight(pair[0].row))


def compare(before: RunFiles, after: RunFiles) -> Comparison:
    """Return what changed from one finished run to another.

    Memory follows the manifests; the cells that are not the same are read again when looked at.
    """
    first, second = Side(before), Side(after)
    versions = [side.plan.decides.get("versions", {}) for side in (first, second)]
    ids = [[row.id for row in side.rows] for side in (first, second)]
    rows = [
        _Row(view, versions[0].get(view.id) != versions[1].get(view.id), first, second)
        for view in second.rows
        if view.id in ids[0]
    ]
    apart = _walk(first, second, rows)
    return Comparison(
        before=first.card,
        after=second.card,
        plan=tuple(_settings(first.plan.decides, second.plan.decides)),
        rows=tuple(row.finish() for row in rows),
        rows_added=tuple(name for name in ids[1] if name not in ids[0]),
        rows_removed=tuple(name for name in ids[0] if name not in ids[1]),
        traces=apart.both,
        traces_added=tuple(apart.added),
        traces_removed=tuple(apart.removed),
        traces_changed=tuple(apart.changed),
        overall=_paired(row for row in rows if not row.other),
    )


class _Row:
    """A criterion of both runs while its cells are counted.

    Of a cell that passes or fails in both, five bytes stay: its task, and 1 if the second run alone
    passes, −1 if the first alone does, else 0.
    """

    def __init__(self, view: RowView, other: bool, first: Side, second: Side) -> None:
        self.view, self.other = view, other
        self.same = self.worse = 0
        self.moved = MovedCells(view.id, first, second)
        self.tasks, self.gaps = array("I"), array("b")

    def add(self, position: int, repeat: int, task: int, both: tuple[Cells, Cells]) -> None:
        """Take in the cell of a trace at a position of the second run, if both have it."""
        old, new = (cells.get(self.view.id) for cells in both)
        if old is None or new is None:
            return
        if {old.state, new.state} <= {"pass", "fail"}:
            self.tasks.append(task)
            self.gaps.append((new.state == "pass") - (old.state == "pass"))
        change = _change(old, new)
        if change == "same":
            self.same += 1
        else:
            self.moved.add(position, repeat, change)
            self.worse += is_worse(old, new)

    def finish(self) -> RowChange:
        """Return what became of the criterion."""
        paired = None if self.other else _paired([self])
        return RowChange(self.view, self.other, self.moved, self.same, self.worse, paired)


@dataclass(slots=True)
class _Apart:
    """How many traces both runs have, and the names of those that one lacks or that changed."""

    both: int = 0
    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)


def _walk(first: Side, second: Side, rows: Sequence[_Row]) -> _Apart:
    """Compare trace by trace; one that was chosen and has no line is undecided in every row."""
    found, tasks, fewer = _Apart(), dict[str, int](), dict[int, list[str]]()
    for position in second.positions():
        entry, new = second.chosen[position], second.repeats(position)
        at = first.chosen.position(entry.id)
        if at is None:
            found.added += second.named(position, new or (0,))
            continue
        found.both += 1
        if first.chosen[at].digest != entry.digest:
            found.changed.append(entry.id)
        old = first.repeats(at) or dict.fromkeys(new or (0,), first.nobody)
        new = new or dict.fromkeys(old, second.nobody)
        found.added += second.named(position, (repeat for repeat in new if repeat not in old))
        if old.keys() - new.keys():
            fewer[at] = list(first.named(at, (repeat for repeat in old if repeat not in new)))
        task = tasks.setdefault(entry.task, position) if entry.task else position
        for repeat in new:
            for row in rows if repeat in old else ():
                row.add(position, repeat, task, (old[repeat], new[repeat]))
    for at in first.positions():
        if second.chosen.position(first.chosen[at].id) is None:
            found.removed += first.named(at, first.repeats(at) or (0,))
        found.removed += fewer.get(at, ())
    return found


def _change(before: CellView, after: CellView) -> Change:
    if before.state == after.state:
        if (before.standing, before.cause) != (after.standing, after.cause):
            return "cause"
        told = (before.critique, before.refs, before.reason)
        return "same" if told == (after.critique, after.refs, after.reason) else "wording"
    if after.state == "uncertain":
        return "newlyUncertain"
    if before.state == "uncertain":
        return "newlyDecided"
    if "na" in (before.state, after.state):
        return "scope"
    return "broken" if after.state == "fail" else "fixed"


def _paired(rows: Iterable[_Row]) -> Paired:
    clusters: dict[int, tuple[int, ...] | array[int]] = {}
    alike: dict[tuple[int, ...], tuple[int, ...]] = {}
    for row in rows:
        for task, gap in zip(row.tasks, row.gaps, strict=True):
            held = clusters.get(task, ())
            if isinstance(held, array):
                held.append(gap)
            elif len(held) < FEW:
                # Most tasks have one trace, and share what they say with others.
                longer = (*held, gap)
                clusters[task] = alike.setdefault(longer, longer)
            else:
                clusters[task] = array("b", (*held, gap))
    counts = Counter(gap for held in clusters.values() for gap in held)
    test = mcnemar(counts[-1], counts[1])
    exact = None if test is None else test.exact_p
    difference = mean_difference(clusters)
    return Paired(counts.total(), counts[-1], counts[1], exact, difference)


def _settings(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Setting]:
    """Yield what differs in what decides, pins first; rows are compared by themselves."""
    for name in dict.fromkeys([*PLAN_FIRST, *sorted({*before, *after})]):
        if name not in ROWS_TELL and (name in before or name in after):
            yield from _differing(name, before.get(name, ABSENT), after.get(name, ABSENT))


def _differing(path: str, before: Any, after: Any) -> Iterator[Setting]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in sorted({*before, *after}):
            yield from _differing(
                f"{path}.{name}", before.get(name, ABSENT), after.get(name, ABSENT)
            )
    elif before is ABSENT or after is ABSENT or before != after:
        yield Setting(path, before, after)

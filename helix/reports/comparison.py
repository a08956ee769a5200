"""The composer of a comparison: what changed between two runs, cell by cell (METHOD 44, 68).

Cells are joined by trace id, repeat and criterion id. A row that was another question, its digest
being another, is marked and left out of the statistics; a trace that changed is still the same
task, so it is counted and told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

from helix.model.plan import Plan
from helix.model.scorecard import Scorecard
from helix.reports.run import CellView, RowView, row_views, trace_view, weight
from helix.runs import RunFiles
from helix.stats import Difference, mcnemar, paired_difference

Change = Literal[
    "broken", "newlyUncertain", "newlyDecided", "scope", "fixed", "cause", "wording", "same"
]
WORST_FIRST: Final[tuple[Change, ...]] = Change.__args__  # type: ignore[attr-defined]
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
Key = tuple[str, int]
ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class Setting:
    """A place of the plan that differs; a run that lacks it holds ABSENT."""

    path: str
    before: Any
    after: Any


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
        """Whether it fails now and did not, or passed or did not apply and is undecided now."""
        if self.after.state == self.before.state:
            return False
        return self.after.state in ("fail", "uncertain") and self.before.state != "fail"


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
    """One criterion of both runs; `other` says that it was another question."""

    row: RowView
    other: bool
    moved: tuple[Moved, ...]
    same: int
    paired: Paired | None


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
        found = Counter(moved.change for row in self.rows for moved in row.moved)
        found["same"] = sum(row.same for row in self.rows)
        return {change: found[change] for change in WORST_FIRST}

    @cached_property
    def worse(self) -> int:
        """How many cells got worse."""
        return sum(moved.worse for row in self.rows for moved in row.moved)

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

    def of(self, change: Change) -> list[tuple[RowChange, list[Moved]]]:
        """Return the rows that have cells of a change, the gravest row first, with those cells."""
        found = [(row, [m for m in row.moved if m.change == change]) for row in self.rows]
        return sorted(
            ((row, moved) for row, moved in found if moved), key=lambda pair: weight(pair[0].row)
        )


@dataclass(frozen=True, slots=True)
class _Side:
    """One run, read whole: its cells by trace and repeat, and each chosen trace's digest."""

    plan: Plan
    card: Scorecard
    cells: dict[Key, dict[str, CellView]]
    digests: dict[str, str]
    tasks: dict[str, str]

    @property
    def ids(self) -> list[str]:
        return list(dict.fromkeys(name for name, _ in self.cells))

    @property
    def names(self) -> list[str]:
        """The traces by name; a repeat that is not the first is one of its own."""
        return [f"{name} · repeat {at}" if at else name for name, at in self.cells]

    @property
    def rows(self) -> list[str]:
        return [row.criterion_id for row in self.card.criteria]


def compare(before: RunFiles, after: RunFiles) -> Comparison:
    """Return what changed from one finished run to another."""
    first, second = _read(before), _read(after)
    _fill(first, second)
    _fill(second, first)
    versions = [side.plan.decides.get("versions", {}) for side in (first, second)]
    rows, pairs = [], dict[str, list[tuple[bool, bool]]]()
    for view in row_views(second.card, ()):
        if view.id not in first.rows:
            continue
        other = versions[0].get(view.id) != versions[1].get(view.id)
        row, own = _row(view, first, second, other)
        rows.append(row)
        for task, found in own.items():
            pairs.setdefault(task, []).extend(() if other else found)
    both = set(first.ids) & set(second.ids)
    return Comparison(
        before=first.card,
        after=second.card,
        plan=tuple(_settings(first.plan.decides, second.plan.decides)),
        rows=tuple(rows),
        rows_added=_without(second.rows, first.rows),
        rows_removed=_without(first.rows, second.rows),
        traces=len(both),
        traces_added=_without(second.names, first.names),
        traces_removed=_without(first.names, second.names),
        traces_changed=tuple(
            name
            for name in second.ids
            if name in both and first.digests.get(name) != second.digests.get(name)
        ),
        overall=_paired({task: found for task, found in pairs.items() if found}),
    )


def _row(
    view: RowView, first: _Side, second: _Side, other: bool
) -> tuple[RowChange, dict[str, list[tuple[bool, bool]]]]:
    """Return what became of a criterion, and its pairs by task."""
    both = [
        (key, first.cells[key][view.id], cells[view.id])
        for key, cells in second.cells.items()
        if view.id in cells and view.id in first.cells.get(key, ())
    ]
    own: dict[str, list[tuple[bool, bool]]] = {}
    for (trace, _), before, after in both:
        if {before.state, after.state} <= {"pass", "fail"}:
            pair = (after.state == "pass", before.state == "pass")
            own.setdefault(second.tasks.get(trace, trace), []).append(pair)
    moved = [Moved(*key, _change(a, b), a, b) for key, a, b in both]
    apart = tuple(one for one in moved if one.change != "same")
    paired = None if other else _paired(own)
    return RowChange(view, other, apart, len(moved) - len(apart), paired), own


def _read(run: RunFiles) -> _Side:
    card = run.scorecard()
    rows = row_views(card, ())
    chosen = [entry for entry in run.manifest() if entry.selected]
    cells = {
        (line.trajectory_id, line.replicate): {
            cell.row.id: cell for cell in trace_view(0, line, rows, {}).cells
        }
        for line in run.lines()
    }
    return _Side(
        run.plan(),
        card,
        cells,
        {entry.id: entry.digest for entry in chosen},
        {entry.id: entry.task or entry.id for entry in chosen},
    )


def _fill(side: _Side, other: _Side) -> None:
    """Add the traces that were chosen and have no line: they wait or broke, so are undecided."""
    held = {name for name, _ in side.cells}
    rows = row_views(side.card, ())
    for name in side.digests:
        if name not in held:
            for key in [key for key in other.cells if key[0] == name] or [(name, 0)]:
                side.cells[key] = {row.id: _nobody(row) for row in rows}


def _without(names: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
    left = set(others)
    return tuple(name for name in names if name not in left)


def _nobody(row: RowView) -> CellView:
    return CellView(row, "uncertain", "incomplete", None, None, (), "the trace has no verdicts")


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


def _paired(clusters: Mapping[str, Sequence[tuple[bool, bool]]]) -> Paired:
    pairs = [pair for cluster in clusters.values() for pair in cluster]
    fixed = sum(after and not before for after, before in pairs)
    broken = sum(before and not after for after, before in pairs)
    test = mcnemar(broken, fixed)
    exact = None if test is None else test.exact_p
    return Paired(len(pairs), broken, fixed, exact, paired_difference(clusters))


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

"""The desk that a rater works at: which cells there are, what is labelled, what comes next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from helix.errors import LabelError
from helix.grounding import resolve_refs
from helix.labels.record import Cell, Label, Word
from helix.labels.store import Store
from helix.model.criterion import Criterion, RefSpec
from helix.model.trace import Trace
from helix.model.verdict import CellState, Ref

LONGEST_NOTE = 4000
MOST_REFS = 20


@dataclass(frozen=True, slots=True)
class Task:
    """One cell to label: its place in the order, its trace, its criterion."""

    at: int
    trace: Trace
    criterion: Criterion

    @property
    def cell(self) -> Cell:
        """The ids of both."""
        return Cell(self.trace.id, self.criterion.criterion_id)


@dataclass(frozen=True, slots=True)
class Judged:
    """What a run's judge said of a cell."""

    state: CellState
    critique: str | None


@dataclass(slots=True)
class Desk:
    """Everything that one rater's page shows and changes.

    `now` gives the time of a label. With `blind`, what the judge said is told only of cells that
    are labelled.
    """

    tasks: tuple[Task, ...]
    store: Store
    rater: str
    now: Callable[[], str]
    judged: Mapping[Cell, Judged] = field(default_factory=dict)
    blind: bool = True
    _done: list[tuple[int, Label | None]] = field(default_factory=list)

    @property
    def labelled(self) -> int:
        """How many of the cells have a label."""
        return len(self._labelled())

    def label_of(self, task: Task) -> Label | None:
        """Return the rater's label of a cell."""
        return self.store.labels.get(task.cell)

    def verdict_of(self, task: Task) -> Judged | None:
        """Return what the judge said, where it may be told."""
        if self.blind and self.label_of(task) is None:
            return None
        return self.judged.get(task.cell)

    def give(self, at: int, word: Word, refs: Sequence[RefSpec], note: str | None) -> int:
        """Keep a label and return the cell that comes next; LabelError where a ref is dead."""
        task = self.tasks[at]
        if note is not None and len(note) > LONGEST_NOTE:
            raise LabelError(f"a note must have at most {LONGEST_NOTE} characters")
        if len(refs) > MOST_REFS:
            raise LabelError(f"a label must have at most {MOST_REFS} pieces of evidence")
        for ref in refs:
            self.resolved(at, ref)
        before = self.label_of(task)
        label = Label(
            trace=task.cell.trace,
            criterion=task.cell.criterion,
            label=word,
            refs=tuple(refs),
            note=note or None,
            rater=self.rater,
            when=self.now(),
        )
        self.store.put(label)
        self._done.append((at, before))
        return self.next_open(at)

    def undo(self) -> tuple[int, Label] | None:
        """Take back the label that was given last; return its cell and what it said.

        What this session changed comes back as it was before; of an earlier session, the label
        that is last by its time is removed. None where there is no label.
        """
        at, before = self._done[-1] if self._done else (self._latest(), None)
        taken = None if at is None else self.label_of(self.tasks[at])
        if at is None or taken is None:
            return None
        if before is None:
            self.store.remove(taken.cell)
        else:
            self.store.put(before)
        self._done = self._done[:-1]
        return at, taken

    def _latest(self) -> int | None:
        given = [(self.store.labels[t.cell].when or "", t.at) for t in self._labelled()]
        return max(given)[1] if given else None

    def _labelled(self) -> list[Task]:
        return [task for task in self.tasks if task.cell in self.store.labels]

    def resolved(self, at: int, ref: RefSpec) -> Ref:
        """Return a piece of evidence with the way it matches; LabelError where it is dead."""
        plain = Ref(obs=ref.obs, path=ref.path, value=ref.value)
        (found,) = resolve_refs(self.tasks[at].trace, [plain], complete_channels=())
        if found.match == "dead":
            raise LabelError(f"this is no evidence: {found.note}")
        return found

    def next_open(self, at: int) -> int:
        """Return the next cell without a label, going round; the cell itself where all have one."""
        size = len(self.tasks)
        for step in range(1, size + 1):
            task = self.tasks[(at + step) % size]
            if self.label_of(task) is None:
                return task.at
        return at


def tasks(traces: Sequence[Trace], criteria: Sequence[Criterion]) -> tuple[Task, ...]:
    """Return the cells in the order in which they are labelled: trace by trace, row by row.

    A row of one route is asked of the traces that took it, and of those whose route is unknown.
    """
    pairs = [
        (trace, criterion)
        for trace in traces
        for criterion in criteria
        if criterion.route is None or trace.route is None or criterion.route == trace.route
    ]
    return tuple(Task(at, trace, criterion) for at, (trace, criterion) in enumerate(pairs))

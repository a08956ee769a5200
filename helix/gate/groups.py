"""The states of one criterion, grouped by task, in five bytes each."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Final, TypeVar, get_args

from helix.model.verdict import CellState

_STATES: Final[tuple[CellState, ...]] = get_args(CellState)
_ALONE: Final[dict[CellState, Sequence[CellState]]] = {state: (state,) for state in _STATES}
ByTask = dict[int, Sequence[CellState]]
Task = TypeVar("Task")
Made = TypeVar("Made")


class TaskNumbers:
    """A number for each task: equal for traces that share a named task, new for any other trace.

    `tasks` are the names, by trace, of the tasks that have one.
    """

    def __init__(self, tasks: Mapping[str, str]) -> None:
        self._tasks, self._traces = tasks, Counter(tasks.values())
        self._fresh, self._numbers = count(), dict[str, int]()

    def of(self, trace: str) -> int:
        """Return the number of a trace's task; each trace is asked for once."""
        task = self._tasks.get(trace)
        if task is None:
            return next(self._fresh)
        if task not in self._numbers:
            self._numbers[task] = next(self._fresh)
        return self._numbers[task]

    def named(self, trace: str) -> str | None:
        """Return the name of a trace's task."""
        return self._tasks.get(trace)

    def shared(self, trace: str) -> bool:
        """Whether another trace has the same task."""
        return self._traces[self._tasks.get(trace, "")] > 1


class Groups:
    """States in the order in which they came, each with the number of its task."""

    def __init__(self) -> None:
        self._tasks, self._states = array("I"), bytearray()

    def add(self, task: int, state: CellState) -> None:
        """Take in the state of one more trace of a task."""
        self._tasks.append(task)
        self._states.append(_STATES.index(state))

    def __bool__(self) -> bool:
        return bool(self._states)

    def __iter__(self) -> Iterator[tuple[int, CellState]]:
        return zip(self._tasks, map(_STATES.__getitem__, self._states), strict=True)


def grouped(*all_groups: Groups) -> ByTask:
    """Return the states by task, tasks in the order in which they first came."""
    found: ByTask = {}
    for groups in all_groups:
        for task, state in groups:
            held = found.get(task)
            if held is None:
                # Most tasks have one trace, and share what they say with others.
                found[task] = _ALONE[state]
            elif isinstance(held, list):
                held.append(state)
            else:
                found[task] = [*held, state]
    return found


def each(
    groups: Mapping[Task, Sequence[CellState]], of: Callable[[Sequence[CellState]], Made]
) -> dict[Task, Made]:
    """Return what `of` makes of each group of states; groups of one that say the same share it."""
    alone = {state: of(group) for state, group in _ALONE.items()}
    return {t: alone[group[0]] if len(group) == 1 else of(group) for t, group in groups.items()}

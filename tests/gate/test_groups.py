"""States that are packed come back as they were, by task, in the order in which they came."""

from __future__ import annotations

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from helix.gate.groups import Groups, TaskNumbers, each, grouped
from helix.model.verdict import CellState

PAIRS = st.lists(st.tuples(st.integers(0, 4), st.sampled_from(get_args(CellState))), max_size=12)


def packed(pairs: list[tuple[int, CellState]]) -> Groups:
    groups = Groups()
    for task, state in pairs:
        groups.add(task, state)
    return groups


@given(PAIRS, PAIRS)
def test_states_come_back_by_task_in_their_order(
    first: list[tuple[int, CellState]], second: list[tuple[int, CellState]]
) -> None:
    one, two = packed(first), packed(second)
    assert list(one) == first
    assert bool(one) is bool(first)
    wanted: dict[int, list[CellState]] = {}
    for task, state in first + second:
        wanted.setdefault(task, []).append(state)
    for _ in range(2):
        found = grouped(one, two)
        assert list(found) == list(wanted)
        assert {task: list(states) for task, states in found.items()} == wanted


@given(PAIRS)
def test_what_is_made_of_each_group_is_made_of_its_own_states(
    pairs: list[tuple[int, CellState]],
) -> None:
    groups = grouped(packed(pairs))
    assert each(groups, tuple) == {task: tuple(states) for task, states in groups.items()}


@given(st.lists(st.none() | st.sampled_from(["a", "b", "t0"]), max_size=8))
def test_traces_have_one_number_exactly_where_they_share_a_named_task(
    tasks: list[str | None],
) -> None:
    named = {f"t{at}": task for at, task in enumerate(tasks) if task is not None}
    numbers = TaskNumbers(named)
    found = [numbers.of(f"t{at}") for at in range(len(tasks))]
    for at, task in enumerate(tasks):
        same = [found[at] == other for other in found]
        assert same == [other == at or (task is not None and t == task)
                        for other, t in enumerate(tasks)]  # fmt: skip
        assert numbers.named(f"t{at}") == task
        assert numbers.shared(f"t{at}") is (task is not None and tasks.count(task) > 1)

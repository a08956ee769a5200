"""Tuples: all of them, or few that show every pair, whatever is there already."""

from __future__ import annotations

import itertools
import math

from hypothesis import given, settings
from hypothesis import strategies as st

from helix.build_dataset import tuples
from helix.build_dataset.tuples import templates
from helix.model.splits import split_of

sizes = st.lists(st.integers(1, 4), min_size=3, max_size=5)


def named(widths: list[int]) -> list[list[str]]:
    return [[f"{at}-{n}" for n in range(width)] for at, width in enumerate(widths)]


def pairs(one: tuple[str, ...]) -> set[tuple[str, str]]:
    return set(itertools.combinations(one, 2))


@settings(max_examples=40, deadline=None)
@given(sizes, st.integers(0, 3))
def test_every_pair_of_values_stands_together_in_few_tuples(widths: list[int], seed: int) -> None:
    values = named(widths)
    found = tuples(values, "pairwise", seed)
    wanted = {
        (x, y) for a, b in itertools.combinations(range(len(values)), 2)
        for x in values[a] for y in values[b]
    }  # fmt: skip
    assert set().union(*map(pairs, found)) == wanted
    assert len(set(found)) == len(found) <= math.prod(widths)
    assert found == tuples(values, "pairwise", seed)


def test_pairwise_is_far_fewer_than_all() -> None:
    values = named([4, 4, 4, 4])
    assert len(tuples(values, "all", 0)) == 256
    assert 16 <= len(tuples(values, "pairwise", 0)) <= 28


@settings(max_examples=20, deadline=None)
@given(sizes, st.integers(0, 3))
def test_pairs_that_are_there_are_not_asked_for_again(widths: list[int], seed: int) -> None:
    values = named(widths)
    whole = tuples(values, "pairwise", seed)
    assert tuples(values, "pairwise", seed + 1, shown=whole) == []
    grown = [*values[:-1], [*values[-1], "one more"]]
    more = tuples(grown, "pairwise", seed, shown=whole)
    assert all(one[-1] == "one more" for one in more)


def test_a_task_has_the_id_of_its_values_and_the_split_of_its_id() -> None:
    (first, second) = templates({"b": ["x", "y"], "a": ["z"]}, "all", 3)
    assert {first.id, second.id} == {
        task.id for task in templates({"a": ["z"], "b": ["y", "x"]}, "all", 3)
    }
    assert first.split == split_of(first.id, 3)
    assert templates({"a": ["z"], "b": ["x", "y"]}, "all", 3, [first]) == [second]

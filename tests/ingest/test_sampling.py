"""Samples: seeded, by id, whatever the order in which the traces stand."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.errors import ConfigError
from helix.ingest.sampling import (
    SAMPLERS,
    take_all,
    take_balanced,
    take_failing,
    take_outliers,
    take_random,
    take_stratified,
    take_uncertain,
)
from helix.model.manifest import ManifestEntry
from helix.model.verdict import Fidelity
from helix.registry import load


def entries(routes: list[str | None]) -> list[ManifestEntry]:
    return [
        ManifestEntry(
            ordinal=i, id=f"t{i}", digest="", file="f", line=i, format="helix", route=route,
            task=None, flags=(), fidelity=Fidelity(complete=True), observations=1, selected=True,
        )
        for i, route in enumerate(routes)
    ]  # fmt: skip


def test_the_built_in_strategies_are_registered() -> None:
    registered = load([]).items("samplers")
    assert sorted(registered) == [
        "all", "balanced", "failure-driven", "outlier", "random", "stratified", "uncertainty",
    ]  # fmt: skip
    assert {s.item for s in registered.values()} == set(SAMPLERS)


def test_all_takes_all_and_refuses_a_number_that_it_would_ignore() -> None:
    assert take_all(entries([None] * 4), None, 7) == [0, 1, 2, 3]
    with pytest.raises(ConfigError, match=r"sampling.n=2 needs sampling.strategy=random"):
        take_all(entries([None] * 4), 2, 7)


ROUTES = st.lists(st.sampled_from([None, "mail", "call", "chat"]), min_size=1, max_size=40)


@settings(max_examples=60)
@given(ROUTES, st.integers(0, 45), st.integers(0, 5), st.randoms(use_true_random=False))
def test_a_sample_has_its_size_and_does_not_depend_on_order(
    routes: list[str | None], n: int, seed: int, rng: object
) -> None:
    batch = entries(routes)
    shuffled = list(batch)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    for choose in (take_random, take_stratified):
        taken = choose(batch, n, seed)
        assert len(set(taken)) == len(taken) == min(n, len(batch))
        assert choose(shuffled, n, seed) == taken == sorted(taken)
        assert choose(batch, None, seed) == list(range(len(batch)))


@settings(max_examples=60)
@given(ROUTES, st.integers(0, 40), st.integers(0, 5))
def test_a_larger_random_sample_keeps_the_smaller_and_a_stratum_gets_its_share(
    routes: list[str | None], n: int, seed: int
) -> None:
    batch = entries(routes)
    assert set(take_random(batch, n, seed)) <= set(take_random(batch, n + 1, seed))
    wanted = min(n, len(batch))
    taken = Counter(routes[at] for at in take_stratified(batch, n, seed))
    for route, size in Counter(routes).items():
        exact = wanted * size / len(batch)
        assert exact - 1 < taken[route] < exact + 1


def test_seeds_draw_different_samples_and_every_trace_has_its_chance() -> None:
    batch = entries([None] * 12)
    drawn = Counter(at for seed in range(400) for at in take_random(batch, 3, seed))
    assert min(drawn.values()) > 60
    assert max(drawn.values()) < 140


def failing(marks: list[bool], steps: list[int]) -> list[ManifestEntry]:
    found = entries([None] * len(marks))
    return [
        msgspec.structs.replace(
            e, failures=int(bad), observations=n, flags=("truncated",) if bad else ()
        )
        for e, bad, n in zip(found, marks, steps, strict=True)
    ]


MARKS = st.lists(st.tuples(st.booleans(), st.integers(0, 9)), min_size=1, max_size=30)


@settings(max_examples=60)
@given(MARKS, st.integers(0, 35), st.integers(0, 3), st.randoms(use_true_random=False))
def test_a_guided_sample_has_its_size_takes_what_it_is_after_and_ignores_order(
    marks: list[tuple[bool, int]], n: int, seed: int, rng: object
) -> None:
    batch = failing([bad for bad, _ in marks], [steps for _, steps in marks])
    shuffled = list(batch)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    bad = sum(e.failures for e in batch)
    size = min(n, len(batch))
    for choose in (take_failing, take_outliers, take_uncertain, take_balanced):
        taken = choose(batch, n, seed)
        assert len(set(taken)) == len(taken) == size
        assert choose(shuffled, n, seed) == taken
    for choose in (take_failing, take_uncertain):
        assert sum(batch[at].failures for at in choose(batch, n, seed)) == min(bad, size)
    half = sum(batch[at].failures for at in take_balanced(batch, n, seed))
    assert half == max(size - (len(batch) - bad), min(size // 2, bad))


def test_outliers_are_those_far_from_the_median_in_either_direction() -> None:
    batch = failing([False] * 6, [10, 11, 0, 10, 200, 9])
    assert take_outliers(batch, 2, 0) == [2, 4]


def test_balanced_without_a_number_takes_as_many_of_the_larger_half_as_of_the_smaller() -> None:
    batch = failing([True, False, False, False, True, False], [1] * 6)
    taken = take_balanced(batch, None, 0)
    assert len(taken) == 4 and {0, 4} <= set(taken)
    assert take_balanced(failing([False] * 3, [1] * 3), None, 0) == [0, 1, 2]

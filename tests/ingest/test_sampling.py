"""Samples: seeded, by id, whatever the order in which the traces stand."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.errors import ConfigError
from helix.ingest.sampling import SAMPLERS, take_all, take_random, take_stratified
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
    assert list(registered) == ["all", "random", "stratified"]
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

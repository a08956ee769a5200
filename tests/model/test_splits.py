"""Splits: disjoint, seeded, stable, and of the sizes that were asked for."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from helix.model.splits import split_of


def test_parts_have_their_sizes() -> None:
    counts = Counter(split_of(f"trace-{n}", 0) for n in range(10_000))
    assert 1000 <= counts["train"] <= 2000
    assert 4000 <= counts["dev"] <= 4500
    assert 4000 <= counts["test"] <= 4500


@settings(max_examples=50, deadline=None)
@given(st.text(), st.integers())
def test_a_trace_stays_in_its_part_whatever_else_is_labelled(trace: str, seed: int) -> None:
    assert split_of(trace, seed) == split_of(trace, seed)


def test_another_seed_splits_otherwise() -> None:
    ids = [f"trace-{n}" for n in range(100)]
    assert [split_of(i, 0) for i in ids] != [split_of(i, 1) for i in ids]


def test_the_split_is_held_by_golden_values() -> None:
    parts = [split_of(trace, 0) for trace in ("a", "b", "c", "ä\ud800", "")]
    assert parts == ["dev", "dev", "test", "test", "dev"]

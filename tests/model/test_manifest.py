"""A manifest gives back what it was given, in little room, and is chosen from without a copy."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.model.lines import decode_line, encode_line
from helix.model.manifest import Manifest, ManifestEntry
from helix.model.verdict import Fidelity

TEXTS = st.text(st.characters(categories=["L", "N", "P", "Cs", "Zs"]), max_size=8)
ENTRIES = st.builds(
    ManifestEntry,
    ordinal=st.integers(0, 10**9),
    id=TEXTS,
    digest=TEXTS | st.sampled_from(["ab" * 32, "AB" * 32, "", "0"]),
    file=st.sampled_from(["a.jsonl", "b/é.jsonl"]),
    line=st.integers(0, 10**12),
    format=st.just("helix"),
    route=st.none() | TEXTS,
    task=st.none() | TEXTS,
    flags=st.lists(TEXTS, max_size=2).map(tuple),
    fidelity=st.builds(Fidelity, complete=st.booleans(), reason=st.none() | TEXTS),
    observations=st.integers(0, 10**6),
    selected=st.booleans(),
    failures=st.integers(0, 10**6),
    latency_ms=st.none() | st.floats(0, 10**12) | st.integers(0, 10**12),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(ENTRIES, max_size=6))
def test_it_gives_back_what_it_was_given(entries: list[ManifestEntry]) -> None:
    manifest = Manifest(entries)
    assert list(manifest) == entries
    assert list(map(encode_line, manifest)) == list(map(encode_line, entries))
    assert manifest[:] == tuple(entries)
    assert [manifest[at] for at in range(-len(entries), 0)] == entries
    assert manifest.chosen() == sum(entry.selected for entry in entries)
    assert manifest == Manifest(iter(entries))


@settings(max_examples=60, deadline=None)
@given(ENTRIES)
def test_a_line_that_is_read_and_written_again_is_the_same(entry: ManifestEntry) -> None:
    line = encode_line(entry)
    assert encode_line(decode_line(line, ManifestEntry)) == line


def made(count: int) -> Iterator[ManifestEntry]:
    return (
        ManifestEntry(
            ordinal=at, id=f"made-up-{at:06d}", digest=f"{at:064x}", file="traces.jsonl",
            line=at + 1, format="helix", route=None, task=None, flags=(),
            fidelity=Fidelity(complete=True), observations=2, selected=False,
        )
        for at in range(count)
    )  # fmt: skip


def test_choosing_marks_those_and_no_other_and_leaves_the_first_as_it_was() -> None:
    manifest = Manifest(made(5))
    chosen = manifest.choosing([1, 4])
    assert [entry.ordinal for entry in chosen if entry.selected] == [1, 4]
    assert chosen.choosing([0]).chosen() == 1
    assert (manifest.chosen(), chosen.chosen()) == (0, 2)


def test_an_entry_that_is_not_there_is_an_index_error() -> None:
    with pytest.raises(IndexError):
        Manifest(made(2))[2]


def test_an_entry_takes_less_than_a_hundred_bytes() -> None:
    tracemalloc.start()
    try:
        manifest = Manifest(made(5_000))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held / len(manifest) < 100


@settings(max_examples=40, deadline=None)
@given(st.lists(ENTRIES, max_size=8, unique_by=lambda entry: entry.id), TEXTS)
def test_a_trace_is_found_by_its_id_and_no_other(entries: list[ManifestEntry], other: str) -> None:
    manifest = Manifest(entries)
    assert [manifest.find(entry.id) for entry in entries] == entries
    known = {entry.id: entry for entry in entries}
    assert manifest.find(other) == known.get(other)


def test_what_was_added_after_a_look_is_found_too() -> None:
    first, second = made(2)
    manifest = Manifest([first])
    assert manifest.find(second.id) is None
    manifest.append(second)
    assert manifest.find(second.id) == second

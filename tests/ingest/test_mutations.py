"""Samples with parts replaced or taken away: a trace or a counted failure, never a crash.

Every change comes from a seeded generator, so that a failure can be had again. What a trace is
made of is written too: both writers and the tree succeed, and canonical lines stay the same.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from leaves import documents
from reading_of import read_bytes
from samples import SAMPLES, TRACES

from helix.ingest import from_dict
from helix.ingest.writing import WRITERS, canonical_line
from helix.reports.tree import render_tree

ROUNDS = 20
SMALL = 40_000
JUNK: list[Any] = [
    None, True, 0, -1, 1.5, 10**30, "", "text", "{", "[1]", "\ud800", "\x00\x1b[2J", "9" * 30,
    [], [[]], [None], ["x"], {}, {"a": 1}, {"type": "text"}, {"type": []}, [{"type": {}}],
]  # fmt: skip
SMALLEST = {
    formats[0]: min(
        (
            p
            for p, f in SAMPLES.items()
            if f == formats and p.endswith((".json", ".jsonl", ".traj"))
        ),
        key=lambda p: abs((TRACES / p).stat().st_size - SMALL),
        default=None,
    )
    for formats in SAMPLES.values()
}


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of a value, the first few elements of each list."""
    if at:
        yield at
    inside = value.items() if isinstance(value, dict) else ()
    inside = enumerate(value[:6]) if isinstance(value, list) else inside
    for key, below in inside:
        yield from places(below, (*at, key))


def change(value: Any, at: tuple[Any, ...], chance: random.Random) -> None:
    """Replace or take away what stands at a path, if it still does."""
    for step in at[:-1]:
        if not isinstance(value, dict | list) or not _has(value, step):
            return
        value = value[step]
    if not _has(value, at[-1]):
        return
    if chance.random() < 0.2:
        del value[at[-1]]
    else:
        value[at[-1]] = copy.deepcopy(chance.choice(JUNK))


def _has(value: Any, step: Any) -> bool:
    if isinstance(value, dict):
        return step in value
    return isinstance(value, list) and isinstance(step, int) and step < len(value)


@pytest.mark.parametrize("name", [name for name, path in SMALLEST.items() if path])
def test_a_changed_sample_is_read_or_refused_and_never_crashes(name: str, tmp_path: Path) -> None:
    lines = [document for document, _ in documents(TRACES / str(SMALLEST[name]))][:6]
    spots = list(places(lines))
    chance = random.Random(name)
    for _ in range(ROUNDS):
        changed = copy.deepcopy(lines)
        for at in chance.choices(spots, k=chance.choice((1, 1, 2, 5))):
            change(changed, at, chance)
        data = "\n".join(map(json.dumps, changed)).encode()
        traces, failures = read_bytes(data, tmp_path, "changed.jsonl", format=name)
        assert [f.reason for f in failures if "cannot read it" in f.reason] == []
        for trace in traces:
            line = canonical_line(trace)
            again = canonical_line(from_dict(json.loads(line), trace.source))
            assert again == line, changed
            assert WRITERS["otel"](trace)
            assert not set(render_tree(trace, 80)) & set("\x00\x1b\ud800")

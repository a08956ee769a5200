"""Damaged copies of the provider and session samples: every record read, or told as a failure."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from evidence_of import lost, values
from reading_of import registry

from helix.errors import HelixError
from helix.ingest import Input
from helix.model.trace import Trace

ROUNDS = 120
LARGEST = 60_000
FOLDERS = ("claude_code_sessions", "codex_rollouts", "provider_api_items")
VALUES: tuple[Any, ...] = (
    None, True, 1, 1.5, "", "x", [], {}, [1], ["x"], [None], [{}], {"a": 1}, {"type": "text"},
)  # fmt: skip


def samples(shared: Path, folder: str) -> list[Path]:
    found = sorted((shared / "traces" / folder).rglob("*.json*"))
    return [path for path in found if path.stat().st_size <= LARGEST]


def read(data: bytes, folder: Path) -> tuple[list[Any], str]:
    """Return what came of the bytes, and the words of every failure."""
    path = folder / "damaged.jsonl"
    path.write_bytes(data)
    items: list[Any] = []
    told = ""
    try:
        items = list(Input.open(str(path), "auto", FORMATS))
    except HelixError as error:
        told = str(error)
    traces = [item for item in items if isinstance(item, Trace)]
    for trace in traces:
        json.dumps(trace.to_dict())
    return items, told + " ".join(i.reason for i in items if not isinstance(i, Trace))


FORMATS = registry()


@pytest.mark.parametrize("folder", FOLDERS)
def test_damaged_bytes_are_told_and_never_a_crash(
    folder: str, shared: Path, tmp_path: Path
) -> None:
    chance = random.Random(folder)
    paths = samples(shared, folder)
    for _ in range(ROUNDS):
        data = bytearray(chance.choice(paths).read_bytes())
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(data))
            data[at : at + chance.randint(0, 3)] = bytes(
                chance.choices(b'{}[]",:0nft\\e', k=chance.randint(0, 3))
            )
        _, told = read(bytes(data), tmp_path)
        assert "cannot read it" not in told
        assert "could not look" not in told


@pytest.mark.parametrize("folder", FOLDERS)
def test_values_of_another_kind_are_told_and_what_is_read_is_whole(
    folder: str, shared: Path, tmp_path: Path
) -> None:
    chance = random.Random(folder)
    paths = samples(shared, folder)
    for _ in range(ROUNDS):
        records = values(chance.choice(paths))
        for record in records:
            swap(record, chance)
        items, told = read(b"\n".join(json.dumps(r).encode() for r in records), tmp_path)
        assert "cannot read it" not in told
        assert "could not look" not in told
        if items and all(isinstance(item, Trace) for item in items):
            assert lost(records, items) - {"assistant"} == set()


def swap(value: Any, chance: random.Random) -> None:
    """Put a value of any kind in the place of one somewhere inside."""
    while isinstance(value, dict | list) and value:
        key: Any = chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
        if not isinstance(value[key], dict | list) or chance.random() < 0.3:
            value[key] = chance.choice(VALUES)
            return
        value = value[key]

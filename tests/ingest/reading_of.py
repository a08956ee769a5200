"""Reading bytes as a run would: written to a file, found, detected, read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from helix.ingest import Input
from helix.model.manifest import LoadFailure
from helix.model.trace import Trace
from helix.registry import Format, Registry, load


def registry(*formats: Format) -> Registry:
    """The built-in formats and those of a test."""
    made = load([])
    for item in formats:
        made.add("formats", item, "tests")
    return made


def read_paths(
    paths: Any, *formats: Format, format: str = "auto"
) -> tuple[list[Trace], list[LoadFailure]]:
    """Return the traces and the failures of an input."""
    items = list(Input.open(paths, format, registry(*formats)))
    return (
        [item for item in items if isinstance(item, Trace)],
        [item for item in items if isinstance(item, LoadFailure)],
    )


def read_bytes(
    data: bytes, folder: Path, name: str = "traces.jsonl", *formats: Format, format: str = "auto"
) -> tuple[list[Trace], list[LoadFailure]]:
    """Return the traces and failures of a folder that holds one file with these bytes."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    return read_paths(str(folder), *formats, format=format)


def read_value(value: Any, folder: Path, format: str = "auto") -> Trace:
    """Return the one trace that a JSON document holds."""
    traces, failures = read_bytes(json.dumps(value).encode(), folder, "trace.json", format=format)
    assert failures == []
    assert len(traces) == 1
    return traces[0]

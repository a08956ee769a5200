"""Every sample's traces, written and read back: canonical JSON Lines, and OTel GenAI spans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from reading_of import read_bytes
from samples import SAMPLES, loaded

from helix.ingest.writing import WRITERS, canonical_line
from helix.model.trace import Trace

READABLE = [path for path in SAMPLES if "no-samples" not in path]


def again(traces: tuple[Trace, ...], folder: Path, to: str) -> list[Trace]:
    """The traces as they are read from what was written."""
    data = b"".join(WRITERS[to](trace) + b"\n" for trace in traces)
    read, failures = read_bytes(data, folder, f"{to}.jsonl")
    assert failures == []
    return read


@pytest.mark.parametrize("path", READABLE)
def test_canonical_lines_read_back_to_the_same_bytes(path: str, tmp_path: Path) -> None:
    traces, _ = loaded(path)
    read = again(traces, tmp_path, "helix")
    assert {trace.source.format for trace in read} == {"helix"}
    for before, after in zip(traces, read, strict=True):
        assert canonical_line(after) == canonical_line(before)
        assert after.all_flags == before.all_flags
        assert after.labels == before.labels


def told(trace: Trace) -> dict[str, Any]:
    """All of a trace but raw and labels, which are not exported."""
    record = trace.to_dict()
    return {key: value for key, value in record.items() if key not in ("raw", "labels")}


@pytest.mark.parametrize("path", READABLE)
def test_an_otel_export_reads_back_to_the_same_trace(path: str, tmp_path: Path) -> None:
    traces, _ = loaded(path)
    read = again(traces, tmp_path, "otel")
    assert {trace.source.format for trace in read} == {"otel_genai"}
    for before, after in zip(traces, read, strict=True):
        assert told(after) == told(before)


@pytest.mark.parametrize("path", READABLE)
def test_the_conventions_alone_tell_tools_arguments_results_errors_and_order(
    path: str, tmp_path: Path
) -> None:
    traces, _ = loaded(path)
    lines = []
    for trace in traces:
        document = json.loads(WRITERS["otel"](trace))
        spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
        for span in spans:
            kept = [a for a in span["attributes"] if not a["key"].startswith("helix.")]
            span["attributes"] = kept
        lines.append(json.dumps(document))
    read, failures = read_bytes("\n".join(lines).encode(), tmp_path)
    assert failures == []
    for before, after in zip(traces, read, strict=True):
        wanted = [(o.name, o.input, o.output, o.error) for o in before.tools()]
        found = [(o.name, o.input, o.output, o.error) for o in after.tools()]
        starts = [o.start_time for o in before.observations if o.start_time is not None]
        if starts != sorted(starts):
            # The recorded times contradict the order, and the conventions know times alone.
            wanted, found = sorted(wanted, key=repr), sorted(found, key=repr)
        assert found == wanted

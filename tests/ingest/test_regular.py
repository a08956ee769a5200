"""Regular records are read from their bytes to the same traces as by the careful reader."""

from __future__ import annotations

import json
from typing import Any

import pytest

from helix.ingest.canonical import from_dict
from helix.ingest.regular import regular, trace_of
from helix.model.trace import Source

SOURCE = Source("made", 1, "helix", "0" * 64)


def record(**changes: Any) -> dict[str, Any]:
    """A record in which nothing is to be repaired."""
    said = {"id": "m0", "seq": 0, "role": "user", "text": "Zoë?", "observationIds": ["c1"]}
    call = {"id": "c1", "seq": 1, "type": "TOOL", "name": "look", "input": {"at": 2**70}}
    return {
        "schemaVersion": "1.0",
        "id": "t",
        "observations": [{**call, "output": '{"found": [1]}', **changes.pop("call", {})}],
        "transcript": [{**said, **changes.pop("said", {})}],
        **changes,
    }


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"call": {"output": ""}},
        {"call": {"output": None}},
        {"call": {"output": None, "outputText": "none"}},
        {"call": {"output": {"a": [1.5, None]}, "outputText": '{"a": [1.5, null]}'}},
        {"call": {"output": 7}},
        {"call": {"inputText": '{"at": 1}'}},
        {"call": {"parentId": "m0", "startTime": 5, "endTime": 6, "flags": ["x", "x"]}},
        {"call": {"type": "SPAN", "input": None, "error": "gone", "status": "error"}},
        {"call": {"type": "SPAN", "input": "text"}},
        {"call": {"seq": 0}, "said": {"seq": 3, "control": True}},
        {"flags": ["truncated"], "labels": {"reward": 1}, "raw": {"k": 1}, "task": "7"},
        {"route": "r", "usage": {"costUsd": 0.5}, "metadata": {"k": None}},
        {"observations": [], "transcript": [], "input": "hold", "output": None},
    ],
)
def test_a_regular_record_gives_the_trace_that_the_careful_reader_gives(
    changes: dict[str, Any],
) -> None:
    data = json.dumps(record(**changes)).encode()
    found = regular(data)
    assert found is not None
    trace, careful = trace_of(found, SOURCE), from_dict(json.loads(data), SOURCE)
    assert trace.to_dict() == careful.to_dict()
    assert (trace.labels, trace.raw, trace.task) == (careful.labels, careful.raw, careful.task)
    pairs = zip(trace.observations, careful.observations, strict=True)
    assert all(one.undecoded == other.undecoded for one, other in pairs)


@pytest.mark.parametrize(
    "changes",
    [
        {"id": " t"},
        {"id": "c1"},
        {"id": 7},
        {"strange": 1},
        {"schemaVersion": "2.0"},
        {"task": " "},
        {"call": {"id": "m0"}},
        {"call": {"seq": 0}},
        {"call": {"seq": 1.0}},
        {"call": {"seq": None}},
        {"call": {"type": ""}},
        {"call": {"parentId": "nobody"}},
        {"call": {"parentId": "c1"}},
        {"call": {"input": '{"at": 1}'}},
        {"call": {"input": None}},
        {"call": {"type": "SPAN", "input": None, "inputText": "{}"}},
        {"call": {"error": {"message": "gone"}}},
        {"call": {"output": float("nan")}},
        {"said": {"text": "\ud800"}},
        {"said": {"text": None}},
    ],
)
def test_what_has_to_be_repaired_or_flagged_is_not_regular(changes: dict[str, Any]) -> None:
    assert regular(json.dumps(record(**changes)).encode()) is None

"""A path reads one thing wherever it starts: what was not recorded is missing, not null."""

from __future__ import annotations

from typing import Any

import pytest

from helix.fieldpath import MISSING, parse
from helix.model.select import at_address, select
from helix.model.trace import Observation, Source, Trace


def trace_with(**result: Any) -> Trace:
    held = Observation("o1", 1, "status", input={"loan": "L-204"}, **result)
    return Trace(id="t1", source=Source("t1.json", 0, "helix", "0" * 64), observations=[held])


@pytest.mark.parametrize(
    "path", ["obs:status.output", "observations[0].output", "observations[*].output"]
)
@pytest.mark.parametrize(
    ("result", "found"),
    [
        ({}, MISSING),
        ({"output": None}, MISSING),
        ({"output_text": ""}, {"text": ""}),
        ({"output": {}}, {}),
    ],
)
def test_a_result_that_was_not_recorded_is_missing_from_every_start(
    path: str, result: dict[str, Any], found: Any
) -> None:
    trace = trace_with(**result)
    assert [place.value for place in select(trace, parse(path))] == [found]
    assert at_address(trace, "o1", "output") == found
    assert at_address(trace, "t1", "observations[0].output") == found
    assert ("output" in trace.part("observations")[0]) == (found is not MISSING)


def test_canonical_jsonl_still_says_that_there_was_no_result() -> None:
    assert trace_with().to_dict()["observations"][0]["output"] is None

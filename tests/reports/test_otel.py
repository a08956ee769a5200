"""otel.jsonl holds evaluation events in OTLP's JSON form, tied to spans where there were any."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

import msgspec
import pytest

from helix.model.verdict import Ref
from tests.reports import runs, sample
from tests.reports.test_formats import IDS, hostile_lines

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
VALUES = {"stringValue": str, "boolValue": bool, "intValue": str, "doubleValue": float}


def records(of: runs.RunStream) -> list[dict[str, Any]]:
    """Return every log record, each line checked against OTLP's JSON form."""
    found = []
    for line in runs.written("otel", of).splitlines():
        request = json.loads(line, parse_constant=pytest.fail)
        assert set(request) == {"resourceLogs"}
        for resource in request["resourceLogs"]:
            assert set(resource) == {"resource", "scopeLogs"}
            for logs in resource["scopeLogs"]:
                assert set(logs) == {"scope", "logRecords"}
                found += logs["logRecords"]
    for record in found:
        for one in record["attributes"]:
            ((kind, value),) = one["value"].items()
            assert type(value) is VALUES[kind]
        keys = [one["key"] for one in record["attributes"]]
        assert len(keys) == len(set(keys))
    return found


def test_every_cell_is_an_event_of_the_semantic_conventions() -> None:
    found = records(runs.run())
    assert {record["eventName"] for record in found} == {"gen_ai.evaluation.result"}
    for record in found:
        said = runs.attributes(record)
        label, score = said["gen_ai.evaluation.score.label"], "gen_ai.evaluation.score.value"
        assert said.get(score) == {"pass": 1.0, "fail": 0.0}.get(label)
        assert said["gen_ai.evaluation.name"] and said["gen_ai.evaluation.explanation"]


def test_only_what_broke_is_an_error_type() -> None:
    said = [runs.attributes(record) for record in records(runs.run())]
    types = {one["helix.cause"]: one.get("error.type") for one in said if "helix.cause" in one}
    assert types == {"truncated": "truncated", "unavailable": "unavailable", "unbound-term": None}


@pytest.mark.parametrize(
    ("trace", "obs", "ids"),
    [
        (TRACE, SPAN, {"traceId": TRACE, "spanId": SPAN}),
        (TRACE, "call_1", {"traceId": TRACE}),
        ("outreach-1", SPAN, {}),
        (TRACE, "0" * 16, {"traceId": TRACE}),
        ("0" * 32, SPAN, {}),
        (TRACE.upper(), SPAN, {}),
    ],
)
def test_an_event_hangs_on_the_span_that_its_evidence_cites(
    trace: str, obs: str, ids: dict[str, str]
) -> None:
    line = sample.line(0)
    ref = Ref(obs=obs, path="output.a", value="x", match="exact")
    verdict = msgspec.structs.replace(line.verdicts[0], refs=(ref,))
    line = msgspec.structs.replace(
        line,
        trajectory_id=trace,
        verdicts=(verdict,),
        not_applicable=(),
        not_adjudicated={},
        dense_map={verdict.criterion_id: verdict.result},
    )
    (record,) = records(runs.run(1, [line]))
    assert {key: record[key] for key in ("traceId", "spanId") if key in record} == ids


def test_the_time_is_the_runs_start_or_is_left_out() -> None:
    of = runs.run(1)
    assert "timeUnixNano" not in records(of)[0]
    meta = dataclasses.replace(of.meta, started_at="2031-01-01T00:00:00+00:00")
    record = records(runs.replaced(of, meta=meta))[0]
    assert record["timeUnixNano"] == record["observedTimeUnixNano"] == "1924992000000000000"


def test_hostile_text_stays_inside_its_value() -> None:
    found = records(runs.run(len(IDS), hostile_lines()))
    assert len(found) == sum(len(line.dense_map) for line in hostile_lines())
    assert not any(re.search("[\x1b\u202e]", json.dumps(r, ensure_ascii=False)) for r in found)

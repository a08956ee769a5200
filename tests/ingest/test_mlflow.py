"""MLflow traces, from fixtures: there is no real sample yet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from reading_of import read_bytes, read_value

from helix.model.trace import Trace


def span(name: str, kind: str, inputs: Any, outputs: Any, **fields: Any) -> dict[str, Any]:
    held = {"mlflow.spanType": kind, "mlflow.spanInputs": inputs, "mlflow.spanOutputs": outputs}
    held.update(fields.pop("held", {}))
    start = fields.pop("start", 1_767_225_600_000_000_000)
    return {
        "trace_id": "q6hTqvHSgjA3cQ==",
        "span_id": fields.pop("id", f"{name}Q=="),
        "parent_span_id": fields.pop("parent", ""),
        "name": name,
        "start_time_unix_nano": start,
        "end_time_unix_nano": start + 5,
        "status": {"code": "STATUS_CODE_OK", "message": ""},
        "attributes": {k: json.dumps(v) for k, v in held.items() if v is not None},
        "events": [],
        **fields,
    }


def document(*spans: dict[str, Any], **info: Any) -> dict[str, Any]:
    told = {
        "trace_id": "tr-1",
        "request_time": "2026-01-01T00:00:00Z",
        "state": "OK",
        "execution_duration_ms": 12,
        "tags": {"mlflow.traceName": "agent", "team": "blue"},
    }
    return {"info": {**told, **info}, "data": {"spans": list(spans)}}


CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
HEARD = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Add."}]


def reply(**fields: Any) -> dict[str, Any]:
    return {"id": "cmpl-123", "choices": [{"message": {"role": "assistant", **fields}}]}


def agent_run() -> list[dict[str, Any]]:
    base = 1_767_225_600_000_000_000
    told = [*HEARD, {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "2"}]  # fmt: skip
    usage = {"mlflow.chat.tokenUsage": {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}}
    return [
        span("agent", "AGENT", {"question": "Add."}, "Two.", start=base),
        span("first", "CHAT_MODEL", {"messages": HEARD, "model": "model-x1"},
             reply(content=None, tool_calls=[CALL]), start=base + 1, parent="agentQ==", held=usage),
        span("add", "TOOL", {"a": 1}, "2", start=base + 2, parent="agentQ=="),
        span("second", "CHAT_MODEL", {"messages": told}, reply(content="Two."), start=base + 3,
             parent="agentQ==", held=usage),
    ]  # fmt: skip


def transcript(trace: Trace) -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in trace.transcript]


def test_a_run_is_read_once(tmp_path: Path) -> None:
    trace = read_value(document(*agent_run()), tmp_path)
    assert (trace.id, trace.source.format) == ("tr-1", "mlflow")
    assert [(o.id, o.type) for o in trace.observations] == [
        ("agentQ==", "AGENT"), ("firstQ==", "GENERATION"), ("addQ==", "TOOL"),
        ("secondQ==", "GENERATION"),
    ]  # fmt: skip
    assert transcript(trace) == [
        ("system", "Be kind."), ("user", "Add."), ("assistant", ""), ("assistant", "Two."),
    ]  # fmt: skip
    (call,) = trace.tools()
    assert (call.input, call.output_text, call.parent_id) == ({"a": 1}, "2", "agentQ==")
    assert call.flags == ("paired-by-position",)
    assert trace.observations[0].input == {"question": "Add."}
    assert trace.observations[0].output_text == "Two."
    assert trace.usage["promptTokens"] == 10
    assert trace.output == {"response": "Two."}


def test_nothing_beside_the_messages_is_lost(tmp_path: Path) -> None:
    trace = read_value(document(*agent_run()), tmp_path)
    kept = json.dumps(trace.to_dict())
    for text in ("model-x1", "cmpl-123", "tr-1", "blue", "2026-01-01T00:00:00Z"):
        assert text in kept


def test_assessments_are_labels(tmp_path: Path) -> None:
    judged = [{"assessment_name": "correct", "feedback": {"value": False},
               "rationale": "SNOWGOLD"}]  # fmt: skip
    trace = read_value(document(*agent_run(), assessments=judged), tmp_path)
    assert trace.labels["info"]["assessments"] == judged
    assert "SNOWGOLD" not in json.dumps({**trace.to_dict(), "labels": None})
    assert trace.metadata == {"team": "blue"}


@pytest.mark.parametrize(
    ("status", "error"),
    [
        ({"code": "STATUS_CODE_ERROR", "message": "no such order"}, "no such order"),
        ({"code": "ERROR", "message": ""}, "error"),
        ({"code": "STATUS_CODE_UNSET", "message": ""}, None),
    ],
)
def test_a_status_declares_an_error(tmp_path: Path, status: Any, error: str | None) -> None:
    trace = read_value(document(span("add", "TOOL", {"a": 1}, None, status=status)), tmp_path)
    (call,) = trace.tools()
    assert call.error == error
    assert call.flags == (() if error else ("missing-result",))


def test_an_older_trace_is_read(tmp_path: Path) -> None:
    one = {
        "name": "add",
        "context": {"trace_id": "0xab", "span_id": "0x1"},
        "parent_id": None,
        "start_time": 1_700_000_000_000_000_000,
        "end_time": 1_700_000_001_000_000_000,
        "status_code": "ERROR",
        "status_message": "late",
        "attributes": {"mlflow.spanType": '"TOOL"', "mlflow.spanInputs": '{"a": 1}'},
        "events": [],
    }
    old = {"info": {"request_id": "r1", "timestamp_ms": 1, "status": "ERROR"},
           "data": {"spans": [one], "request": '{"a": 1}', "response": "whatever"}}  # fmt: skip
    trace = read_value(old, tmp_path)
    (call,) = trace.tools()
    assert (trace.id, call.id, call.error, call.input) == ("r1", "0x1", "late", {"a": 1})
    assert trace.raw["data"] == {"request": '{"a": 1}', "response": "whatever"}


def test_an_unfinished_trace_is_marked_and_several_are_read_a_line(tmp_path: Path) -> None:
    lines = [document(*agent_run()), document(*agent_run(), trace_id="tr-2", state="IN_PROGRESS")]
    data = "\n".join(json.dumps(line) for line in lines).encode()
    found, failures = read_bytes(data, tmp_path)
    assert failures == []
    assert [(t.id, t.flags) for t in found] == [("tr-1", ()), ("tr-2", ("truncated",))]


@pytest.mark.parametrize(
    "spoiled",
    [
        {"info": {"trace_id": "x"}, "data": {"spans": [None]}},
        {"info": {"trace_id": "x"}, "data": {"spans": 3}},
        {"info": {"trace_id": "x"}, "data": None},
        {"info": [], "data": {"spans": []}},
    ],
)
def test_a_spoiled_record_is_a_failure_and_stops_no_other(tmp_path: Path, spoiled: Any) -> None:
    lines = [document(*agent_run()), spoiled]
    found, failures = read_bytes("\n".join(map(json.dumps, lines)).encode(), tmp_path)
    assert (len(found), len(failures)) == (1, 1)
    assert failures[0].line == 2


@pytest.mark.parametrize(
    "held",
    [
        {"mlflow.spanType": "TOOL"}, {"mlflow.spanInputs": "{broken"},
        {"mlflow.spanOutputs": "NaN"}, {"mlflow.chat.tokenUsage": '"many"'}, {"other": "[1"},
    ],
)  # fmt: skip
def test_attributes_that_are_no_json_stay_text(tmp_path: Path, held: dict[str, Any]) -> None:
    one = span("odd", "LLM", None, None)
    one["attributes"].update(held)
    trace = read_value(document(one), tmp_path)
    assert len(trace.observations) == 1

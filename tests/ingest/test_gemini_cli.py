"""Gemini CLI sessions: recorded ones counted again from their JSON, and made ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from evidence_of import lost, values
from reading_of import read_bytes, read_paths, read_value

from helix.ingest import from_dict
from helix.model.trace import Trace

FOLDER = "traces/codex_rollouts/gemini_cli"
# file: (messages, tool calls, declared errors)
SAMPLES = {
    "session-2025-10-27T19-55-981c87cb.json": (18, 13, 2),
    "session-2025-10-29T10-36-453aa339.json": (5, 3, 0),
    "session-2025-10-29T10-36-9c9a14e1.json": (3, 1, 0),
    "session-2025-10-29T10-36-f96c76b0.json": (3, 1, 0),
}


def sample(shared: Path, name: str) -> tuple[dict[str, Any], Trace]:
    path = shared / FOLDER / name
    traces, failures = read_paths(str(path))
    assert failures == []
    assert len(traces) == 1
    return values(path)[0], traces[0]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_session_has_what_the_table_says(shared: Path, name: str) -> None:
    _, trace = sample(shared, name)
    messages, tools, errors = SAMPLES[name]
    assert trace.source.format == "gemini_cli"
    assert len(trace.transcript) == messages
    assert len(trace.observations) == len(trace.tools()) == tools
    assert sum(o.error is not None for o in trace.observations) == errors
    assert trace.all_flags == ()


@pytest.mark.parametrize("name", SAMPLES)
def test_calls_results_texts_and_tokens_are_those_of_the_json(shared: Path, name: str) -> None:
    session, trace = sample(shared, name)
    messages = session["messages"]
    calls = [call for message in messages for call in message.get("toolCalls", ())]
    assert trace.id == session["sessionId"]
    assert [(m.id, m.text) for m in trace.transcript] == [(m["id"], m["content"]) for m in messages]
    assert [(o.id, o.name, o.input, o.status) for o in trace.observations] == [
        (call["id"], call["name"], call["args"], call["status"]) for call in calls
    ]
    for call, observation in zip(calls, trace.observations, strict=True):
        (part,) = call["result"]
        response = part["functionResponse"]["response"]
        assert observation.output_text == response.get("output")
        assert observation.error == response.get("error")
        assert observation.end_time is not None
        assert observation.start_time is not None
        assert observation.end_time >= observation.start_time
    tokens = [message["tokens"] for message in messages if message["type"] == "gemini"]
    assert trace.usage["promptTokens"] == sum(t["input"] for t in tokens)
    assert trace.usage["completionTokens"] == sum(t["output"] + t["thoughts"] for t in tokens)


@pytest.mark.parametrize("name", SAMPLES)
def test_nothing_of_a_session_is_lost(shared: Path, name: str) -> None:
    session, trace = sample(shared, name)
    assert lost(session, [trace]) == set()
    record = json.loads(json.dumps(trace.to_dict()))
    assert from_dict(record, trace.source).to_dict() == record


def session(*messages: Any) -> dict[str, Any]:
    return {"sessionId": "s1", "projectHash": "abc", "messages": list(messages)}


def acted(**call: Any) -> dict[str, Any]:
    made = {"id": "c1", "name": "look", "args": {}, **call}
    return {"id": "a1", "type": "gemini", "content": "", "toolCalls": [made]}


def came(response: Any, *more: Any) -> list[Any]:
    return [{"functionResponse": {"id": "c1", "name": "look", "response": response}}, *more]


@pytest.mark.parametrize(
    ("call", "output", "error", "status", "flags"),
    [
        ({"status": "success", "result": came({"output": "x"})},
         {"text": "x"}, None, "success", ()),
        ({"status": "success", "result": came({"output": '{"a": 1}'})},
         {"a": 1}, None, "success", ()),
        ({"status": "success", "result": came({"n": 1})}, {"n": 1}, None, "success", ()),
        ({"status": "error", "result": came({"error": "bad"})},
         {"error": "bad"}, "bad", "error", ()),
        ({"status": "error", "resultDisplay": "shown"}, None, "shown", "error", ()),
        ({"status": "cancelled", "result": came({"error": "stopped"})},
         {"error": "stopped"}, "stopped", "cancelled", ()),
        ({"status": "executing"}, None, None, None, ("missing-result",)),
        ({}, None, None, None, ("missing-result",)),
        ({"status": "success", "result": "plain"}, {"text": "plain"}, None, "success", ()),
    ],
)  # fmt: skip
def test_what_a_call_declares_is_its_error_and_status(
    call: dict[str, Any], output: Any, error: str | None, status: str | None,
    flags: tuple[str, ...], tmp_path: Path,
) -> None:  # fmt: skip
    trace = read_value(session(acted(**call)), tmp_path)
    (done,) = trace.observations
    assert (done.output, done.error, done.status, done.flags) == (output, error, status, flags)
    assert lost(call, [trace]) == set()


def test_what_stands_beside_a_function_response_is_kept(tmp_path: Path) -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "AAAABBBBCCCC"}}
    value = session(acted(status="success", result=came({"output": "seen"}, picture)))
    trace = read_value(value, tmp_path)
    assert trace.raw["messages"]["a1"]["toolCalls"]["0"]["result"][1] == picture
    assert trace.observations[0].output == {"text": "seen"}


def test_what_the_tool_itself_says_is_an_event(tmp_path: Path) -> None:
    value = session(
        {"id": "u1", "type": "user", "content": [{"text": "go"}]},
        {"id": "i1", "type": "info", "content": "Request cancelled."},
        {"id": "e1", "type": "error", "content": "quota is spent"},
    )
    trace = read_value(value, tmp_path)
    assert [(m.role, m.text) for m in trace.transcript] == [("user", "go")]
    assert [(o.name, o.type, o.error) for o in trace.observations] == [
        ("info", "EVENT", None),
        ("error", "EVENT", "quota is spent"),
    ]
    assert trace.usage == {}


def test_a_bad_message_is_a_failure_and_the_next_session_is_read(tmp_path: Path) -> None:
    lines = [session(), session({"type": "gemini", "toolCalls": [{"id": "x"}]}), session()]
    data = b"\n".join(json.dumps(line).encode() for line in lines)
    traces, failures = read_bytes(data, tmp_path)
    assert len(traces) == 2
    assert [(f.line, f.reason) for f in failures] == [
        (2, "gemini_cli: m0: a tool call must have a name")
    ]

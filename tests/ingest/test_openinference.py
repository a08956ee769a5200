"""OpenInference spans: real files counted again, flattened, nested, the spec's JSON, TRAIL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import otlp_files as otlp
import pytest
from otlp_files import batch, span
from reading_of import read_bytes, read_paths, read_value

from helix.model.trace import Trace

FOLDER = "traces/otlp_spans/agentpile"
LINES = "openai_agents_0.24.0_oi_2.5.3.jsonl"
AS_TOOL = "openai_agents_0.24.0_oi_2.5.3_as_tool.json"


def transcript(trace: Trace) -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in trace.transcript]


@pytest.mark.parametrize(
    ("name", "observations", "tools", "generations", "messages"),
    [
        (LINES, 13, ["lookup_order", "transfer_to_refunds", "handoff to Refunds"], 3, 7),
        (AS_TOOL, 12, ["ask_helper"], 3, 7),
    ],
)
def test_the_samples_hold_what_they_hold(
    shared: Path, name: str, observations: int, tools: list[str], generations: int, messages: int
) -> None:
    found, failures = read_paths(str(shared / FOLDER / name))
    assert failures == []
    (trace,) = found
    assert trace.source.format == "openinference"
    assert len(trace.observations) == observations
    assert [o.name for o in trace.tools()] == tools
    assert sum(o.type == "GENERATION" for o in trace.observations) == generations
    assert len(trace.transcript) == messages
    assert [o.error for o in trace.observations if o.error] == []
    assert trace.all_flags == ("paired-by-position",)


@pytest.mark.parametrize("name", [LINES, AS_TOOL])
def test_the_samples_counted_from_their_json_agree(shared: Path, name: str) -> None:
    file = shared / FOLDER / name
    spans = list(otlp.raw_spans(file))
    (trace,), _ = read_paths(str(file))
    assert {trace.id} == {s["traceId"] for s, _ in spans}
    observations = {o.id: o for o in trace.observations}
    kinds = {s["spanId"]: a["openinference.span.kind"] for s, a in spans}
    assert {i for i, kind in kinds.items() if kind == "TOOL"} <= {o.id for o in trace.tools()}
    assert all(observations[i].type == "GENERATION" for i, k in kinds.items() if k == "LLM")
    prompts = sum(int(a.get("llm.token_count.prompt", 0)) for _, a in spans)
    assert trace.usage["promptTokens"] == prompts
    said = {a[k] for _, a in spans for k in a if k.endswith("message.content") and "input" in k}
    said -= {a[k] for _, a in spans for k in a if k.endswith("message.content") and _is_tool(a, k)}
    assert said <= {m.text for m in trace.transcript}
    calls = {a[k] for _, a in spans for k in a if k.endswith("tool_call.id")}
    joined = {r.get("callId") for r in trace.raw["spans"].values()} | set(observations)
    assert calls <= joined


def _is_tool(held: dict[str, Any], key: str) -> bool:
    return held.get(key.replace("message.content", "message.role")) == "tool"


def test_a_handoff_keeps_its_call_and_its_span(shared: Path) -> None:
    (trace,), _ = read_paths(str(shared / FOLDER / LINES))
    lookup, transfer, handoff = trace.tools()
    assert (lookup.input, lookup.output_text) == ({"order_id": "A1"}, "order A1: shipped")
    assert lookup.flags == ("paired-by-position",)
    assert trace.raw["spans"][lookup.id]["callId"] == "call_lookup_1"
    assert (transfer.id, transfer.input, transfer.flags) == ("call_handoff_1", {}, ())
    assert (handoff.input, handoff.output_text, handoff.flags) == ("Triage", "Refunds", ())
    assert trace.input["system"] == "Route the customer."
    assert ("system", "Handle refunds.") in transcript(trace)


MODEL = {
    "openinference.span.kind": "LLM",
    "llm.input_messages.0.message.role": "user",
    "llm.input_messages.0.message.content": "Add 1 and 2",
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "add",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"a": 1, "b": 2}',
}
TOOL = {"openinference.span.kind": "TOOL", "tool.name": "add", "output.value": "3"}
NESTED = {
    "openinference": {"span": {"kind": "LLM"}},
    "llm": {
        "input_messages": [{"message": {"role": "user", "content": "Add 1 and 2"}}],
        "output_messages": [
            {
                "message": {
                    "role": "assistant",
                    "tool_calls": [
                        {
                            "tool_call": {
                                "id": "c1",
                                "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'},
                            }
                        }
                    ],
                }
            }
        ],
        "token_count": {"prompt": 4},
    },
}


def test_nested_attributes_read_like_flattened_ones(tmp_path: Path) -> None:
    given = {"input.value": '{"a": 1, "b": 2}', "input.mime_type": "application/json"}
    executed = span("add", {**TOOL, **given}, start=2)
    flat = read_value(batch(span("llm", MODEL, start=1), executed), tmp_path / "a")
    nested = read_value(batch(span("llm", NESTED, start=1), executed), tmp_path / "b")
    assert flat.source.format == nested.source.format == "openinference"
    assert transcript(flat) == transcript(nested) == [("user", "Add 1 and 2"), ("assistant", "")]
    assert [o.to_dict() for o in flat.observations] == [o.to_dict() for o in nested.observations]
    assert len(flat.tools()) == 1
    assert nested.usage["promptTokens"] == 4


@pytest.mark.parametrize(
    ("held", "given", "flags"),
    [
        ({"input.value": '{"a": 1}', "input.mime_type": "application/json"}, {"a": 1}, ()),
        ({"input.value": "three apples"}, "three apples", ()),
        ({"input.value": "{a:", "input.mime_type": "application/json"}, "{a:",
         ("invalid-arguments",)),
        ({}, {}, ()),
        ({"tool.parameters": '{"a": 1}'}, {"a": 1}, ()),
        ({"tool.parameters": '{"type": "object", "properties": {}}'}, {}, ()),
        ({"input.value": "__REDACTED__"}, "__REDACTED__", ("redacted",)),
    ],
)  # fmt: skip
def test_what_a_tool_was_given(
    tmp_path: Path, held: dict[str, Any], given: Any, flags: tuple[str, ...]
) -> None:
    (call,) = read_value(batch(span("add", {**TOOL, **held}, start=1)), tmp_path).tools()
    assert call.input == given
    assert call.flags == flags


def test_an_exception_is_the_error(tmp_path: Path) -> None:
    thrown = {"exception.type": "KeyError", "exception.message": "no order Q7"}
    event = {"name": "exception", "attributes": otlp.attributes(thrown)}
    held = {"openinference.span.kind": "TOOL", "tool.name": "lookup"}
    one = span("lookup", held, start=1, status={"code": 2}, events=[event])
    (call,) = read_value(batch(one), tmp_path).tools()
    assert (call.error, call.status, call.has_output) == ("no order Q7", "error", False)
    assert "missing-result" not in call.flags


def test_a_model_whose_values_hold_the_messages(tmp_path: Path) -> None:
    held = {
        "openinference.span.kind": "LLM",
        "input.value": json.dumps({"messages": [{"role": "user", "content": "Hi"}]}),
        "output.value": "Hello.",
    }
    trace = read_value(batch(span("llm", held, start=1)), tmp_path)
    assert transcript(trace) == [("user", "Hi"), ("assistant", "Hello.")]


def test_the_specs_json_is_read(tmp_path: Path) -> None:
    one = {
        "name": "search",
        "context": {"trace_id": "tr", "span_id": "s1"},
        "parent_id": None,
        "start_time": "2026-01-01T00:00:00Z",
        "end_time": "2026-01-01T00:00:02Z",
        "status_code": "ERROR",
        "status_message": "timed out",
        "attributes": {"openinference.span.kind": "TOOL", "tool.name": "search",
                       "input.value": "x",
                       "metadata": '{"tenant": "acme", "expected": "SNOWGOLD"}'},
        "events": [],
    }  # fmt: skip
    data = json.dumps([one]).encode()
    (trace,), failures = read_bytes(data, tmp_path, "spans.json")
    assert failures == []
    (call,) = trace.tools()
    assert (trace.id, call.id, call.error) == ("tr", "s1", "timed out")
    assert (call.end_time or 0) - (call.start_time or 0) == 2 * 10**9
    assert trace.metadata == {"tenant": "acme"}
    assert trace.labels == {"expected": "SNOWGOLD"}


def test_trail_keeps_its_nested_spans(tmp_path: Path) -> None:
    child = {
        "span_id": "b", "parent_span_id": "a", "span_name": "search", "span_kind": "Internal",
        "timestamp": "2026-01-01T00:00:01Z", "duration": "PT1M1.5S", "status_code": "Error",
        "status_message": "no page", "events": [], "child_spans": [],
        "span_attributes": {"openinference.span.kind": "TOOL", "tool.name": "search",
                            "input.value": '{"q": "x"}'},
    }  # fmt: skip
    root = {
        "span_id": "a", "parent_span_id": None, "span_name": "main", "span_kind": "Internal",
        "timestamp": "2026-01-01T00:00:00Z", "duration": "PT2H", "status_code": "Unset",
        "span_attributes": {"pat.app": "TRAIL"}, "events": [], "child_spans": [child],
    }  # fmt: skip
    trace = read_value({"trace_id": "tr", "spans": [root]}, tmp_path)
    assert trace.source.format == "openinference"
    assert [(o.id, o.parent_id, o.type) for o in trace.observations] == [
        ("a", None, "SPAN"), ("b", "a", "TOOL"),
    ]  # fmt: skip
    (call,) = trace.tools()
    assert (call.error, call.input) == ("no page", {"q": "x"})
    assert (call.end_time or 0) - (call.start_time or 0) == 61_500_000_000
    assert trace.raw["spans"]["b"]["span_kind"] == "Internal"


@pytest.mark.parametrize(
    "held",
    [
        {"llm.input_messages": "not json"},
        {"llm.input_messages.0.message": "flat"},
        {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message": 3},
        {"llm.output_messages.9999999999.message.role": "assistant"},
        {"input.value": 7, "output.value": None},
        {"tool.id": {"a": 1}},
        {"openinference.span.kind": 5},
    ],
)
def test_odd_attributes_are_no_crash(tmp_path: Path, held: dict[str, Any]) -> None:
    kind = {"openinference.span.kind": "LLM"}
    spoiled = {"traceId": "t1", "spanId": "x", "name": "odd", "attributes": {**kind, **held}}
    trace = read_value(batch(span("llm", MODEL, start=1), spoiled), tmp_path)
    assert len(trace.observations) == 3

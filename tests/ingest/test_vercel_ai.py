"""Vercel AI SDK spans, versions 4 to 6: JavaScript dumps counted again, OTLP, failures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import otlp_files as otlp
import pytest
from otlp_files import batch, span
from reading_of import read_bytes, read_paths, read_value

from helix.model.trace import Trace

FOLDER = "traces/otlp_spans/vercel_ai_v6_js_spans"
SAMPLES = {
    "ai-embed-doEmbed.json": (1, 0, 0), "ai-embed.json": (1, 0, 0),
    "ai-generateObject-doGenerate.json": (1, 1, 2), "ai-generateObject.json": (1, 0, 2),
    "ai-generateText-doGenerate.json": (2, 2, 7), "ai-generateText.json": (2, 0, 7),
    "ai-streamText.json": (1, 0, 2), "spans-by-operation.json": (10, 4, 22),
}  # fmt: skip


def transcript(trace: Trace) -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in trace.transcript]


@pytest.mark.parametrize(("name", "counts"), SAMPLES.items())
def test_the_samples_hold_what_they_hold(
    shared: Path, name: str, counts: tuple[int, int, int]
) -> None:
    found, failures = read_paths(str(shared / FOLDER / name))
    assert failures == []
    assert {t.source.format for t in found} == {"vercel_ai"}
    generations = [o for t in found for o in t.observations if o.type == "GENERATION"]
    assert (len(found), len(generations), sum(len(t.transcript) for t in found)) == counts
    assert sum(len(t.observations) for t in found) == len(found)
    assert [t.tools() for t in found] == [[]] * len(found)
    assert {t.all_flags for t in found} == {()}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_samples_counted_from_their_json_agree(shared: Path, name: str) -> None:
    file = shared / FOLDER / name
    spans = list(otlp.raw_spans(file))
    found, _ = read_paths(str(file))
    assert {t.id for t in found} == {s["spanContext"]["traceId"] for s, _ in spans}
    by_id = {o.id: (t, o) for t in found for o in t.observations}
    for one, held in spans:
        trace, observation = by_id[one["spanContext"]["spanId"]]
        assert observation.start_time == one["startTime"][0] * 10**9 + one["startTime"][1]
        assert observation.name == one["name"]
        text = held.get("ai.response.text") or held.get("ai.response.object")
        assert trace.output.get("response") == text
        assert trace.metadata["testCategory"] == held["ai.telemetry.metadata.testCategory"]
        prompt = held.get("ai.usage.promptTokens", held.get("ai.usage.inputTokens"))
        assert trace.usage["promptTokens"] == (
            held["ai.usage.tokens"] if prompt is None else prompt
        )


def inner(step: int, heard: list[Any], *, text: str = "", calls: Any = None, **fields: Any) -> Any:
    held = {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.prompt.messages": json.dumps(heard),
        "ai.usage.promptTokens": step,
    }
    if text:
        held["ai.response.text"] = text
    if calls is not None:
        held["ai.response.toolCalls"] = json.dumps(calls)
    return span(f"step{step}", held, parent="outer", start=step * 10, **fields)


USER = {"role": "user", "content": [{"type": "text", "text": "Rain?"}]}
CALL = {"toolCallId": "c1", "toolName": "weather", "input": {"city": "Oslo"}}
CALLED = {"role": "assistant", "content": [{"type": "tool-call", **CALL}]}
OUTER = {
    "ai.operationId": "ai.generateText",
    "ai.prompt": json.dumps({"system": "Be kind.", "prompt": "Rain?"}),
    "ai.response.text": "It rains.",
    "ai.usage.promptTokens": 3,
}


def executed(**fields: Any) -> Any:
    held = {"ai.operationId": "ai.toolCall", "ai.toolCall.name": "weather",
            "ai.toolCall.id": "c1", "ai.toolCall.args": '{"city":"Oslo"}'}  # fmt: skip
    held.update(fields.pop("held", {}))
    return span("ai.toolCall", held, parent="outer", start=15, **fields)


def returned(output: Any) -> Any:
    part = {"type": "tool-result", "toolCallId": "c1", "toolName": "weather", "output": output}
    return {"role": "tool", "content": [part]}


def run(tool: Any, result: Any) -> Any:
    return batch(
        span("outer", OUTER, start=1, end=90),
        inner(1, [USER], calls=[CALL]),
        tool,
        inner(2, [USER, CALLED, returned(result)], text="It rains."),
    )


def test_the_outer_span_repeats_and_is_not_counted(tmp_path: Path) -> None:
    tool = executed(held={"ai.toolCall.result": '"rain"'})
    trace = read_value(run(tool, {"type": "text", "value": "rain"}), tmp_path)
    assert trace.source.format == "vercel_ai"
    assert transcript(trace) == [
        ("system", "Be kind."), ("user", "Rain?"), ("assistant", ""), ("assistant", "It rains."),
    ]  # fmt: skip
    assert [o.type for o in trace.observations] == ["SPAN", "GENERATION", "TOOL", "GENERATION"]
    (call,) = trace.tools()
    assert (call.name, call.input, call.output_text) == ("weather", {"city": "Oslo"}, '"rain"')
    assert trace.usage["promptTokens"] == 3
    assert trace.output == {"response": "It rains."}


def test_a_failed_tool_has_no_result_and_a_status(tmp_path: Path) -> None:
    thrown = otlp.attributes({"exception.type": "Error", "exception.message": "no such city"})
    tool = executed(status={"code": 2}, events=[{"name": "exception", "attributes": thrown}])
    trace = read_value(run(tool, {"type": "error-text", "value": "no such city"}), tmp_path)
    (call,) = trace.tools()
    assert (call.error, call.status, call.flags) == ("no such city", "error", ())


def test_a_result_that_only_the_history_has_is_the_calls(tmp_path: Path) -> None:
    trace = read_value(run(executed(), {"type": "json", "value": {"rain": True}}), tmp_path)
    (call,) = trace.tools()
    assert (call.output, call.error, call.flags) == ({"rain": True}, None, ())


def test_version_4_spells_calls_otherwise(tmp_path: Path) -> None:
    call = {"toolCallType": "function", "toolCallId": "c1", "toolName": "weather",
            "args": '{"city":"Oslo"}'}  # fmt: skip
    held = {
        "ai.operationId": "ai.streamText.doStream",
        "ai.prompt.messages": json.dumps([{"role": "user", "content": "Rain?"}]),
        "ai.result.text": "Looking.",
        "ai.result.toolCalls": json.dumps([call]),
    }
    trace = read_value(batch(span("s", held, start=1)), tmp_path)
    assert transcript(trace) == [("user", "Rain?"), ("assistant", "Looking.")]
    (made,) = trace.tools()
    assert (made.id, made.input, made.flags) == ("c1", {"city": "Oslo"}, ("missing-result",))


def test_a_javascript_dump_reads_like_otlp(tmp_path: Path) -> None:
    dump = [
        {
            "name": "ai.toolCall",
            "spanContext": {"traceId": "t1", "spanId": "b", "traceFlags": 1},
            "parentSpanContext": {"traceId": "t1", "spanId": "a"},
            "startTime": [1770131992, 241000000],
            "endTime": [1770131993, 5],
            "status": {"code": 2, "message": "bad"},
            "attributes": {"ai.operationId": "ai.toolCall", "ai.toolCall.name": "weather",
                           "ai.toolCall.id": "c1"},
            "events": [{"name": "exception", "time": [1770131992, 1],
                        "attributes": {"exception.message": "worse"}}],
        }
    ]  # fmt: skip
    (trace,), failures = read_bytes(json.dumps(dump).encode(), tmp_path, "dump.json")
    assert failures == []
    (call,) = trace.tools()
    assert (call.id, call.error, call.flags) == ("b", "bad", ("parent-missing",))
    assert (call.start_time, call.end_time) == (1770131992241000000, 1770131993000000005)
    assert trace.raw["spans"]["b"]["events"][0]["attributes"] == {"exception.message": "worse"}


@pytest.mark.parametrize(
    "held",
    [
        {"ai.prompt.messages": "[broken"}, {"ai.prompt": "text"}, {"ai.prompt": "[1]"},
        {"ai.response.toolCalls": "{}"}, {"ai.response.toolCalls": "[1, null]"},
        {"ai.response.toolCalls": [{"toolName": 3}]}, {"ai.response.text": 4},
    ],
)  # fmt: skip
def test_odd_attributes_are_kept(tmp_path: Path, held: dict[str, Any]) -> None:
    one = {"traceId": "t1", "spanId": "a", "name": "n",
           "attributes": {"ai.operationId": "ai.generateText.doGenerate", **held}}  # fmt: skip
    trace = read_value([one], tmp_path)
    assert trace.observations[0].type == "GENERATION"

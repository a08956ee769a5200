"""OTel GenAI spans: real files counted again from their JSON, every spelling, hostile shapes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import otlp_files as otlp
import pytest
from otlp_files import answered, asked, batch, chat, message, said, span, tool
from reading_of import read_bytes, read_paths, read_value

from helix.model.trace import Trace

FOLDER = "traces/otlp_spans/agentpile"


def transcript(trace: Trace) -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in trace.transcript]


def done(trace: Trace, kind: str = "TOOL") -> list[str]:
    return [o.name for o in trace.observations if o.type == kind]


@pytest.mark.parametrize(
    ("name", "traces", "observations", "tools", "generations", "messages"),
    [
        ("pydantic_ai_2.58.0.json", 2, 7, 2, 3, 7),
        ("pydantic_ai_2.58.0_delegation.json", 1, 6, 1, 3, 7),
    ],
)
def test_the_samples_hold_what_they_hold(
    shared: Path, name: str, traces: int, observations: int, tools: int, generations: int,
    messages: int,
) -> None:  # fmt: skip
    found, failures = read_paths(str(shared / FOLDER / name))
    assert failures == []
    assert {trace.source.format for trace in found} == {"otel_genai"}
    assert len(found) == traces
    assert sum(len(t.observations) for t in found) == observations
    assert sum(len(t.tools()) for t in found) == tools
    assert sum(len(done(t, "GENERATION")) for t in found) == generations
    assert sum(len(t.transcript) for t in found) == messages
    assert [t.all_flags for t in found] == [()] * traces
    assert [o.error for t in found for o in t.observations if o.error] == []


@pytest.mark.parametrize("name", ["pydantic_ai_2.58.0.json", "pydantic_ai_2.58.0_delegation.json"])
def test_the_samples_counted_from_their_json_agree(shared: Path, name: str) -> None:
    file = shared / FOLDER / name
    spans = list(otlp.raw_spans(file))
    found, _ = read_paths(str(file))
    assert {t.id for t in found} == {s["traceId"] for s, _ in spans}
    observations = {o.id: o for t in found for o in t.observations}
    assert observations.keys() == {s["spanId"] for s, _ in spans}
    tools = {a["gen_ai.tool.name"] for _, a in spans if "gen_ai.tool.name" in a}
    assert {o.name for o in observations.values() if o.type == "TOOL"} == tools
    for one, held in spans:
        observation = observations[one["spanId"]]
        assert observation.start_time == int(one["startTimeUnixNano"])
        assert observation.parent_id == one.get("parentSpanId")
        if "gen_ai.tool.call.result" in held:
            assert observation.output_text == held["gen_ai.tool.call.result"]
    tokens = sum(int(a.get("gen_ai.usage.input_tokens", 0)) for _, a in spans)
    assert sum(t.usage["promptTokens"] for t in found) == tokens
    answers = {a["final_result"] for s, a in spans if not s.get("parentSpanId")}
    assert {t.output["response"] for t in found} == answers


def test_a_delegated_conversation_stands_where_it_was_held(shared: Path) -> None:
    (trace,), _ = read_paths(str(shared / FOLDER / "pydantic_ai_2.58.0_delegation.json"))
    assert [(m.role, len(m.observation_ids)) for m in trace.transcript] == [
        ("system", 0), ("user", 0), ("assistant", 1), ("system", 0), ("user", 0),
        ("assistant", 0), ("assistant", 0),
    ]  # fmt: skip
    (call,) = trace.tools()
    assert trace.transcript[2].seq < call.seq < trace.transcript[3].seq
    assert trace.input["system"] == "Delegate."


WEATHER = asked("c1", "weather", {"city": "Oslo"})
USER = message("user", said("Weather in Oslo?"))
CALL = message("assistant", said("Let me look."), WEATHER)
RESULT = message("tool", answered("c1", "rain"))


def agent_run() -> list[dict[str, Any]]:
    first = chat("first", [USER], [CALL], start=10)
    second = chat("second", [USER, CALL, RESULT], [message("assistant", said("Rain."))], start=30)
    return [first, tool("weather", "c1", '{"city": "Oslo"}', "rain", start=20), second]


def test_history_that_is_sent_again_is_said_once(tmp_path: Path) -> None:
    trace = read_value(batch(*agent_run()), tmp_path)
    assert transcript(trace) == [
        ("user", "Weather in Oslo?"), ("assistant", "Let me look."), ("assistant", "Rain."),
    ]  # fmt: skip
    (call,) = trace.tools()
    assert (call.id, call.input, call.output_text) == ("span-c1", {"city": "Oslo"}, "rain")
    assert trace.transcript[1].observation_ids == ("span-c1",)
    assert trace.raw["spans"]["span-c1"]["callId"] == "c1"
    second = next(o for o in trace.observations if o.name == "second")
    assert second.input == {"messages": 3, "repeated": 2}


def test_spans_of_a_trace_may_stand_in_any_line_and_order(tmp_path: Path) -> None:
    first, executed, second = agent_run()
    other = span("other", {"gen_ai.operation.name": "chat"}, trace="t2", start=1)
    lines = [batch(second), batch(other, executed), batch(first)]
    data = "\n".join(json.dumps(line) for line in lines).encode()
    found, failures = read_bytes(data, tmp_path)
    assert failures == []
    assert [t.id for t in found] == ["t2", "t1"]
    assert transcript(found[1])[-1] == ("assistant", "Rain.")
    assert [o.name for o in found[1].observations] == ["first", "weather", "second"]


def test_a_trace_has_one_digest_whatever_stands_beside_it(tmp_path: Path) -> None:
    alone = read_value(batch(*agent_run()), tmp_path / "a")
    other = span("other", {"gen_ai.operation.name": "chat"}, trace="t2", start=1)
    data = json.dumps(batch(other, *agent_run())).encode()
    found, _ = read_bytes(data, tmp_path / "b", "two.json")
    assert {t.id: t.source.digest for t in found}["t1"] == alone.source.digest


def test_a_call_that_no_span_executed_is_an_observation_of_its_own(tmp_path: Path) -> None:
    first, _, second = agent_run()
    trace = read_value(batch(first, second), tmp_path)
    (call,) = trace.tools()
    assert (call.id, call.parent_id, call.output_text) == ("c1", "first", "rain")
    assert trace.transcript[1].seq + 1 == call.seq
    assert call.flags == ()


def test_a_call_without_any_result_says_so(tmp_path: Path) -> None:
    trace = read_value(batch(agent_run()[0]), tmp_path)
    (call,) = trace.tools()
    assert call.flags == ("missing-result",)
    assert trace.output == {}


def test_the_second_yes_of_the_user_is_said_again(tmp_path: Path) -> None:
    yes, more = message("user", said("yes")), message("assistant", said("More?"))
    end = message("assistant", said("Done."))
    spans = [chat("a", [yes], [more], start=1), chat("b", [yes, more, yes], [end], start=2)]
    trace = read_value(batch(*spans), tmp_path)
    assert [text for _, text in transcript(trace)] == ["yes", "More?", "yes", "Done."]


def test_a_turn_without_its_history_is_a_turn(tmp_path: Path) -> None:
    yes = message("user", said("yes"))
    spans = [
        chat("a", [message("user", said("Start"))], [message("assistant", said("One?"))], start=1),
        chat("b", [message("assistant", said("One?")), yes],
             [message("assistant", said("Two?"))], start=2),
        chat("c", [yes], [message("assistant", said("End"))], start=3),
    ]  # fmt: skip
    trace = read_value(batch(*spans), tmp_path)
    assert [text for _, text in transcript(trace)] == ["Start", "One?", "yes", "Two?", "yes", "End"]


def test_a_wrapper_adds_only_what_is_not_inside_it(tmp_path: Path) -> None:
    inner = chat("inner", [USER], [message("assistant", said("Rain."))], parent="outer", start=2)
    outer = span(
        "outer",
        {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.input.messages": json.dumps([message("user", said("Raw wish")), USER]),
            "gen_ai.output.messages": json.dumps([message("assistant", said("Rain."))]),
        },
        start=1,
        end=9,
    )
    trace = read_value(batch(inner, outer), tmp_path)
    assert transcript(trace) == [
        ("user", "Raw wish"), ("user", "Weather in Oslo?"), ("assistant", "Rain."),
    ]  # fmt: skip
    assert trace.usage["latencyMs"] == 8e-6


@pytest.mark.parametrize(
    ("fields", "extra", "error"),
    [
        ({"status": {"code": 2, "message": "no such city"}}, {}, "no such city"),
        ({"status": {"code": "STATUS_CODE_ERROR"}}, {"error.type": "KeyError"}, "KeyError"),
        ({}, {"error.type": "timeout"}, "timeout"),
        (
            {"events": [{"name": "exception", "timeUnixNano": "5", "attributes": otlp.attributes(
                {"exception.type": "ValueError", "exception.message": "bad zone"})}]},
            {}, "bad zone",
        ),
        ({"status": {"code": 1}}, {}, None),
        ({}, {"gen_ai.tool.call.result": "Error: no such city"}, None),
    ],
)  # fmt: skip
def test_only_what_is_declared_is_an_error(
    tmp_path: Path, fields: dict[str, Any], extra: dict[str, Any], error: str | None
) -> None:
    held = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather", **extra}
    trace = read_value(batch(span("execute_tool weather", held, start=1, **fields)), tmp_path)
    (call,) = trace.tools()
    assert call.error == error
    assert call.status == ("error" if error else None)
    assert ("missing-result" in call.flags) == (error is None and not extra)


def test_older_span_events_are_messages(tmp_path: Path) -> None:
    def event(name: str, held: dict[str, Any]) -> dict[str, Any]:
        return {"name": name, "timeUnixNano": "1", "attributes": otlp.attributes(held)}

    calls = [{"id": "c9", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]
    events = [
        event("gen_ai.system.message", {"content": "Be brief."}),
        event("gen_ai.user.message", {"content": "Hi"}),
        event("gen_ai.assistant.message", {"tool_calls": json.dumps(calls)}),
        event("gen_ai.tool.message", {"id": "c9", "content": "4"}),
        event("gen_ai.choice", {"index": 0, "finish_reason": "stop",
                                "message": json.dumps({"content": "Four."})}),
    ]  # fmt: skip
    held = {"gen_ai.system": "openai", "gen_ai.request.model": "m"}
    trace = read_value(batch(span("chat m", held, events=events, start=1)), tmp_path)
    assert transcript(trace) == [
        ("system", "Be brief."), ("user", "Hi"), ("assistant", ""), ("assistant", "Four."),
    ]  # fmt: skip
    (call,) = trace.tools()
    assert (call.id, call.input, call.output_text) == ("c9", {"a": 1}, "4")


def test_traceloop_prompts_and_entities_are_read(tmp_path: Path) -> None:
    model = span(
        "openai.chat",
        {
            "llm.request.type": "chat",
            "gen_ai.system": "OpenAI",
            "gen_ai.prompt.0.role": "system",
            "gen_ai.prompt.0.content": "Be kind.",
            "gen_ai.prompt.1.role": "user",
            "gen_ai.prompt.1.content": '[{"type": "text", "text": "Add 1 and 2"}]',
            "gen_ai.prompt.2.role": "assistant",
            "gen_ai.prompt.2.tool_calls.0.id": "c1",
            "gen_ai.prompt.2.tool_calls.0.name": "add",
            "gen_ai.prompt.2.tool_calls.0.arguments": '{"a": 1, "b": 2}',
            "gen_ai.prompt.10.role": "user",
            "gen_ai.prompt.10.content": "and?",
            "gen_ai.prompt.3.role": "tool",
            "gen_ai.prompt.3.tool_call_id": "c1",
            "gen_ai.prompt.3.content": "3",
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.content": "Three.",
            "gen_ai.completion.0.finish_reason": "stop",
            "gen_ai.usage.prompt_tokens": 7,
        },
        start=3,
    )
    entity = span(
        "add.tool",
        {
            "traceloop.span.kind": "tool",
            "traceloop.entity.name": "search",
            "traceloop.entity.input": '{"args": [], "kwargs": {"q": "x"}}',
            "traceloop.entity.output": '"found"',
        },
        start=1,
    )
    trace = read_value(batch(model, entity), tmp_path)
    assert transcript(trace) == [
        ("system", "Be kind."), ("user", "Add 1 and 2"), ("assistant", ""), ("user", "and?"),
        ("assistant", "Three."),
    ]  # fmt: skip
    assert [(o.name, o.output_text) for o in trace.tools()] == [("search", '"found"'), ("add", "3")]
    assert trace.usage["promptTokens"] == 7


def test_structured_messages_read_like_json_text(tmp_path: Path) -> None:
    first, executed, second = agent_run()
    for one in (first, second):
        for pair in one["attributes"]:
            if pair["key"].endswith("messages"):
                pair["value"] = otlp.any_value(json.loads(pair["value"]["stringValue"]))
    trace = read_value(batch(first, executed, second), tmp_path / "a")
    plain = read_value(batch(*agent_run()), tmp_path / "b")
    assert transcript(trace) == transcript(plain)
    assert [o.to_dict() for o in trace.observations] == [o.to_dict() for o in plain.observations]


def test_parts_that_are_no_text_are_kept(tmp_path: Path) -> None:
    blob = {"type": "blob", "mime_type": "image/png", "content": "iVBORw0KGgo="}
    thought = {"type": "reasoning", "content": "The user wants rain."}
    spans = chat("a", [message("user", said("Look"), blob)],
                 [message("assistant", thought, said("Yes"))], start=1)  # fmt: skip
    trace = read_value(batch(spans), tmp_path)
    assert trace.transcript[0].text.startswith("Look\n[image/png: 8 bytes, sha256 ")
    assert trace.transcript[1].text == "Yes"
    kept = json.dumps(trace.raw)
    assert "iVBORw0KGgo=" in kept
    assert "The user wants rain." in kept


def test_evaluations_and_labels_are_labels(tmp_path: Path) -> None:
    judged = {"gen_ai.evaluation.score.value": 0.25, "gen_ai.evaluation.explanation": "wrong city"}
    event = {"name": "gen_ai.evaluation.result", "attributes": otlp.attributes(judged)}
    held = {"gen_ai.operation.name": "chat", "eval.ground_truth": "SNOWGOLD", "app.note": "kept"}
    trace = read_value(batch(span("chat", held, events=[event], start=1)), tmp_path)
    assert trace.labels["chat"]["eval.ground_truth"] == "SNOWGOLD"
    shown = json.dumps({**trace.to_dict(), "labels": None})
    assert "SNOWGOLD" not in shown
    assert "wrong city" not in shown
    assert "kept" in shown


def test_orphans_and_cycles_are_flagged_and_nothing_is_lost(tmp_path: Path) -> None:
    held = {"gen_ai.operation.name": "plan"}
    spans = [
        span("lost", held, parent="nowhere", start=1),
        span("a", held, parent="b", start=2),
        span("b", held, parent="a", start=3),
        span("self", held, parent="self", start=4),
        span("zero", held, parent="0000000000000000", start=5),
    ]
    trace = read_value(batch(*spans), tmp_path)
    assert {o.id: o.flags for o in trace.observations} == {
        "lost": ("parent-missing",), "a": ("parent-cycle",), "b": ("parent-cycle",),
        "self": ("parent-cycle",), "zero": (),
    }  # fmt: skip
    assert trace.observations[0].parent_id == "nowhere"


def test_equal_starts_put_the_parent_first_and_flag_siblings(tmp_path: Path) -> None:
    held = {"gen_ai.operation.name": "plan"}
    spans = [span("x2", held, parent="root", start=5), span("x1", held, parent="root", start=5),
             span("root", held, start=5)]  # fmt: skip
    trace = read_value(batch(*spans), tmp_path)
    assert trace.observations[0].id == "root"
    assert [o.flags for o in trace.observations] == [(), ("ambiguous-order",), ("ambiguous-order",)]


def test_a_span_exported_twice_counts_once(tmp_path: Path) -> None:
    first, executed, second = agent_run()
    trace = read_value(batch(first, executed, executed, second), tmp_path)
    assert len(trace.tools()) == 1
    assert "duplicate-id" in trace.flags
    changed = {**executed, "name": "execute_tool other"}
    trace = read_value(batch(first, executed, changed, second), tmp_path / "b")
    assert [o.id for o in trace.tools()] == ["span-c1", "span-c1#2"]


def test_repeated_call_ids_pair_in_order(tmp_path: Path) -> None:
    again = message("assistant", asked("c1", "weather", {"city": "Bergen"}))
    spans = [
        *agent_run()[:2],
        chat("again", [USER, CALL, RESULT], [again], start=30),
        tool("weather", "c1", '{"city": "Bergen"}', "sun", id="span-2", start=40),
    ]
    trace = read_value(batch(*spans), tmp_path)
    assert [(o.id, o.output_text) for o in trace.tools()] == [
        ("span-c1", "rain"),
        ("span-2", "sun"),
    ]
    assert [m.observation_ids for m in trace.transcript if m.observation_ids] == [
        ("span-c1",), ("span-2",),
    ]  # fmt: skip


def test_a_result_without_any_call_is_an_orphan(tmp_path: Path) -> None:
    trace = read_value(batch(chat("a", [USER, RESULT], [], start=1)), tmp_path)
    assert trace.tools() == []
    (orphan,) = [o for o in trace.observations if o.type == "EVENT"]
    assert (orphan.flags, orphan.output_text) == (("orphan-result",), "rain")


@pytest.mark.parametrize(
    "spoiled",
    [
        None, [], "text", {"attributes": []}, {"traceId": "", "spanId": "x", "attributes": []},
        {"traceId": {"a": 1}, "spanId": "x", "attributes": []},
    ],
)  # fmt: skip
def test_a_spoiled_span_is_a_failure_and_stops_no_other(tmp_path: Path, spoiled: Any) -> None:
    document = batch(*agent_run(), spoiled)
    found, failures = read_bytes(json.dumps(document).encode(), tmp_path, "x.json")
    assert len(found) == 1
    assert len(failures) == 1
    assert "span" in failures[0].reason


@pytest.mark.parametrize(
    "held",
    [
        {"gen_ai.input.messages": "[{not json"},
        {"gen_ai.input.messages": "[1, 2]"},
        {"gen_ai.input.messages": json.dumps([{"role": "user", "parts": "text"}])},
        {"gen_ai.input.messages": json.dumps([{"role": 5, "parts": [{"type": "tool_call"}]}])},
        {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [None, 3, {}]}])},
        {"gen_ai.system_instructions": "[]"},
        {"gen_ai.tool.call.id": 12, "gen_ai.operation.name": "execute_tool"},
        {"gen_ai.prompt.x.role": "user", "gen_ai.prompt.0": "odd", "gen_ai.prompt.0.role": "user"},
        {"gen_ai.usage.input_tokens": "many"},
    ],
)
def test_odd_attributes_are_kept(tmp_path: Path, held: dict[str, Any]) -> None:
    full = {"gen_ai.operation.name": "chat", **held}
    trace = read_value(batch(span("odd", full, start=1)), tmp_path)
    kept = json.dumps(trace.to_dict())
    for value in held.values():
        assert str(value)[:8].replace('"', '\\"') in kept or value in ("[]", "user") or len(kept)


def test_odd_times_are_no_times(tmp_path: Path) -> None:
    spans = [span("a", {"gen_ai.operation.name": "chat"}), span("b", {}, start=4)]
    spans[0]["startTimeUnixNano"] = "soon"
    spans[0]["endTimeUnixNano"] = -(10**40)
    trace = read_value(batch(*spans), tmp_path)
    assert {o.id: o.start_time for o in trace.observations} == {"a": None, "b": 4}
    assert {o.id: o.flags for o in trace.observations}["a"] == ("ambiguous-order",)


def test_a_chain_of_spans_of_any_length_is_read(tmp_path: Path) -> None:
    held = {"gen_ai.operation.name": "plan"}
    spans = [span(str(at), held, parent=str(at - 1) if at else None, start=at + 1)
             for at in range(5000)]  # fmt: skip
    trace = read_value(batch(*reversed(spans)), tmp_path)
    assert [o.id for o in trace.observations] == [str(at) for at in range(5000)]


def test_spans_of_nobody_are_still_a_trace(tmp_path: Path) -> None:
    trace = read_value(batch(span("GET /", {"http.route": "/orders"}, start=1)), tmp_path)
    assert trace.source.format == "otel_genai"
    assert [(o.type, o.name) for o in trace.observations] == [("SPAN", "GET /")]
    assert trace.raw["spans"]["GET /"]["attributes"] == {"http.route": "/orders"}


def test_a_span_a_line_as_the_console_exporter_writes_it(tmp_path: Path) -> None:
    line = {
        "name": "chat m",
        "context": {"trace_id": "0x01", "span_id": "0x02", "trace_state": "[]"},
        "kind": "SpanKind.CLIENT",
        "parent_id": None,
        "start_time": "2026-01-01T00:00:00.000001Z",
        "end_time": "2026-01-01T00:00:01Z",
        "status": {"status_code": "ERROR", "description": "quota"},
        "attributes": {"gen_ai.operation.name": "chat", "gen_ai.prompt": "Hi"},
        "events": [],
        "resource": {"attributes": {"service.name": "shop"}},
    }
    found, failures = read_bytes(json.dumps(line).encode(), tmp_path)
    assert failures == []
    (observation,) = found[0].observations
    assert (found[0].id, observation.id, observation.error) == ("0x01", "0x02", "quota")
    assert observation.start_time == 1767225600000001000
    assert transcript(found[0]) == [("user", "Hi")]
    assert found[0].raw["resources"] == [{"attributes": {"service.name": "shop"}}]


def test_memory_follows_the_traces_that_overlap(tmp_path: Path) -> None:
    """A trace comes out before the next is read where their lines do not mix."""
    held = {"gen_ai.operation.name": "plan"}
    lines = [batch(span(f"s{at}", held, trace=f"t{at // 2}", start=at + 1)) for at in range(20)]
    data = "\n".join(json.dumps(line) for line in lines).encode()
    found, _ = read_bytes(data, tmp_path)
    assert [t.id for t in found] == [f"t{at}" for at in range(10)]
    assert [len(t.observations) for t in found] == [2] * 10
    assert [t.source.line for t in found] == [2 * at + 1 for at in range(10)]


def test_a_damaged_line_stops_no_trace(tmp_path: Path) -> None:
    first, executed, second = agent_run()
    lines = [json.dumps(batch(first)), '{"resourceSpans": [', json.dumps(batch(executed, second))]
    found, failures = read_bytes("\n".join(lines).encode(), tmp_path)
    assert [len(t.observations) for t in found] == [3]
    assert [f.line for f in failures] == [2]


def test_messages_that_were_cut_are_marked_and_never_said_as_they_stand(tmp_path: Path) -> None:
    first = agent_run()[2]
    held = {pair["key"]: pair["value"]["stringValue"] for pair in first["attributes"]}
    text = held["gen_ai.input.messages"]
    cut = text[: text.index("rain") + 2]
    one = span("chat", {"gen_ai.operation.name": "chat", "gen_ai.input.messages": cut}, start=1)
    trace = read_value(batch(one), tmp_path)
    assert transcript(trace) == [("user", "Weather in Oslo?"), ("assistant", "Let me look.")]
    assert [o.flags for o in trace.observations if o.name == "chat"] == [("truncated",)]
    assert trace.raw["spans"]["chat"]["attributes"]["gen_ai.input.messages"] == cut


def test_text_that_only_begins_with_a_bracket_is_text(tmp_path: Path) -> None:
    held = {"gen_ai.operation.name": "text_completion", "gen_ai.prompt": "[INST] Hi [/INST]"}
    trace = read_value(batch(span("c", held, start=1)), tmp_path)
    assert transcript(trace) == [("user", "[INST] Hi [/INST]")]
    assert trace.all_flags == ()


def test_dropped_attributes_mark_the_span(tmp_path: Path) -> None:
    one = span("c", {"gen_ai.operation.name": "chat"}, start=1, droppedAttributesCount=2)
    assert read_value(batch(one), tmp_path).observations[0].flags == ("truncated",)


def test_what_the_history_says_otherwise_than_the_span_is_kept(tmp_path: Path) -> None:
    first, executed, _ = agent_run()
    executed["attributes"][2] = otlp.attributes({"gen_ai.tool.call.arguments": '{"city": "OSL"}'})[
        0
    ]
    failed = {"type": "tool_result", "tool_use_id": "c1", "content": "rain, they say",
              "is_error": True}  # fmt: skip
    second = chat("second", [USER, CALL, message("user", failed)], [], start=30)
    trace = read_value(batch(first, executed, second), tmp_path)
    (call,) = trace.tools()
    assert (call.input, call.output_text) == ({"city": "OSL"}, "rain")
    assert (call.error, call.status) == ("rain, they say", "error")
    assert {"callId": "c1", "arguments": {"city": "Oslo"}} in trace.raw["spans"]["first"][
        "messages"
    ]
    kept = trace.raw["spans"]["second"]["messages"]
    assert {"callId": "c1", "content": "rain, they say"} in kept


def test_base64_ids_stay_as_they_are(tmp_path: Path) -> None:
    held = {"gen_ai.operation.name": "plan"}
    spans = [span("a", held, trace="W47/95gDgQPSaY==", id="BRmXN5ZgQSE=", parent="AAAAAAAAAAA=",
                  start=1),
             span("b", held, trace="W47/95gDgQPSaY==", id="BRmXN5ZgQSI=", parent="BRmXN5ZgQSE=",
                  start=2)]  # fmt: skip
    trace = read_value(batch(*spans), tmp_path)
    assert trace.id == "W47/95gDgQPSaY=="
    assert [(o.id, o.parent_id, o.flags) for o in trace.observations] == [
        ("BRmXN5ZgQSE=", None, ()), ("BRmXN5ZgQSI=", "BRmXN5ZgQSE=", ()),
    ]  # fmt: skip


def test_a_first_line_without_spans_is_no_obstacle(tmp_path: Path) -> None:
    lines = [{"resourceSpans": []}, batch(*agent_run())]
    found, failures = read_bytes("\n".join(map(json.dumps, lines)).encode(), tmp_path)
    assert (len(found), failures) == (1, [])
    found, failures = read_bytes(b'{"resourceSpans": []}', tmp_path / "empty")
    assert (found, [f.reason for f in failures]) == ([], ["no span in it"])

"""LangSmith runs, made from the description of the format: no real sample yet."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from reading_of import read_bytes, read_value

from helix.model.trace import Trace

Run = dict[str, Any]
ROOT = "root#run"
T0 = "20260101T000000"


def constructor(kind: str, **kwargs: Any) -> Run:
    name = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage"}[kind]
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name],
            "kwargs": {"type": kind, **kwargs}}  # fmt: skip


def run(name: str, kind: str, at: int, parent: str | None = "root", **parts: Any) -> Run:
    order = f"{T0}00Zroot" if parent is None else f"{T0}00Zroot.{T0}0{at}Z{name}"
    made = {"id": name, "trace_id": "root", "name": name, "run_type": kind, "dotted_order": order,
            "parent_run_id": parent, "start_time": f"2026-01-01T00:00:0{at}.500000",
            "end_time": f"2026-01-01T00:00:0{at}.750000", "error": None,
            "status": "success"}  # fmt: skip
    return {**made, **parts}


QUESTION = constructor("human", content="Weather and news?")
CALLS = constructor("ai", content="", tool_calls=[
    {"name": "weather", "args": {"city": "Rome"}, "id": "c1"},
    {"name": "news", "args": {"topic": "Rome", "n": 2}, "id": "c2"},
], invalid_tool_calls=[
    {"name": "map", "args": "{city: Rome", "id": "c3", "error": "not JSON"},
])  # fmt: skip
SUNNY = {"content": "sunny", "tool_call_id": "c1", "status": "success", "type": "tool"}
ANSWER = constructor("ai", content="Sunny; no news.", usage_metadata={"input_tokens": 9})


USED = {"prompt_tokens": 7, "completion_tokens": 3}


def generations(message: Run) -> Run:
    return {"generations": [[{"text": "", "type": "ChatGeneration", "message": message}]],
            "llm_output": {"token_usage": USED}}  # fmt: skip


def runs() -> list[Run]:
    heard = [QUESTION, CALLS, constructor("tool", content="sunny", tool_call_id="c1")]
    return [
        run("root", "chain", 0, None, inputs={"input": "Weather and news?"},
            outputs={"output": "Sunny; no news."},
            extra={"metadata": {"thread": "th-1", "ls_example_answer": "rain"}},
            feedback_stats={"correctness": {"avg": 1.0}}),
        run("model-1", "llm", 1, inputs={"messages": [[QUESTION]]}, outputs=generations(CALLS)),
        run("weather", "tool", 2, inputs={"city": "Rome"}, outputs={"output": SUNNY}),
        run("news", "tool", 3, inputs={"input": "{'topic': 'Rome', 'n': 2}"}, outputs={},
            error="ValueError('no news')\n\nTraceback (most recent call last)", status="error"),
        run("model-2", "llm", 4, inputs={"messages": [heard]}, outputs=generations(ANSWER),
            total_cost=0.5),
    ]  # fmt: skip


def nested(found: list[Run]) -> Run:
    root, *children = found
    inner = [{k: v for k, v in child.items() if k != "trace_id"} for child in children]
    return {**root, "child_runs": inner}


def lines(found: list[Run]) -> bytes:
    return b"\n".join(json.dumps(one).encode() for one in found)


def only(data: bytes, folder: Path) -> Trace:
    traces, failures = read_bytes(data, folder)
    assert (len(traces), failures) == (1, [])
    return traces[0]


@pytest.fixture(name="trace")
def _trace(tmp_path: Path) -> Trace:
    return only(lines(runs()), tmp_path)


def test_each_run_is_one_observation_and_each_call_is_one_with_its_run(trace: Trace) -> None:
    assert (trace.source.format, trace.id) == ("langsmith", "root")
    assert [(o.id, o.type, o.parent_id) for o in trace.observations] == [
        (ROOT, "CHAIN", None), ("model-1", "GENERATION", ROOT),
        ("c3", "TOOL", "model-1"), ("weather", "TOOL", ROOT), ("news", "TOOL", ROOT),
        ("model-2", "GENERATION", ROOT),
    ]  # fmt: skip
    assert [(m.role, m.text, m.observation_ids) for m in trace.transcript] == [
        ("user", "Weather and news?", ()),
        ("assistant", "", ("weather", "news", "c3")),
        ("assistant", "Sunny; no news.", ()),
    ]
    assert trace.output["response"] == "Sunny; no news."
    assert trace.usage["promptTokens"] == 14
    assert trace.usage["costUsd"] == 0.5
    assert trace.usage["partial"] == ["costUsd"], "only one of the two model calls told its cost"


def test_results_errors_and_broken_arguments_are_told_as_declared(trace: Trace) -> None:
    by_id = {o.id: o for o in trace.observations}
    weather, news, broken = by_id["weather"], by_id["news"], by_id["c3"]
    assert (weather.output, weather.error, weather.status) == ({"text": "sunny"}, None, None)
    assert weather.flags == ()
    assert (news.input, news.output, news.status) == ({"topic": "Rome", "n": 2}, None, "error")
    assert news.error.startswith("ValueError('no news')")
    assert news.flags == ("paired-by-position",)
    assert broken.input == "{city: Rome"
    assert set(broken.flags) == {"invalid-arguments", "missing-result"}


def test_times_without_a_zone_are_utc(trace: Trace) -> None:
    started = next(o for o in trace.observations if o.id == "weather")
    assert started.start_time == 1767225602 * 10**9 + 500_000_000
    assert started.end_time - started.start_time == 250_000_000


def test_feedback_and_examples_are_labels(trace: Trace) -> None:
    assert trace.metadata == {"thread": "th-1"}
    assert trace.labels["runs"]["root"]["feedback_stats"]["correctness"]["avg"] == 1.0
    assert trace.labels["runs"]["root"]["extra"]["metadata"] == {"ls_example_answer": "rain"}
    assert "rain" not in json.dumps([trace.raw, trace.metadata, trace.input, trace.output])


def test_lists_lines_trees_and_any_order_give_the_same_trace(trace: Trace, tmp_path: Path) -> None:
    mixed = runs()
    random.Random(5).shuffle(mixed)
    tree = nested(runs())
    forms = [lines(mixed), json.dumps(mixed).encode(), json.dumps(tree).encode(),
             json.dumps({"runs": mixed}).encode(), lines([tree, *mixed])]  # fmt: skip
    for at, data in enumerate(forms):
        read = only(data, tmp_path / str(at))
        assert [o.to_dict() for o in read.observations] == [o.to_dict() for o in trace.observations]
        assert [m.to_dict() for m in read.transcript] == [m.to_dict() for m in trace.transcript]
        assert read.all_flags == trace.all_flags


def test_the_dotted_order_decides_and_not_the_time(tmp_path: Path) -> None:
    found = [
        run("root", "chain", 0, None),
        run("b", "tool", 2, inputs={}, outputs={"output": "2"}, start_time="2026-01-01T00:00:00"),
        run("a", "tool", 1, inputs={}, outputs={"output": "1"}, start_time="2026-01-01T00:00:00"),
    ]
    trace = only(lines(found), tmp_path)
    assert [o.id for o in trace.observations] == [ROOT, "a", "b"]
    assert "ambiguous-order" not in trace.all_flags
    for one in found:
        del one["dotted_order"]
    tied = only(lines(found), tmp_path / "tied")
    assert "ambiguous-order" in tied.all_flags


def test_runs_of_several_traces_are_several_traces_and_a_bad_line_fails_alone(
    tmp_path: Path,
) -> None:
    other = {**run("x", "chain", 0, None), "id": "x"}
    del other["trace_id"]
    child = {**run("y", "tool", 1, "x", inputs={"a": 1}, outputs={"output": {"b": 2}})}
    del child["trace_id"]
    data = lines([*runs(), {"run_type": 5}, child, other])
    traces, failures = read_bytes(data, tmp_path)
    assert [t.id for t in traces] == ["root", "x"]
    assert [o.id for o in traces[1].observations] == ["x#run", "y"]
    assert traces[1].tools()[0].output == {"b": 2}
    assert [(f.line, f.reason) for f in failures] == [
        (6, "langsmith: a run must be an object with a run_type (got an object with keys run_type)")
    ]


def test_orphans_cycles_and_unfinished_runs_are_flagged(tmp_path: Path) -> None:
    found = [
        run("root", "chain", 0, None, status="pending", end_time=None),
        run("a", "chain", 1, "gone"),
        run("b", "chain", 2, "c"),
        run("c", "chain", 3, "b"),
    ]
    trace = only(lines(found), tmp_path)
    assert {o.id: o.flags for o in trace.observations} == {
        ROOT: (), "a": ("parent-missing",), "b": ("parent-cycle",), "c": ("parent-cycle",),
    }  # fmt: skip
    assert trace.flags == ("truncated",)


def test_a_chat_with_plain_messages_and_a_completion_are_read(tmp_path: Path) -> None:
    chat = {"messages": [{"role": "system", "content": "Be brief."},
                         {"role": "user", "content": "Hi"}], "model": "some-model"}  # fmt: skip
    reply = {"choices": [{"message": {"role": "assistant", "content": "Hello"}}], "id": "r-1234567"}
    trace = read_value(run("root", "llm", 0, None, inputs=chat, outputs=reply), tmp_path)
    assert [(m.role, m.text) for m in trace.transcript] == [
        ("system", "Be brief."), ("user", "Hi"), ("assistant", "Hello"),
    ]  # fmt: skip
    assert trace.raw["spans"][ROOT]["inputs"]["model"] == "some-model"
    assert trace.raw["spans"][ROOT]["outputs"]["id"] == "r-1234567"
    completion = run("root", "llm", 0, None, inputs={"prompts": ["Hi"]},
                     outputs={"generations": [[{"text": "Hello"}]]})  # fmt: skip
    again = read_value(completion, tmp_path / "b")
    assert [(m.role, m.text) for m in again.transcript] == [("user", "Hi"), ("assistant", "Hello")]

"""Langfuse exports: whatever the envelope, the order and the framework, one run is one trace."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from leaves import leaves
from reading_of import read_bytes, read_paths, read_value

from helix.model.trace import Trace

POSITION, ORDER, MISSING = "paired-by-position", "ambiguous-order", "missing-result"
# file, messages, tool calls, observations in all, flags
SAMPLES: dict[str, tuple[int, int, int, set[str]]] = {
    "api_shape/agno-2025-06-11.trace.json": (4, 1, 7, set()),
    "api_shape/beeai-2025-08-01.trace.json": (5, 0, 29, {ORDER}),
    "api_shape/claude-agent-2025-12-22.trace.json": (5, 2, 7, {POSITION}),
    "api_shape/google-adk-2025-08-28.trace.json": (4, 1, 5, {POSITION}),
    "api_shape/koog-2025-08-26.trace.json": (5, 2, 13, {POSITION, ORDER}),
    "api_shape/langgraph-js-2025-10-30.trace.json": (3, 1, 21, {ORDER}),
    "api_shape/langgraph-python-2025-08-22.trace.json": (4, 1, 10, set()),
    "api_shape/microsoft-agent-2025-12-17.trace.json": (4, 1, 4, set()),
    "api_shape/pydantic-ai-2025-06-06.trace.json": (3, 0, 3, set()),
    "api_shape/pydantic-ai-tools-2025-12-04.trace.json": (9, 4, 13, {ORDER, MISSING}),
    "api_shape/vercel-aisdk-2025-11-17.trace.json": (2, 1, 3, set()),
    "api_shape/vertex-ai-2025-08-01.trace.json": (2, 0, 1, set()),
    "ui_log_view_shape/agno-2025-06-11.json": (4, 1, 7, set()),
    "ui_log_view_shape/langgraph-2025-08-22.json": (4, 1, 10, set()),
    "ui_log_view_shape/microsoft-agent-2025-10-14.json": (3, 1, 4, set()),
    "ui_log_view_shape/openai-agents-2025-09-30.json": (3, 1, 5, {POSITION}),
}


def export(shared: Path, name: str) -> tuple[dict[str, Any], Trace]:
    path = shared / "traces" / "langfuse_exports" / name
    traces, failures = read_paths(str(path))
    assert (len(traces), failures) == (1, [])
    return json.loads(path.read_text(encoding="utf-8")), traces[0]


@pytest.mark.parametrize("name", SAMPLES)
def test_an_export_has_the_counts_of_the_table(shared: Path, name: str) -> None:
    _, trace = export(shared, name)
    found = (len(trace.transcript), len(trace.tools()), len(trace.observations))
    assert (*found, set(trace.all_flags)) == SAMPLES[name]
    assert trace.source.format == "langfuse"
    assert not any(o.error or o.status for o in trace.observations)


@pytest.mark.parametrize("name", SAMPLES)
def test_each_observation_is_there_once_in_the_order_of_its_start(shared: Path, name: str) -> None:
    value, trace = export(shared, name)
    assert trace.id == value["trace"]["id"]
    own = {o["id"]: o for o in value["observations"]}
    spans = [o for o in trace.observations if o.id in own]
    assert len(spans) == len(own)
    starts = [own[o.id]["startTime"] for o in spans]
    assert starts == sorted(starts)
    for observation in spans:
        source = own[observation.id]
        assert observation.type == source["type"]
        assert observation.parent_id == source["parentObservationId"]
        assert observation.level == source["level"]
        # A parent that starts when its child does stands before it.
        parent = next((o for o in spans if o.id == observation.parent_id), None)
        if parent is not None and starts[spans.index(parent)] <= source["startTime"]:
            assert parent.seq < observation.seq


def opened(value: Any) -> Any:
    """Every JSON text inside of a value, opened."""
    if isinstance(value, str):
        try:
            inner = json.loads(value)
        except ValueError:
            return value
        return opened(inner) if isinstance(inner, dict | list | str) else value
    if isinstance(value, list):
        return [opened(item) for item in value]
    return {k: opened(v) for k, v in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("name", SAMPLES)
def test_every_text_is_reachable_and_scores_are_labels(shared: Path, name: str) -> None:
    value, trace = export(shared, name)
    roots = ("input", "output", "observations", "transcript", "metadata", "usage", "raw")
    held = {text for root in roots for text in leaves(opened(trace.part(root)))}
    held |= {text for root in roots for text in leaves(trace.part(root))}
    times = {o[k] for o in value["observations"] for k in ("startTime", "endTime")}
    lost = {t for t in leaves(opened(value)) if len(t) >= 8 and t not in held} - times
    lost = {text for text in lost if not any(text in more for more in held)}
    scores = value["trace"]["scores"]
    assert lost <= set(leaves(opened(scores)))
    assert trace.labels["scores"] == scores
    comments = [s["comment"] for s in scores if len(s.get("comment") or "") > 40]
    assert not any(comment in text for comment in comments for text in held)


@pytest.mark.parametrize("name", SAMPLES)
def test_usage_is_the_sum_of_the_innermost_generations(shared: Path, name: str) -> None:
    value, trace = export(shared, name)
    made = [o for o in value["observations"] if o["usageDetails"]]
    parents = {o["id"]: o["parentObservationId"] for o in value["observations"]}

    def around(name: str | None) -> Iterator[str]:
        while name in parents:
            name = parents[name]
            if name is not None:
                yield name

    outer = {name for o in made for name in around(o["id"])}
    inner = [o["usageDetails"].get("input", 0) for o in made if o["id"] not in outer]
    assert trace.usage.get("promptTokens", 0) == sum(inner)
    assert trace.usage["latencyMs"] == value["trace"]["latency"] * 1000


def test_the_three_envelopes_and_any_order_give_the_same_observations(
    shared: Path, tmp_path: Path
) -> None:
    value, trace = export(shared, "api_shape/microsoft-agent-2025-12-17.trace.json")
    plain = {k: v for k, v in value["trace"].items() if k != "observations"}
    shuffled = list(value["observations"])
    random.Random(3).shuffle(shuffled)
    backwards = sorted(value["observations"], key=lambda o: o["startTime"], reverse=True)
    envelopes = [
        {"trace": plain, "observations": shuffled},
        {"trace": {**plain, "observations": shuffled}},
        {**plain, "observations": backwards},
        {"observations": backwards, "scores": value["trace"]["scores"]},
        {"data": shuffled, "meta": {"totalItems": 4}},
        shuffled,
    ]
    for at, made in enumerate(envelopes):
        read = read_value(made, tmp_path / str(at))
        assert (read.source.format, read.id) == ("langfuse", trace.id)
        assert [o.to_dict() for o in read.observations] == [o.to_dict() for o in trace.observations]
        assert [m.to_dict() for m in read.transcript] == [m.to_dict() for m in trace.transcript]
        assert read.labels.get("scores", value["trace"]["scores"]) == value["trace"]["scores"]


# --- made here ---


def made(name: str, **parts: Any) -> dict[str, Any]:
    start = f"2026-01-01T00:00:0{parts.pop('at', 0)}.000Z"
    kind = parts.pop("type", "SPAN")
    return {"id": name, "traceId": "t", "type": kind, "name": name, "startTime": start,
            "parentObservationId": None, **parts}  # fmt: skip


def test_an_export_without_inputs_and_outputs_is_flagged(tmp_path: Path) -> None:
    found = [made(f"o{at}", at=at % 10, type="TOOL") for at in range(400)]
    trace = read_value({"observations": found, "scores": []}, tmp_path)
    assert "truncated" in trace.flags
    assert len(trace.observations) == 400
    assert all(o.output is None for o in trace.observations)
    short = read_value({"observations": [made("a", input="q", output=None)]}, tmp_path / "b")
    assert "truncated" not in short.flags


def test_calls_that_stand_beside_the_output_are_calls(tmp_path: Path) -> None:
    call = json.dumps({"id": "c1", "arguments": '{"city": "Rome"}', "type": "tool_call"})
    first = made("g", type="GENERATION", toolCalls=[call], toolCallNames=["weather"])
    heard = json.dumps([{"role": "tool", "tool_call_id": "c1", "content": "sunny"}])
    second = made("h", type="GENERATION", at=5, input=heard, output="It is sunny.")
    trace = read_value({"observations": [second, first]}, tmp_path)
    (tool,) = trace.tools()
    assert (tool.id, tool.name, tool.input) == ("c1", "weather", {"city": "Rome"})
    assert (tool.output, tool.flags) == ({"text": "sunny"}, ())
    assert trace.output == {"response": "It is sunny."}


def test_an_error_is_what_the_level_declares(tmp_path: Path) -> None:
    found = [
        made("a", type="TOOL", input={"q": 1}, output="Error: no", level="DEFAULT"),
        made("b", type="TOOL", input="{}", level="ERROR", statusMessage="broken", at=1),
        made("c", type="SPAN", level="WARNING", statusMessage="slow", at=2),
    ]
    trace = read_value({"observations": found}, tmp_path)
    assert [(o.error, o.status) for o in trace.observations] == [
        (None, None), ("broken", "error"), (None, None),
    ]  # fmt: skip
    assert trace.raw["spans"]["c"]["statusMessage"] == "slow"


def test_orphans_cycles_and_ties_are_flagged(tmp_path: Path) -> None:
    found = [
        made("a", parentObservationId="gone"),
        made("b", parentObservationId="c", at=1),
        made("c", parentObservationId="b", at=2),
        made("d", at=3),
        made("e", at=3),
    ]
    trace = read_value({"observations": found}, tmp_path)
    assert {o.id: o.flags for o in trace.observations} == {
        "a": ("parent-missing",), "b": ("parent-cycle",), "c": ("parent-cycle",),
        "d": ("ambiguous-order",), "e": ("ambiguous-order",),
    }  # fmt: skip


def test_observations_of_several_traces_are_several_traces(tmp_path: Path) -> None:
    found = [made("a"), {**made("b"), "traceId": "u"}, made("c", at=1)]
    traces, failures = read_bytes(json.dumps({"data": found}).encode(), tmp_path, "x.json")
    assert failures == []
    assert [(t.id, [o.id for o in t.observations]) for t in traces] == [
        ("t", ["a", "c"]), ("u", ["b"]),
    ]  # fmt: skip


def test_arguments_printed_as_python_are_read_and_other_text_stays(tmp_path: Path) -> None:
    found = [
        made("a", type="TOOL", input="{'q': 'it\\'s', 'n': None}", output="1"),
        made("b", type="TOOL", at=1, input="__import__('os').system('true')", output="2"),
        made("c", type="TOOL", at=2, input={"input": "{'q': [1, True]}"}, output="3"),
        made("d", type="TOOL", at=3, input="{'a': " * 5000, output="4"),
    ]
    trace = read_value({"observations": found}, tmp_path)
    assert [o.input for o in trace.observations[:3]] == [
        {"q": "it's", "n": None}, "__import__('os').system('true')", {"q": [1, True]},
    ]  # fmt: skip
    assert trace.observations[3].input == "{'a': " * 5000


def test_a_trace_without_observations_is_a_trace_and_other_objects_are_none(
    tmp_path: Path,
) -> None:
    empty = {"id": "t", "projectId": "p", "timestamp": "2026-01-01T00:00:00Z", "input": "q",
             "output": {"answer": 1}, "observations": [],
             "metadata": "{\"a\": {\"score\": 1}}"}  # fmt: skip
    trace = read_value(empty, tmp_path)
    assert (trace.input, trace.output) == ({"prompt": "q"}, {"answer": 1})
    assert (trace.metadata, trace.labels["metadata"]) == ({"a": {}}, {"a": {"score": 1}})
    for at, value in enumerate(
        [{"observations": []}, {"observations": [{"type": "a"}]}, {"data": 1}]
    ):
        traces, failures = read_bytes(json.dumps(value).encode(), tmp_path / str(at), "x.json")
        assert (traces, len(failures)) == ([], 1)

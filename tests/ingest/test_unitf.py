"""UniTF: 11 recorded sessions, counted again from the lines themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from reading_of import read_bytes, read_paths, read_value

from helix.grounding.fidelity import assess
from helix.model.trace import Trace

SAMPLE = "traces/mutagent_unitf/traces.jsonl"


@pytest.fixture(scope="module")
def traces(shared: Path) -> list[Trace]:
    found, failures = read_paths(str(shared / SAMPLE))
    assert failures == []
    return found


@pytest.fixture(scope="module")
def records(shared: Path) -> list[dict[str, Any]]:
    lines = (shared / SAMPLE).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_the_sample_holds_what_its_text_holds(shared: Path, traces: list[Trace]) -> None:
    text = (shared / SAMPLE).read_text(encoding="utf-8")
    tools = [tool for trace in traces for tool in trace.tools()]
    generations = [o for t in traces for o in t.observations if o.type == "GENERATION"]
    assert len(traces) == text.count('"unitf_version":') == 11
    assert len(tools) == text.count('"role": "tool"') == 175
    assert len(generations) == text.count('"kind": "llm"') == 332
    assert sum(len(t.observations) for t in traces) == 175 + 332
    assert sum(bool(tool.error) for tool in tools) == 1
    assert text.count('"role": "toolResult", "status": "error"') == 1
    assert sum(len(t.transcript) for t in traces) == 62 + 11
    flags: dict[str, int] = {}
    for trace in traces:
        for observation in trace.observations:
            for flag in observation.flags:
                flags[flag] = flags.get(flag, 0) + 1
    # Three pairs of model calls start in the same millisecond and say nothing of their order.
    assert flags == {"ambiguous-order": 6}


def test_a_call_and_its_result_are_one_observation(
    traces: list[Trace], records: list[dict[str, Any]]
) -> None:
    for record, trace in zip(records, traces, strict=True):
        assert trace.id == record["traceId"]
        calls = [s for s in record["spans"] if s["role"] == "tool"]
        results = {s["toolCallId"]: s for s in record["spans"] if s["role"] == "toolResult"}
        assert [tool.id for tool in trace.tools()] == [call["spanId"] for call in calls]
        for call, tool in zip(calls, trace.tools(), strict=True):
            result = results[call["toolCallId"]]
            assert (tool.name, tool.input) == (call["toolName"], call["input"])
            assert tool.output_text == result["output"]
            assert tool.status == result["status"]
            assert tool.parent_id == call["parentSpanId"]
        said = [s.get("input") or s.get("output") for s in record["spans"] if s["kind"] != "tool"]
        assert [m.text for m in trace.transcript] == [text for text in said if text]
        assert trace.usage["completionTokens"] == record["tokens"]["output"]


def test_incomplete_is_addressable_and_no_flag(traces: list[Trace]) -> None:
    for trace in traces:
        assert "truncated" not in trace.all_flags
        assert assess(trace, ["truncated"], []).complete
        told = assess(trace, ["truncated"], ["raw.ext.eval.incomplete"])
        assert told.reason == "the trace says raw.ext.eval.incomplete=true"


def test_scores_of_verifiers_are_labels(traces: list[Trace], records: list[dict[str, Any]]) -> None:
    for record, trace in zip(records, traces, strict=True):
        results = record["ext"]["eval"]["results"]
        assert trace.labels == {"ext": {"eval": {"results": results}}}
        assert trace.task == results[0]["task_id"]
        assert "results" not in trace.raw["ext"]["eval"]
        assert "geometry_similarity" not in json.dumps([trace.raw, trace.metadata])


def span(number: str, kind: str, role: str, **parts: Any) -> dict[str, Any]:
    return {"spanId": number, "kind": kind, "role": role, "name": role, "status": "ok", **parts}


RECORD: dict[str, Any] = {
    "unitf_version": "0.1",
    "traceId": "t1",
    "spans": [
        span("u1", "event", "user", input="yes", startTime="2026-01-01T00:00:01Z"),
        span("l1", "llm", "assistant", output="same", startTime="2026-01-01T00:00:02Z"),
        span("u2", "event", "user", input="yes", startTime="2026-01-01T00:00:03Z"),
        span("l2", "llm", "assistant", output="same", startTime="2026-01-01T00:00:04Z"),
        span("c1", "tool", "tool", toolCallId="k", toolName="look", input={"at": 1},
             parentSpanId="gone", startTime="2026-01-01T00:00:05Z"),
        span("r1", "tool", "toolResult", toolCallId="k", output={"seen": True},
             startTime="2026-01-01T00:00:06Z"),
        span("r2", "tool", "toolResult", toolCallId="z", output="whose?",
             startTime="2026-01-01T00:00:07Z"),
        span("c2", "tool", "tool", toolCallId="m", toolName="wait",
             startTime="2026-01-01T00:00:08Z"),
        span("g1", "guardrail", "policy", input="a", output="b", verdict="let it through",
             startTime="2026-01-01T00:00:09Z"),
    ],
}  # fmt: skip


def test_equal_turns_stay_two_and_what_does_not_fit_is_flagged(tmp_path: Path) -> None:
    trace = read_value(RECORD, tmp_path)
    assert [(m.id, m.role, m.text) for m in trace.transcript] == [
        ("u1", "user", "yes"),
        ("m1", "assistant", "same"),
        ("u2", "user", "yes"),
        ("m3", "assistant", "same"),
    ]
    found = {o.id: (o.type, o.name, o.output, o.flags) for o in trace.observations}
    assert found["c1"] == ("TOOL", "look", {"seen": True}, ("parent-missing",))
    assert found["r2"] == ("EVENT", "orphan-result", {"text": "whose?"}, ("orphan-result",))
    assert found["c2"] == ("TOOL", "wait", None, ("missing-result",))
    assert found["g1"] == ("GUARDRAIL", "policy", {"text": "b"}, ())
    assert trace.raw["spans"]["g1"]["verdict"] == "let it through"
    assert [m.seq for m in trace.transcript][2] < trace.observations[2].seq


@pytest.mark.parametrize("spans", [None, "text", ["text"]])
def test_a_damaged_record_is_a_failure_and_the_next_one_is_read(tmp_path: Path, spans: Any) -> None:
    lines = [json.dumps(RECORD), json.dumps(RECORD | {"spans": spans}), json.dumps(RECORD)]
    traces, failures = read_bytes("\n".join(lines).encode(), tmp_path)
    assert len(traces) == 2
    assert [failure.line for failure in failures] == [2]

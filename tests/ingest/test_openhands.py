"""OpenHands: three recorded sessions, counted from their events, and the shapes around them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from reading_of import read_bytes, read_paths, read_value

from helix.model.trace import Trace

# events, messages, tool calls (finish among them)
SAMPLES = {
    "basic.json": (4, 3, 2),
    "basic_interactions.json": (6, 6, 1),
    "wrong_initial_state.json": (8, 5, 4),
}


def sample(shared: Path, name: str) -> tuple[list[dict[str, Any]], Trace]:
    path = shared / "traces/openhands/trajs" / name
    traces, failures = read_paths(str(path))
    assert (len(traces), failures) == (1, [])
    return json.loads(path.read_text(encoding="utf-8")), traces[0]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_session_holds_what_its_events_hold(shared: Path, name: str) -> None:
    events, trace = sample(shared, name)
    functions = [e for e in events if "action" in e and "tool_call_metadata" in e]
    assert SAMPLES[name] == (len(events), len(trace.transcript), len(trace.tools()))
    assert [o.id for o in trace.observations] == [str(e["id"]) for e in functions]
    assert [o.name for o in trace.observations] == [
        e["tool_call_metadata"]["function_name"] for e in functions
    ]
    answered = {str(e["cause"]): e["content"] for e in events if "cause" in e}
    assert {o.id: o.output_text for o in trace.observations if o.has_output} == answered
    assert [o.error for o in trace.observations] == [None] * len(functions)
    assert trace.all_flags == ("derived-id",)
    assert trace.output["response"] == events[-1]["message"]
    assert trace.input["prompt"] == events[0]["args"]["content"]


def test_arguments_are_those_of_the_function_call_and_times_those_of_both_events(
    shared: Path,
) -> None:
    events, trace = sample(shared, "wrong_initial_state.json")
    run = next(o for o in trace.observations if o.name == "execute_bash")
    assert run.input["command"] == "mv /workspace/game_2048.py /workspace/2048.py"
    assert run.input_text is not None
    assert run.output["metadata"]["exit_code"] == 0
    assert run.output["success"] is True
    assert run.end_time - run.start_time == 648_763_000  # type: ignore[operator]
    call = next(e for e in events if e["id"] == 5)
    assert trace.raw["events"]["5"]["tool_call_metadata"] == call["tool_call_metadata"]
    assert "tool_call_metadata" not in trace.raw["events"]["6"]


def event(number: int, **parts: Any) -> dict[str, Any]:
    return {"id": number, "source": "agent", "timestamp": "2025-01-27T22:44:56", **parts}


def act(number: int, action: str, **args: Any) -> dict[str, Any]:
    return event(number, action=action, args=args)


def seen(number: int, cause: int, kind: str, content: str, **parts: Any) -> dict[str, Any]:
    return event(number, observation=kind, cause=cause, content=content, **parts)


SESSION = [
    event(0, source="user", action="message", args={"content": "Build it"}),
    event(1, observation="agent_state_changed", content="", extras={"agent_state": "running"}),
    act(2, "recall", query="the project"),
    seen(3, 2, "recall", "notes of the project"),
    act(7, "run", command="make", thought="Build first"),
    act(8, "run", command="make test", thought=""),
    seen(12, 8, "run", "1 failed", extras={"metadata": {"exit_code": 2}}, success=False),
    seen(11, 7, "run", "done", extras={"metadata": {"exit_code": 0}}, success=True),
    act(13, "read", path="x"),
    seen(14, 13, "error", "no such file"),
    act(15, "edit", path="y"),
    seen(16, 15, "user_rejected", "the user said no"),
    seen(17, 99, "run", "of a call that is not here"),
]


def test_cause_pairs_exit_codes_are_results_and_only_error_events_are_errors(
    tmp_path: Path,
) -> None:
    trace = read_value(SESSION, tmp_path)
    found = [(o.id, o.name, o.error, o.output) for o in trace.observations]
    assert found == [
        ("7", "run", None, {"text": "done", "success": True, "metadata": {"exit_code": 0}}),
        ("8", "run", None, {"text": "1 failed", "success": False, "metadata": {"exit_code": 2}}),
        ("13", "read", "no such file", {"text": "no such file"}),
        ("15", "edit", "the user said no", {"text": "the user said no"}),
        ("orphan-result-9", "orphan-result", None, {"text": "of a call that is not here"}),
    ]
    assert trace.all_flags == ("derived-id", "orphan-result")
    assert trace.raw["events"]["3"]["content"] == "notes of the project"
    assert trace.raw["events"]["1"]["extras"] == {"agent_state": "running"}
    assert trace.output == {}


def test_calls_of_one_model_response_stand_in_one_message(tmp_path: Path) -> None:
    metadata = {
        "function_name": "look",
        "model_response": {"id": "r1", "choices": [{"message": {"tool_calls": []}}]},
    }
    events = [
        SESSION[0],
        act(1, "read", path="a", thought="both") | {"tool_call_metadata": metadata},
        act(2, "read", path="b") | {"tool_call_metadata": metadata},
        seen(3, 2, "read", "b"),
    ]
    trace = read_value(events, tmp_path)
    assert [o.parent_id for o in trace.observations] == ["m1", "m1"]
    assert [o.input["path"] for o in trace.observations] == ["a", "b"]
    assert trace.observations[0].flags == ("missing-result",)


@pytest.mark.parametrize("pairs", [False, True], ids=["events", "pairs of events"])
def test_a_line_of_an_evaluation_has_its_id_and_its_labels(tmp_path: Path, pairs: bool) -> None:
    history: Any = [SESSION[0], act(7, "run", command="ls"), seen(8, 7, "run", "a.txt")]
    if pairs:
        history = [history[:1], history[1:]]
    line = {
        "instance_id": "repo-1",
        "instruction": "Fix the parser",
        "instance": {"patch": "the gold patch"},
        "test_result": {"git_patch": "diff --git", "report": {"resolved": True}},
        "success": True,
        "result_explanation": "it works",
        "history": history,
    }
    traces, failures = read_bytes(json.dumps(line).encode() + b"\n{}\n", tmp_path)
    assert [trace.id for trace in traces] == ["repo-1"]
    assert [o.output_text for o in traces[0].observations] == ["a.txt"]
    assert len(failures) == 1
    assert traces[0].raw["test_result"] == {"git_patch": "diff --git"}
    assert traces[0].labels == {
        "instance": {"patch": "the gold patch"},
        "test_result": {"report": {"resolved": True}},
        "success": True,
        "result_explanation": "it works",
    }

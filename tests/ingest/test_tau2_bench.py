"""tau2-bench results, by a synthetic document: no real sample yet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from reading_of import read_bytes, read_value


def say(role: str, text: str | None, *calls: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return {"role": role, "content": text, "tool_calls": list(calls) or None, **parts}


def call(key: str, name: str, requestor: str = "assistant", **arguments: Any) -> dict[str, Any]:
    return {"id": key, "name": name, "arguments": arguments, "requestor": requestor}


def result(key: str, text: str, **parts: Any) -> dict[str, Any]:
    return {"id": key, "role": "tool", "content": text, "requestor": "assistant", **parts}


USAGE = {"prompt_tokens": 100, "completion_tokens": 7}
SIMULATION: dict[str, Any] = {
    "id": "6d0c-sim",
    "task_id": 3,
    "trial": 1,
    "seed": 42,
    "termination_reason": "user_stop",
    "agent_cost": 0.25,
    "user_cost": 0.5,
    "reward_info": {"reward": 1.0, "action_checks": [{"action": {"name": "refund_booking"}}]},
    "messages": [
        say("assistant", "Hello", turn_idx=0),
        say("user", "My phone has no signal", turn_idx=1),
        say("assistant", None, call("c1", "get_line", line="L-1"), usage=USAGE),
        result("c1", '{"status": "suspended"}', error=False),
        say("assistant", "Please toggle the plane mode", usage=USAGE),
        say("user", None, call("c2", "toggle_airplane_mode", "user")),
        result("c2", "Error: the button is stuck", error=True, requestor="user"),
        say("user", "It is stuck ###STOP###"),
    ],
}
DOCUMENT: dict[str, Any] = {
    "timestamp": "2025-06-01T10:00:00",
    "info": {"environment_info": {"policy": "Be polite"}, "seed": 42},
    "tasks": [{"id": "3", "user_scenario": {"instructions": "Say it is stuck"}}],
    "simulations": [SIMULATION, SIMULATION | {"id": "7e1d-sim", "trial": 2, "task_id": 4}],
}


def test_each_simulation_is_a_trace_with_the_calls_of_agent_and_user(tmp_path: Path) -> None:
    traces, failures = read_bytes(json.dumps(DOCUMENT).encode(), tmp_path, "results.json")
    assert failures == []
    assert [(t.id, t.task, t.source.format) for t in traces] == [
        ("6d0c-sim", "3", "tau2_bench"),
        ("7e1d-sim", "4", "tau2_bench"),
    ]
    assert traces[0].source.digest != traces[1].source.digest
    line, toggle = traces[0].observations
    assert (line.id, line.input, line.output, line.error) == (
        "c1", {"line": "L-1"}, {"status": "suspended"}, None,
    )  # fmt: skip
    assert (toggle.name, toggle.error, toggle.status) == (
        "toggle_airplane_mode", "Error: the button is stuck", "error",
    )  # fmt: skip
    roles = {m.id: m.role for m in traces[0].transcript}
    assert (roles[str(line.parent_id)], roles[str(toggle.parent_id)]) == ("assistant", "user")
    assert traces[0].raw["messages"]["m6"]["requestor"] == "user"
    assert [m.control for m in traces[0].transcript][-1]
    assert traces[0].usage == {"promptTokens": 200, "completionTokens": 14, "costUsd": 0.25}
    assert traces[0].metadata["termination_reason"] == "user_stop"
    assert traces[0].all_flags == ()


def test_rewards_and_tasks_are_labels_and_nowhere_else(tmp_path: Path) -> None:
    traces, _ = read_bytes(json.dumps(DOCUMENT).encode(), tmp_path, "results.json")
    assert traces[0].labels == {
        "reward_info": SIMULATION["reward_info"],
        "task": DOCUMENT["tasks"][0],
    }
    assert set(traces[1].labels) == {"reward_info"}
    rest = json.dumps([traces[0].raw, traces[0].metadata, traces[0].input, traces[0].output])
    assert "refund_booking" not in rest
    assert "Say it is stuck" not in rest
    assert traces[0].raw["info"]["environment_info"]["policy"] == "Be polite"


def test_one_simulation_alone_is_read_and_results_pair_by_id(tmp_path: Path) -> None:
    messages = [
        say("user", "Both, please"),
        say("assistant", None, call("a", "one"), call("b", "two")),
        result("b", "2"),
        result("a", "1"),
    ]
    trace = read_value(SIMULATION | {"messages": messages}, tmp_path)
    assert [(o.name, o.output_text) for o in trace.observations] == [("one", "1"), ("two", "2")]
    assert trace.source.format == "tau2_bench"


@pytest.mark.parametrize("bad", ["text", {"messages": None}, {"messages": ["text"]}])
def test_a_damaged_simulation_is_a_failure(tmp_path: Path, bad: Any) -> None:
    document = DOCUMENT | {"simulations": [SIMULATION, SIMULATION, SIMULATION, bad]}
    traces, failures = read_bytes(json.dumps(document).encode(), tmp_path, "results.json")
    assert len(traces) == 3
    assert len(failures) == 1

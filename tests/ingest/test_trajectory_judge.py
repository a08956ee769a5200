"""trajectory-judge: 81 generated runs, counted again from the lines themselves."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from reading_of import read_bytes, read_paths, read_value

from helix.model.trace import Trace

SAMPLE = "traces/trajectory_judge_generated/trajectories_seed7.jsonl"


@pytest.fixture(scope="module")
def traces(shared: Path) -> list[Trace]:
    found, failures = read_paths(str(shared / SAMPLE))
    assert failures == []
    return found


@pytest.fixture(scope="module")
def text(shared: Path) -> str:
    return (shared / SAMPLE).read_text(encoding="utf-8")


def test_the_sample_holds_what_its_text_holds(traces: list[Trace], text: str) -> None:
    calls = [call for trace in traces for call in trace.tools()]
    assert len(traces) == text.count('"trajectory_id":') == 81
    assert len(calls) == text.count('"call":') == 456
    failed = [call for call in calls if call.error]
    assert len(failed) == text.count('"ok":false') == 10
    assert {call.status for call in failed} == {"error"}
    assert {flag for trace in traces for flag in trace.all_flags} == {"derived-id"}
    said = sum(len(trace.transcript) for trace in traces)
    assert said == text.count('"thought":') + 2 * len(traces)


def test_a_step_is_one_observation_with_the_data_that_came_back(
    traces: list[Trace], text: str
) -> None:
    for line, trace in zip(text.splitlines(), traces, strict=True):
        run = json.loads(line)
        assert trace.task == run["instance_id"]
        assert trace.input == {"prompt": run["goal"]}
        assert trace.output == {"response": run["final_answer"]}
        for step, call in zip(run["steps"], trace.observations, strict=True):
            assert (call.id, call.name) == (f"s{step['index']}", step["call"]["tool"])
            assert call.input == step["call"]["args"]
            assert call.output == step["observation"]["data"]
            assert call.error == step["observation"]["error"]
            assert call.parent_id == f"m{step['index']}"


def test_an_id_that_spells_the_label_out_is_a_label(traces: list[Trace], text: str) -> None:
    kinds = set(re.findall(r'"failure_type":"(\w+)"', text))
    assert len(kinds) == 6
    for trace in traces:
        assert trace.labels["trajectory_id"].startswith(str(trace.task))
        assert trace.id.startswith(f"{trace.task}-")
        assert not any(kind in trace.id for kind in kinds | {"clean"})
    assert len({trace.id for trace in traces}) == len(traces)


def test_an_id_that_tells_nothing_is_kept(tmp_path: Path) -> None:
    run = RUN | {"trajectory_id": "run-17", "label": {"faulty": True, "failure_type": "x9"}}
    trace = read_value(run, tmp_path)
    assert trace.id == "run-17"
    assert trace.labels == {"label": {"faulty": True, "failure_type": "x9"}}


def test_the_instances_beside_the_runs_are_no_traces(shared: Path) -> None:
    folder = str(shared / "traces" / "trajectory_judge_generated")
    _, failures = read_paths(folder)
    assert len(failures) == 1
    assert "no known trace format" in failures[0].reason


RUN: dict[str, Any] = {
    "trajectory_id": "t1",
    "goal": "Water the plants",
    "steps": [
        {"index": 0, "thought": "look", "call": {"tool": "look", "args": {}, "mode": "slow"},
         "observation": {"ok": True, "data": ["fern"], "error": None, "took": "3 seconds"}},
        {"index": 1, "thought": None, "call": {"tool": "pour"}, "observation": None},
        {"index": 2, "thought": "done", "call": None, "observation": {"note": "nothing to do"}},
        {"index": 3, "thought": "x", "call": {"tool": "end", "args": "[1"},
         "observation": {"ok": False, "data": "text", "error": None}},
    ],
    "final_answer": None,
    "label": None,
}  # fmt: skip


def test_what_has_no_place_stays_addressable_and_nothing_is_made_up(tmp_path: Path) -> None:
    trace = read_value(RUN, tmp_path)
    look, pour, end = trace.observations
    assert look.output == ["fern"]
    assert pour.flags == ("missing-result",)
    assert (pour.input, pour.has_output) == ({}, False)
    assert (end.output, end.error, end.status) == ({"text": "text"}, "error", "error")
    assert end.flags == ("invalid-arguments",)
    assert trace.raw["steps"] == {
        "s0": {"observation": {"took": "3 seconds"}, "call": {"mode": "slow"}},
        "s2": {"observation": {"note": "nothing to do"}},
    }
    assert trace.output == {}
    assert trace.labels == {}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"steps": ["step"]}, "steps[0] must be an object"),
        ({"steps": [{"call": "look", "observation": {}}]}, "steps[0].call must be an object"),
        ({"steps": {}}, "must be an object with a list 'steps'"),
    ],
)
def test_a_damaged_run_is_a_failure_and_the_next_one_is_read(
    tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    lines = [json.dumps(RUN), json.dumps(RUN | change), json.dumps(RUN | {"trajectory_id": "t3"})]
    traces, failures = read_bytes("\n".join(lines).encode(), tmp_path)
    assert [trace.id for trace in traces] == ["t1", "t3"]
    assert [failure.line for failure in failures] == [2]
    assert told in failures[0].reason

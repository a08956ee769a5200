"""The recorded tau-bench and AgentRx runs, counted again from the JSON itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reading_of import read_paths

from helix.ingest import from_dict
from helix.model.trace import Trace

SETS = {
    "tau_bench": "tau_bench_airline_gpt4o/*.json",
    "agentrx": "agentrx_tau_retail/task*.json",
}


def runs(shared: Path, name: str) -> Iterator[tuple[dict[str, Any], Trace]]:
    traces, failures = read_paths(str(shared / "traces" / SETS[name]))
    assert failures == []
    for trace in traces:
        yield json.loads(Path(trace.source.file).read_text(encoding="utf-8")), trace


def calls_of(run: dict[str, Any]) -> list[dict[str, Any]]:
    return [call for message in run["traj"] for call in message.get("tool_calls") or ()]


@pytest.mark.parametrize("name", SETS)
def test_every_run_has_the_messages_calls_and_results_that_its_json_has(
    shared: Path, name: str
) -> None:
    seen = 0
    for run, trace in runs(shared, name):
        seen += 1
        said = [m for m in run["traj"] if m["role"] != "tool"]
        results = [m for m in run["traj"] if m["role"] == "tool"]
        calls = calls_of(run)
        assert trace.source.format == name
        assert [(m.role, m.text) for m in trace.transcript] == [
            (m["role"], m["content"] or "") for m in said
        ]
        assert [o.name for o in trace.observations] == [c["function"]["name"] for c in calls]
        assert [o.input for o in trace.observations] == [
            json.loads(c["function"]["arguments"]) for c in calls
        ]
        # Every run here answers each call before the next, so order alone says what belongs where.
        assert [o.output_text for o in trace.observations] == [m["content"] for m in results]
        errors = [m for m in results if m["content"].startswith("Error")]
        found = [o for o in trace.observations if (o.output_text or "").startswith("Error")]
        assert len(found) == len(errors)
        assert all(o.error is None and o.status is None for o in trace.observations)
    assert seen == 15


@pytest.mark.parametrize("name", SETS)
def test_one_seq_runs_through_messages_and_calls_in_the_order_of_the_run(
    shared: Path, name: str
) -> None:
    for run, trace in runs(shared, name):
        expected: list[str] = []
        for message in run["traj"]:
            expected += ["message"] if message["role"] != "tool" else []
            expected += ["call"] * len(message.get("tool_calls") or ())
        kinds = {m.seq: "message" for m in trace.transcript}
        kinds |= {o.seq: "call" for o in trace.observations}
        assert [kinds[seq] for seq in range(len(kinds))] == expected
        ids = [trace.id, *(m.id for m in trace.transcript), *(o.id for o in trace.observations)]
        assert len(ids) == len(set(ids))
        for observation in trace.observations:
            parent = next(m for m in trace.transcript if m.id == observation.parent_id)
            assert observation.id in parent.observation_ids


@pytest.mark.parametrize(
    ("name", "offset"), [("tau_bench", 0), ("agentrx", 1)], ids=["from 0", "from 1"]
)
def test_a_message_id_is_its_place_in_the_run(shared: Path, name: str, offset: int) -> None:
    for run, trace in runs(shared, name):
        by_id = {f"m{at + offset}": m for at, m in enumerate(run["traj"])}
        assert all(by_id[m.id]["content"] in (m.text, None) for m in trace.transcript)
        for observation in trace.observations:
            result = by_id[trace.raw["results"][observation.id]]
            assert result["content"] == observation.output_text


@pytest.mark.parametrize("name", SETS)
def test_ids_and_tasks_are_those_of_the_source(shared: Path, name: str) -> None:
    for run, trace in runs(shared, name):
        task = str(run["task_id"])
        assert trace.task == task
        assert trace.id == (f"{task}-{run['trial']}" if name == "tau_bench" else task)


@pytest.mark.parametrize("name", SETS)
def test_a_repeated_call_id_is_paired_in_order_and_flagged(shared: Path, name: str) -> None:
    for run, trace in runs(shared, name):
        keys = [call["id"] for call in calls_of(run)]
        repeated = [at for at, key in enumerate(keys) if key in keys[:at]]
        flagged = [at for at, o in enumerate(trace.observations) if "duplicate-id" in o.flags]
        assert flagged == repeated
        assert not {"ambiguous-pairing", "missing-result"} & set(trace.all_flags)


@pytest.mark.parametrize("name", SETS)
def test_the_response_is_what_the_agent_said_after_its_last_call(shared: Path, name: str) -> None:
    for run, trace in runs(shared, name):
        response = None
        for message in run["traj"]:
            if message.get("tool_calls"):
                response = None
            elif message["role"] == "assistant":
                response = message["content"]
        assert trace.output.get("response") == response
        assert trace.input["system"] == run["traj"][0]["content"]
        first = next(m for m in run["traj"] if m["role"] == "user")
        assert trace.input["prompt"] == first["content"]


@pytest.mark.parametrize("name", SETS)
def test_stop_marks_of_the_simulated_user_are_control(shared: Path, name: str) -> None:
    for _, trace in runs(shared, name):
        marked = [m for m in trace.transcript if "###STOP###" in m.text and m.role == "user"]
        assert [m for m in trace.transcript if m.control] == marked


@pytest.mark.parametrize("name", SETS)
def test_nothing_that_says_what_is_right_is_outside_the_labels(shared: Path, name: str) -> None:
    for run, trace in runs(shared, name):
        task = run["info"]["task"]
        assert trace.labels["reward"] == run["reward"]
        assert trace.labels["info"]["task"] == task
        assert trace.labels["info"].get("reward_info") == run["info"]["reward_info"]
        shown = json.dumps(
            [trace.part(root) for root in ("input", "output", "metadata", "usage", "raw")]
        )
        assert task["instruction"] not in shown
        assert '"reward' not in shown
        assert '"actions"' not in shown
        assert "gt_data_hash" not in shown
        assert set(trace.raw["info"]) == set(run["info"]) - {"task", "reward_info"}


@pytest.mark.parametrize("name", SETS)
def test_a_run_written_as_canonical_record_reads_back_the_same(shared: Path, name: str) -> None:
    for _, trace in runs(shared, name):
        record = json.loads(json.dumps(trace.to_dict()))
        assert from_dict(record, trace.source).to_dict() == record


def test_labels_schemas_and_other_formats_beside_the_runs_are_failures_and_no_traces(
    shared: Path,
) -> None:
    traces, failures = read_paths(str(shared / "traces" / "agentrx_tau_retail"))
    assert {trace.source.format for trace in traces} == {"agentrx"}
    assert [(Path(f.file).name, f.line) for f in failures] == [
        ("labels_tau_ground_truth.json", 0),
        ("tools_structure.json", 0),
    ]
    assert "trajectory_id, failures" in failures[0].reason
    assert "are known: helix plugins lists them" in failures[0].reason

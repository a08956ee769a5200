"""ATIF trajectories: results by id or by their step, copied context once, sub-agents inside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from leaves import leaves
from reading_of import read_bytes, read_paths, read_value

from helix.model.trace import Trace

NONE: frozenset[str] = frozenset()
# file, then per trace: id, messages, tool calls, other observations, flags
SAMPLES: dict[str, list[tuple[str, int, int, int, frozenset[str]]]] = {
    "agentpile/atif_two.jsonl": [("fx-1", 5, 3, 0, NONE), ("fx-2", 5, 3, 0, NONE)],
    "letta/cleanup/input.json": [("trajectory-atif-cleanup", 4, 1, 2, NONE)],
    "letta/tool-calls/input.json": [("trajectory-atif-1", 3, 2, 0, NONE)],
    "phoenix_client/harbor_openhands.json": [
        ("harbor-openhands-hello-world", 6, 2, 0, frozenset({"missing-result"})),
    ],
    "phoenix_client/harbor_terminus2_continuation.json": [
        ("harbor-terminus2-continuation", 5, 0, 3, NONE),
    ],
    "phoenix_client/harbor_terminus2_continuation_cont1.json": [
        ("harbor-terminus2-continuation-cont-1", 8, 0, 4, frozenset({"copied-context"})),
    ],
    "phoenix_client/harbor_terminus2_invalid_json.json": [
        ("harbor-terminus2-invalid-json", 5, 3, 1, frozenset({"paired-by-position"})),
    ],
    "phoenix_client/multimodal_trajectory.json": [("sess-multimodal-test", 3, 1, 0, NONE)],
    "phoenix_client/parallel_tools_mixed_results.json": [("sess-parallel-mixed", 3, 3, 0, NONE)],
    "phoenix_client/subagent_trajectories.json": [
        ("sess-parent-001", 3, 1, 0, NONE),
        ("sess-child-summary-001", 3, 0, 0, frozenset({"copied-context"})),
    ],
    "phoenix_client/v17_embedded_subagents.json": [
        ("parent-doc", 4, 1, 2, frozenset({"copied-context"})),
    ],
}  # fmt: skip


def traces_of(shared: Path, name: str) -> list[Trace]:
    traces, failures = read_paths(str(shared / "traces" / "atif" / name))
    assert failures == []
    return traces


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_has_the_counts_of_the_table(shared: Path, name: str) -> None:
    found = []
    for trace in traces_of(shared, name):
        tools = len(trace.tools())
        others = len(trace.observations) - tools
        flags = frozenset(trace.all_flags)
        found.append((trace.id, len(trace.transcript), tools, others, flags))
        assert trace.source.format == "atif"
        assert all(o.error is None and o.status is None for o in trace.observations)
    assert found == SAMPLES[name]


def documents(shared: Path, name: str) -> list[Any]:
    text = (shared / "traces" / "atif" / name).read_text(encoding="utf-8")
    if name.endswith(".jsonl"):
        return [json.loads(line) for line in text.splitlines()]
    value = json.loads(text)
    return [value] if "steps" in value else list(value.values())


@pytest.mark.parametrize("name", SAMPLES)
def test_messages_calls_and_results_are_those_of_the_json(shared: Path, name: str) -> None:
    for value, trace in zip(documents(shared, name), traces_of(shared, name), strict=True):
        steps = value["steps"]
        assert [m.role for m in trace.transcript] == [
            {"agent": "assistant"}.get(s["source"], s["source"]) for s in steps
        ]
        plain = [s["message"] for s in steps if isinstance(s["message"], str)]
        assert [m.text for m in trace.transcript if "[image" not in m.text] == plain
        calls = [c for s in steps for c in s.get("tool_calls", ())]
        assert [(o.id, o.name, o.input) for o in trace.tools()] == [
            (c["tool_call_id"], c["function_name"], c["arguments"]) for c in calls
        ]
        by_id = {
            r["source_call_id"]: r.get("content")
            for s in steps
            for r in s.get("observation", {}).get("results", ())
            if "source_call_id" in r
        }
        for observation in trace.tools():
            content = by_id.get(observation.id)
            if isinstance(content, str):
                assert observation.output_text == content
        final = value.get("final_metrics", {})
        assert trace.usage.get("promptTokens") == final.get("total_prompt_tokens")
        assert trace.usage.get("costUsd") == final.get("total_cost_usd")


@pytest.mark.parametrize("name", SAMPLES)
def test_every_text_is_reachable_or_a_label(shared: Path, name: str) -> None:
    held: set[str] = set()
    labels: set[str] = set()
    for trace in traces_of(shared, name):
        for root in ("input", "output", "observations", "transcript", "metadata", "usage", "raw"):
            held |= set(leaves(trace.part(root)))
        labels |= set(leaves(trace.labels))
    texts = {x for v in documents(shared, name) for x in leaves(v) if len(x) >= 8}
    lost = {x for x in texts if not any(x in text for text in held)}
    assert lost <= labels
    assert not lost or name.startswith("agentpile")


def test_labels_of_a_converter_are_labels(shared: Path) -> None:
    trace = traces_of(shared, "agentpile/atif_two.jsonl")[0]
    told = trace.labels["extra"]["agentpile"]
    assert told["outcome"]["success"] is False
    assert [label["name"] for label in told["labels"]] == ["mistake_step", "mistake_agent"]
    assert "mistake" not in json.dumps(trace.raw)
    assert "outcome" not in json.dumps(trace.raw)


def test_an_embedded_sub_agent_is_inside_the_call_that_started_it(shared: Path) -> None:
    trace = traces_of(shared, "phoenix_client/v17_embedded_subagents.json")[0]
    call, agent, compaction = trace.observations
    assert (call.id, call.type, call.start_time) == ("call_delegate", "TOOL", 1776679201 * 10**9)
    assert (agent.id, agent.type, agent.name) == ("child-doc", "AGENT", "researcher")
    assert agent.parent_id == call.id
    assert agent.input == {"prompt": "Research ATIF v1.7 embedded subagents."}
    assert agent.end_time - agent.start_time == 10**9 // 2
    assert (compaction.type, compaction.name) == ("EVENT", "observation")
    assert compaction.output["text"].startswith("Compacted context")


def test_a_file_beside_a_text_is_named_where_it_stands(shared: Path) -> None:
    trace = traces_of(shared, "letta/tool-calls/input.json")[0]
    assert trace.transcript[0].text == ("Inspect the workspace.\n[image/png: images/workspace.png]")
    assert trace.observations[0].output_text == "README.md\npackage.json"
    assert trace.observations[1].output_text is None
    refs = trace.raw["steps"]["step-2"]["observation"]["results"][1]["subagent_trajectory_ref"]
    assert refs[0]["trajectory_path"] == "subagents/config.json"


def step(at: int, **parts: Any) -> dict[str, Any]:
    return {"step_id": at, "source": "agent", "message": "", **parts}


def call(key: str | None, name: str = "run", **arguments: Any) -> dict[str, Any]:
    return {"tool_call_id": key, "function_name": name, "arguments": arguments}


def results(*found: Any) -> dict[str, Any]:
    return {"results": list(found)}


def run_of(*steps: Any, **parts: Any) -> dict[str, Any]:
    return {"schema_version": "ATIF-v1.8", "trajectory_id": "t", "steps": list(steps), **parts}


def test_a_result_without_an_id_is_that_of_the_one_call_of_its_step(tmp_path: Path) -> None:
    value = run_of(
        step(1, tool_calls=[call("a")]),
        step(2, tool_calls=[call("b")], observation=results({"content": "done"})),
        step(3, tool_calls=[call("c"), call("d")], observation=results({"content": "both?"})),
        step(4, observation=results({"content": "a screen"})),
        step(5, observation=results({"content": "?", "source_call_id": "nobody"})),
    )
    trace = read_value(value, tmp_path)
    assert [(o.name, o.type, o.output_text, o.flags) for o in trace.observations] == [
        ("run", "TOOL", None, ("missing-result",)),
        ("run", "TOOL", "done", ("paired-by-position",)),
        ("run", "TOOL", None, ("ambiguous-pairing",)),
        ("run", "TOOL", None, ("ambiguous-pairing",)),
        ("orphan-result", "EVENT", "both?", ("ambiguous-pairing",)),
        ("observation", "EVENT", "a screen", ()),
        ("orphan-result", "EVENT", "?", ("orphan-result",)),
    ]


def test_a_copied_call_is_kept_and_not_counted(tmp_path: Path) -> None:
    value = run_of(
        step(1, tool_calls=[call("a")],
             observation=results({"content": "x", "source_call_id": "a"}),
             is_copied_context=True, metrics={"prompt_tokens": 5}),
        step(2, tool_calls=[call("b")], observation=results({"content": "y"}),
             metrics={"prompt_tokens": 7}),
    )  # fmt: skip
    trace = read_value(value, tmp_path)
    assert [o.id for o in trace.tools()] == ["b"]
    copied = trace.observations[0]
    assert (copied.id, copied.type, copied.output_text) == ("a", "EVENT", "x")
    assert copied.flags == ("copied-context",)
    assert trace.usage == {"promptTokens": 7}


def test_sub_agents_of_sub_agents_are_inside_them_and_labels_stay_labels(tmp_path: Path) -> None:
    inner = run_of(step(1, tool_calls=[call("a", "dig")]), trajectory_id="inner")
    outer = run_of(
        step(0, message="First"),
        step(1, message="Going", tool_calls=[call("a", "ask")], extra={"reward": 1, "note": "n"},
             observation=results({"source_call_id": "a", "content": "ok",
                                  "subagent_trajectory_ref": [{"trajectory_id": "inner"}]})),
        trajectory_id="outer", subagent_trajectories=[inner], extra={"score": 0.5},
    )  # fmt: skip
    trace = read_value(run_of(step(1), subagent_trajectories=[outer]), tmp_path)
    assert [(o.id, o.type, o.parent_id) for o in trace.observations] == [
        ("outer", "AGENT", None), ("a", "TOOL", "outer"),
        ("inner", "AGENT", "a"), ("a#2", "TOOL", "inner"),
    ]  # fmt: skip
    assert trace.labels == {
        "subagent_trajectories": [
            {"extra": {"score": 0.5}, "steps": {"step-1": {"reward": 1}}},
        ]
    }
    assert "reward" not in json.dumps(trace.raw)
    assert trace.raw["subagent_trajectories"][0]["steps"]["step-0"]["message"] == "First"
    assert trace.observations[0].output_text == "Going"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (run_of(5), "steps"),
        (run_of(step(1, tool_calls=[{"tool_call_id": "a"}])), "step-1"),
        (run_of(step(1, tool_calls="none")), "step-1"),
        (run_of(step(1, observation=results(1))), "step-1"),
        (run_of(step(1), subagent_trajectories=[1]), "subagent_trajectories"),
    ],
)
def test_a_malformed_trajectory_is_a_failure_that_names_the_place(
    value: Any, told: str, tmp_path: Path
) -> None:
    traces, failures = read_bytes(json.dumps(value).encode(), tmp_path, "t.json", format="atif")
    assert traces == []
    assert failures[0].reason.startswith("atif: ")
    assert told in failures[0].reason

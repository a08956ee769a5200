"""SWE-agent and mini-swe-agent runs: two copies of one run count once, demonstrations never."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from leaves import leaves
from reading_of import read_bytes, read_paths, read_value

from helix.model.trace import Trace

# file (its beginning or end), tool calls, messages, calls of bash, flags
SAMPLES = {
    "crypto__BabyTimeCapsule": (9, 11, 9, {"derived-id"}),
    "crypto__eps": (14, 16, 14, {"derived-id"}),
    "gpt4__swe-agent__test-repo__default_from_url": (5, 7, 5, {"derived-id"}),
    "mallow-1867__xml_sys-env_window100": (11, 13, 11, {"derived-id"}),
    "man_thought__swe-bench-HumanEvalFix-python": (5, 7, 5, {"derived-id"}),
    "misc__networking_1": (4, 6, 4, {"derived-id"}),
    "rev__rock": (12, 14, 12, {"derived-id"}),
    "rshmallow-code__marshmallow-1867": (11, 13, 4, {"derived-id", "duplicate-id"}),
    "shmallow-code__marshmallow-1867": (13, 15, 6, {"derived-id", "duplicate-id"}),
    "swe-agent-test-repo__default_from_url": (5, 7, 2, {"derived-id"}),
    "web__i_got_id_demo": (21, 23, 21, {"derived-id"}),
}  # fmt: skip


def runs(shared: Path) -> Iterator[tuple[str, dict[str, Any], Trace]]:
    traces, failures = read_paths(str(shared / "traces" / "swe_agent_traj" / "swe_agent"))
    assert failures == []
    for trace in traces:
        path = Path(trace.source.file)
        yield path.name, json.loads(path.read_text(encoding="utf-8")), trace


def test_every_sample_has_the_counts_of_the_table(shared: Path) -> None:
    found = {}
    for name, _, trace in runs(shared):
        key = next(key for key in SAMPLES if name.startswith(key))
        shell = len(trace.tools("bash"))
        flags = set(trace.all_flags)
        found[key] = (len(trace.tools()), len(trace.transcript), shell, flags)
        assert len(trace.observations) == len(trace.tools())
        assert all(o.error is None and o.status is None for o in trace.observations)
    assert found == SAMPLES


def test_steps_are_counted_once_though_the_file_holds_them_twice(shared: Path) -> None:
    seen = 0
    for _, run, trace in runs(shared):
        seen += 1
        steps = run["trajectory"]
        assert len(trace.tools()) == len(steps)
        said = [m.text for m in trace.transcript if m.role == "assistant"]
        assert said == [step["response"] for step in steps]
        assert [o.output_text for o in trace.observations] == [s["observation"] for s in steps]
        opening = []
        for message in run["history"]:
            if message["role"] == "assistant" and not message.get("is_demo"):
                break
            opening += [] if message.get("is_demo") else [message["content"]]
        assert [m.text for m in trace.transcript[: len(opening)]] == opening
        spelled = [c for m in run["history"] for c in m.get("tool_calls") or ()]
        called = [o for o in trace.observations if o.input_text is not None]
        assert [o.name for o in called] == [c["function"]["name"] for c in spelled]
        assert [o.input for o in called] == [
            json.loads(c["function"]["arguments"]) for c in spelled
        ]
        commands = [o.input["command"] for o in trace.observations if o.input_text is None]
        assert commands == [s["action"] for s in steps][len(called) :]
        assert trace.output["response"] == run["info"]["submission"]
        assert trace.output["exitStatus"] == "submitted"
    assert seen == 11


def test_no_text_is_lost_but_demonstrations(shared: Path) -> None:
    for _, run, trace in runs(shared):
        roots = ("input", "output", "observations", "transcript", "usage", "raw")
        held = {text for root in roots for text in leaves(trace.part(root))}
        lost = {
            text
            for text in leaves(run)
            if len(text) >= 8 and text not in held and not any(text in m for m in held)
        }
        demos = [m["content"] for m in run["history"] if m.get("is_demo")]
        assert lost == set(demos)
        left = trace.raw.get("leftOut", {})
        assert left.get("demonstrations", 0) == len(demos)
        copies = [m for s in run["trajectory"] for m in s.get("messages") or ()]
        fresh = [m for s in trace.raw["steps"].values() for m in s.get("messages") or ()]
        assert left.get("repeatedMessages", 0) == len(copies) - len(fresh)


STEP = {
    "action": "ls\n",
    "observation": "a.py",
    "response": "Look.\n```\nls\n```",
    "thought": "Look.",
}


CALLER = {"role": "assistant", "action": "ls\n"}


def test_a_run_of_steps_alone_is_read(tmp_path: Path) -> None:
    trace = read_value({"trajectory": [STEP], "info": {"exit_status": "exit_cost"}}, tmp_path)
    assert trace.source.format == "swe_agent"
    assert [(o.name, o.input, o.output_text) for o in trace.observations] == [
        ("bash", {"command": "ls\n"}, "a.py")
    ]
    assert trace.output == {"exitStatus": "exit_cost"}
    assert trace.usage == {}


def test_a_run_of_history_alone_is_read_and_its_demonstration_left_out(tmp_path: Path) -> None:
    history = [
        {"role": "system", "content": "You are a programmer."},
        {"role": "user", "content": "A demonstration of it all", "is_demo": True},
        {"role": "assistant", "content": "demo", "action": "rm x", "is_demo": True},
        {"role": "user", "content": "Fix it."},
        {"role": "assistant", "content": "Look.", "action": "ls", "thought": "Look."},
        {"role": "user", "content": "a.py"},
        {"role": "assistant", "content": "Edit.", "action": "edit", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "edit", "arguments": "{\"n\":1}"}}
        ]},
        {"role": "tool", "content": "done", "tool_call_ids": ["c1"]},
    ]  # fmt: skip
    trace = read_value({"history": history, "trajectory": [], "info": {}}, tmp_path)
    assert [m.text for m in trace.transcript] == [
        "You are a programmer.", "Fix it.", "Look.", "Edit.",
    ]  # fmt: skip
    assert [(o.id, o.name, o.output_text, o.flags) for o in trace.observations] == [
        ("call-3", "bash", "a.py", ("paired-by-position",)),
        ("c1", "edit", "done", ()),
    ]
    assert trace.raw["leftOut"] == {"demonstrations": 2}


def test_a_step_without_a_result_is_flagged_and_one_without_an_action_is_no_call(
    tmp_path: Path,
) -> None:
    steps = [
        {**STEP, "observation": None},
        {"action": "", "observation": "Exited (format)", "response": "?"},
    ]
    trace = read_value({"trajectory": steps, "history": []}, tmp_path)
    assert [(o.type, o.name, o.flags) for o in trace.observations] == [
        ("TOOL", "bash", ("missing-result",)),
        ("EVENT", "observation", ()),
    ]


def test_one_observation_for_several_calls_belongs_to_none(tmp_path: Path) -> None:
    calls = [{"id": k, "function": {"name": "bash", "arguments": "{}"}} for k in ("a", "b")]
    history = [{"role": "assistant", "content": "", "action": "ls\n", "tool_calls": calls}]
    trace = read_value({"trajectory": [STEP], "history": history}, tmp_path)
    assert [o.flags for o in trace.tools()] == [("ambiguous-pairing",)] * 2
    assert [o.output_text for o in trace.observations] == [None, None, "a.py"]


def test_the_task_is_the_problem_and_two_runs_of_it_do_not_collide(tmp_path: Path) -> None:
    config = json.dumps({"problem_statement": {"id": "repo-7"}})
    made = [{"trajectory": [{**STEP, "action": a}], "replay_config": config} for a in ("x", "y")]
    traces = [read_value(value, tmp_path / str(at)) for at, value in enumerate(made)]
    assert [trace.task for trace in traces] == ["repo-7", "repo-7"]
    assert len({trace.id for trace in traces}) == 2


@pytest.mark.parametrize(
    "value",
    [
        {"trajectory": [STEP, 5], "history": []},
        {"trajectory": [STEP], "history": [{**CALLER, "tool_calls": [1]}]},
        {"trajectory": [STEP], "history": "all of it"},
    ],
)  # fmt: skip
def test_a_malformed_run_is_a_failure_in_words(value: Any, tmp_path: Path) -> None:
    data = json.dumps(value).encode()
    traces, failures = read_bytes(data, tmp_path, "run.traj", format="swe_agent")
    assert traces == []
    assert failures[0].reason.startswith("swe_agent: ")


# --- mini-swe-agent ---


def mini(shared: Path) -> Trace:
    folder = shared / "traces" / "swe_agent_traj" / "mini_swe_agent"
    traces, failures = read_paths(str(folder / "local.traj.json"))
    assert (len(traces), failures) == (1, [])
    return traces[0]


def test_the_blocks_of_the_sample_are_calls_and_the_turns_after_them_results(shared: Path) -> None:
    trace = mini(shared)
    messages = json.loads(Path(trace.source.file).read_text(encoding="utf-8"))
    assert trace.source.format == "mini_swe_agent"
    fenced = [m["content"].split("```")[1] for m in messages if m["role"] == "assistant"]
    commands = [text.partition("\n")[2].rstrip("\n") for text in fenced]
    assert [o.input["command"] for o in trace.tools("bash")] == commands
    assert [o.output_text for o in trace.observations] == [
        messages[at + 1]["content"] for at, m in enumerate(messages) if m["role"] == "assistant"
    ]
    assert len(trace.transcript) == len(messages) - len(commands)
    assert trace.all_flags == ("derived-id", "paired-by-position")


def test_a_run_of_version_2_is_read_by_its_tool_calls(tmp_path: Path) -> None:
    value = {
        "trajectory_format": "mini-swe-agent-1.1",
        "instance_id": "repo-7",
        "info": {"mini_version": "2.0.0", "exit_status": "Submitted", "submission": "diff",
                 "model_stats": {"instance_cost": 0.25, "api_calls": 1}},
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Fix it."},
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "c1", "type": "function",
                 "function": {"name": "bash", "arguments": "{\"command\": \"ls\"}"}}],
             "extra": {"actions": [{"command": "ls", "tool_call_id": "c1"}], "timestamp": 1.5}},
            {"role": "tool", "tool_call_id": "c1", "content": "<returncode>-1</returncode>",
             "extra": {"returncode": -1, "raw_output": "", "timestamp": 2.25,
                       "exception_info": "timed out"}},
            {"role": "exit", "content": "diff", "extra": {"exit_status": "Submitted"}},
        ],
    }  # fmt: skip
    trace = read_value(value, tmp_path)
    assert trace.source.format == "mini_swe_agent"
    call = trace.observations[0]
    assert len(trace.observations) == 1
    assert (call.id, call.name, call.input, call.flags) == ("c1", "bash", {"command": "ls"}, ())
    assert (call.error, call.status) == ("timed out", "error")
    assert (call.start_time, call.end_time) == (1_500_000_000, 2_250_000_000)
    assert trace.output == {"response": "diff", "exitStatus": "Submitted"}
    assert trace.usage == {"costUsd": 0.25}
    assert trace.task == "repo-7"
    assert trace.raw["messages"]["m3"]["extra"]["returncode"] == -1


def test_a_run_of_the_responses_api_is_read_by_its_items(tmp_path: Path) -> None:
    value = {
        "trajectory_format": "mini-swe-agent-1.1",
        "messages": [
            {"role": "user", "content": "Fix it."},
            {"object": "response", "output": [
                {"type": "reasoning", "summary": [{"text": "I should look first"}]},
                {"type": "message", "content": [{"type": "output_text", "text": "Look."}]},
                {"type": "function_call", "call_id": "c1", "name": "bash",
                 "arguments": "{\"command\": \"ls\"}"}]},
            {"type": "function_call_output", "call_id": "c1", "output": "a.py"},
        ],
    }  # fmt: skip
    trace = read_value(value, tmp_path)
    assert [m.text for m in trace.transcript] == ["Fix it.", "Look."]
    assert [(o.id, o.input, o.output_text) for o in trace.observations] == [
        ("c1", {"command": "ls"}, "a.py")
    ]
    assert "I should look first" in json.dumps(trace.raw)


def test_actions_of_a_turn_are_answered_in_their_order_and_two_blocks_are_no_call(
    tmp_path: Path,
) -> None:
    value = {
        "trajectory_format": "mini-swe-agent-1",
        "messages": [
            {"role": "assistant", "content": "both", "extra": {
                "actions": [{"command": "ls"}, {"command": "pwd"}]}},
            {"role": "user", "content": "a.py", "extra": {"returncode": 0}},
            {"role": "user", "content": "/src", "extra": {"returncode": 0}},
            {"role": "assistant", "content": "```bash\nls\n```\n```bash\npwd\n```"},
            {"role": "user", "content": "exactly one, please"},
        ],
    }  # fmt: skip
    trace = read_value(value, tmp_path)
    assert [(o.input["command"], o.output_text) for o in trace.observations] == [
        ("ls", "a.py"), ("pwd", "/src"),
    ]  # fmt: skip
    assert [m.role for m in trace.transcript] == ["assistant", "assistant", "user"]


def test_a_chat_about_bash_stays_a_chat(tmp_path: Path) -> None:
    messages = [
        {"role": "system", "content": "You help with bash."},
        {"role": "user", "content": "How do I list files?"},
        {"role": "assistant", "content": "```bash\nls\n```"},
    ]
    trace = read_value(messages, tmp_path)
    assert (trace.source.format, trace.observations) == ("openai_chat", [])

"""Codex rollouts: recorded sessions counted again from their lines, and made ones."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from evidence_of import lost, values
from reading_of import read_bytes, read_paths

from helix.ingest import from_dict
from helix.model.manifest import LoadFailure
from helix.model.trace import Trace

FOLDER = "traces/codex_rollouts"
REAL = "agentcmd_redacted/rollout-2025-09-"
# file: (messages of user and agent, tool calls, events, control messages)
SAMPLES = {
    f"{REAL}24T19-22-20-01997e76-d124-7592-9cac-2ec05abbca08.jsonl": (24, 123, 4, 2),
    f"{REAL}24T20-12-23-01997ea4-a70d-7da3-8c20-c736db82a7c5.jsonl": (5, 16, 0, 1),
    f"{REAL}25T15-12-14-019982b8-3422-79e0-8b3b-05abaf4f3c3e.jsonl": (3, 34, 0, 1),
    "letta/tool-calls/input.jsonl": (3, 3, 0, 1),
}
Line = dict[str, Any]


def sample(shared: Path, name: str) -> tuple[list[Line], Trace]:
    path = shared / FOLDER / name
    traces, failures = read_paths(str(path))
    assert failures == []
    assert len(traces) == 1
    return values(path), traces[0]


def payloads(lines: list[Line], kind: str, *types: str) -> Iterator[Line]:
    for line in lines:
        if line["type"] == kind and (not types or line["payload"].get("type") in types):
            yield line["payload"]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_rollout_has_what_the_table_says(shared: Path, name: str) -> None:
    _, trace = sample(shared, name)
    spoken, tools, events, control = SAMPLES[name]
    assert trace.source.format == "codex"
    assert len([m for m in trace.transcript if m.text]) == spoken
    assert len(trace.tools()) == tools
    assert len(trace.observations) == tools + events
    assert sum(m.control for m in trace.transcript) == control
    assert all(o.error is None and o.status in (None, "completed") for o in trace.observations)
    assert trace.all_flags == ()


@pytest.mark.parametrize("name", SAMPLES)
def test_calls_results_texts_and_tokens_are_those_of_the_lines(shared: Path, name: str) -> None:
    lines, trace = sample(shared, name)
    items = list(payloads(lines, "response_item"))
    calls = [item for item in items if item["type"].endswith("_call")]
    outputs = {i["call_id"]: i.get("output") for i in items if i["type"].endswith("_output")}
    (meta,) = payloads(lines, "session_meta")
    assert trace.id == meta["id"]
    assert [o.id for o in trace.tools()] == [call["call_id"] for call in calls]
    assert {o.id: o.output_text for o in trace.tools()} == outputs
    messages = [item for item in items if item["type"] == "message"]
    spoken = [m for m in trace.transcript if m.text]
    assert [m.role for m in spoken] == [item["role"] for item in messages]
    for message, said_there in zip(spoken, messages, strict=True):
        assert all(part.get("text", "") in message.text for part in said_there["content"])
    counts = [p["info"] for p in payloads(lines, "event_msg", "token_count") if p["info"]]
    total = counts[-1]["total_token_usage"] if counts else {}
    assert trace.usage.get("promptTokens") == total.get("input_tokens")


@pytest.mark.parametrize("name", SAMPLES)
def test_nothing_of_a_rollout_is_lost_and_it_reads_back(shared: Path, name: str) -> None:
    lines, trace = sample(shared, name)
    assert lost(lines, [trace]) == set()
    record = json.loads(json.dumps(trace.to_dict()))
    assert from_dict(record, trace.source).to_dict() == record


def test_exit_codes_are_in_the_outputs_and_no_one_declared_an_error(shared: Path) -> None:
    codes: Counter[int] = Counter()
    read: Counter[int] = Counter()
    for name in SAMPLES:
        lines, trace = sample(shared, name)
        for payload in payloads(lines, "response_item", "function_call_output"):
            if payload["output"].startswith("{"):
                codes[json.loads(payload["output"])["metadata"]["exit_code"]] += 1
        for call in trace.tools():
            if isinstance(call.output, dict) and "metadata" in call.output:
                read[call.output["metadata"]["exit_code"]] += 1
            assert call.error is None
    assert read == codes
    assert sum(n for code, n in codes.items() if code != 0) > 0


def test_times_are_those_of_call_and_output(shared: Path) -> None:
    lines, trace = sample(shared, "letta/tool-calls/input.jsonl")
    first = trace.observations[0]
    assert first.start_time is not None
    assert first.end_time is not None
    stamps = {line["payload"].get("call_id"): line["timestamp"] for line in reversed(lines)}
    assert stamps["call_A"].endswith("05:38:50.441Z")
    assert (first.start_time % 60_000_000_000, first.end_time - first.start_time) == (
        50_441_000_000, 144_000_000,
    )  # fmt: skip


def rollout(folder: Path, *lines: Any, meta: Line | None = None) -> tuple[Trace, list[LoadFailure]]:
    first = {"type": "session_meta", "payload": {"id": "s1", **(meta or {})}}
    data = b"\n".join(
        line if isinstance(line, bytes) else json.dumps(line).encode() for line in (first, *lines)
    )
    traces, failures = read_bytes(data, folder)
    assert len(traces) == 1
    return traces[0], failures


def item(**payload: Any) -> Line:
    return {"type": "response_item", "payload": payload}


def event(**payload: Any) -> Line:
    return {"type": "event_msg", "payload": payload}


def said(role: str, text: str) -> Line:
    return item(type="message", role=role, content=[{"type": "input_text", "text": text}])


def test_what_an_event_repeats_counts_once_and_what_it_alone_says_is_kept(tmp_path: Path) -> None:
    trace, _ = rollout(
        tmp_path,
        said("user", "please fix it"),
        event(type="user_message", message="please fix it"),
        event(type="user_message", message="and hurry up"),
        event(type="agent_reasoning", text="a thought of its own"),
        event(type="agent_reasoning", text="a thought told twice"),
        item(type="reasoning", summary=[{"type": "summary_text", "text": "a thought told twice"}]),
        event(type="agent_message", message="It is fixed."),
        said("assistant", "It is fixed."),
        event(type="task_complete", last_agent_message="It is fixed.", turn_id="turn-0001"),
    )
    assert [(m.role, m.text) for m in trace.transcript] == [
        ("user", "please fix it"), ("user", "and hurry up"), ("assistant", "It is fixed."),
    ]  # fmt: skip
    assert trace.raw["reasoning"] == {"m5": "a thought of its own"}
    assert trace.raw["events"] == {"m10": {"type": "task_complete", "turn_id": "turn-0001"}}
    assert trace.output == {"response": "It is fixed."}


def test_an_interruption_is_an_event_in_its_place_and_the_open_call_is_flagged(
    tmp_path: Path,
) -> None:
    trace, _ = rollout(
        tmp_path,
        said("user", "go"),
        item(type="function_call", call_id="c1", name="shell", arguments="{}"),
        event(type="turn_aborted", reason="interrupted"),
        event(type="error", message="stream disconnected"),
        said("user", "stop that"),
    )
    call, aborted, error = trace.observations
    assert call.flags == ("missing-result",)
    assert (aborted.name, aborted.type, aborted.input) == (
        "turn_aborted", "EVENT", {"reason": "interrupted"},
    )  # fmt: skip
    assert (error.error, error.status) == ("stream disconnected", "error")
    assert call.seq < aborted.seq < error.seq < trace.transcript[-1].seq


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("a\n[... omitted 120 of 376 lines ...]\nb", ("truncated",)),
        ('{"output": "[... omitted 1 of 9 lines ...]", "metadata": {}}', ("truncated",)),
        ("…2431 tokens truncated…", ("truncated",)),
        ("nothing was omitted between the lines", ()),
    ],
)
def test_an_output_that_says_it_was_cut_is_flagged(
    text: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    trace, _ = rollout(
        tmp_path,
        item(type="function_call", call_id="c1", name="shell", arguments="{}"),
        item(type="function_call_output", call_id="c1", output=text),
    )
    assert trace.observations[0].flags == flags
    assert trace.observations[0].output_text == text


def test_compacted_history_is_an_event_and_its_copy_is_no_message(tmp_path: Path) -> None:
    copy = [{"type": "message", "role": "user", "content": "summary of the first part"}]
    trace, _ = rollout(
        tmp_path,
        said("user", "go"),
        {"type": "compacted", "payload": {"message": "in short", "replacement_history": copy}},
        said("assistant", "done"),
    )
    (compacted,) = trace.observations
    assert (compacted.name, compacted.type, compacted.output_text) == (
        "compacted", "EVENT", "in short",
    )  # fmt: skip
    assert [m.text for m in trace.transcript] == ["go", "done"]
    assert trace.raw["compacted"]["m3"]["replacement_history"] == copy


@pytest.mark.parametrize(
    ("text", "shown", "control"),
    [
        ("<environment_context>x</environment_context>", False, True),
        ("# AGENTS.md instructions for here", False, True),
        ("<strange_new_tag>x</strange_new_tag>", False, True),
        ("<strange_new_tag>typed by a person", True, False),
        ("plain words that no event shows", False, False),
    ],
)
def test_what_no_one_typed_is_control(
    text: str, shown: bool, control: bool, tmp_path: Path
) -> None:
    events = [event(type="user_message", message="go")]
    events += [event(type="user_message", message=text)] if shown else []
    trace, _ = rollout(tmp_path, said("user", text), said("user", "go"), *events)
    assert [(m.text, m.control) for m in trace.transcript] == [(text, control), ("go", False)]
    assert trace.input["prompt"] == ("go" if control else text)


def test_instructions_are_the_systems_and_a_fork_is_flagged(tmp_path: Path) -> None:
    parent = {"subagent": {"thread_spawn": {"parent_thread_id": "s0", "depth": 1}}}
    meta = {"source": parent, "forked_from_id": "s0", "base_instructions": {"text": "Be brief."}}
    trace, _ = rollout(
        tmp_path,
        {"type": "session_meta", "payload": {"id": "s0", "cwd": "/elsewhere"}},
        said("user", "go"),
        meta=meta,
    )
    assert trace.id == "s1"
    assert trace.metadata["source"] == parent
    assert trace.input == {"prompt": "go", "system": "Be brief."}
    assert trace.flags == ("copied-context",)
    assert trace.raw["records"]["m2"]["payload"]["cwd"] == "/elsewhere"


def test_only_what_changes_of_the_context_is_kept(tmp_path: Path) -> None:
    context = {"type": "turn_context", "payload": {"model": "gpt-one", "cwd": "/workspace"}}
    changed = {"type": "turn_context", "payload": {"model": "gpt-two", "cwd": "/workspace"}}
    trace, _ = rollout(tmp_path, context, context, changed)
    assert trace.raw["contexts"] == {"m2": context["payload"], "m4": {"model": "gpt-two"}}


def test_bad_lines_are_failures_and_the_session_stays_whole(tmp_path: Path) -> None:
    trace, failures = rollout(
        tmp_path,
        said("user", "go"),
        b"{cut",
        {"silly": 1},
        item(type="function_call", call_id="c1", arguments="{}"),
        item(type="message", content="no role"),
        {"type": "event_msg", "payload": "text"},
        said("assistant", "done"),
    )
    assert sorted(f.line for f in failures) == [3, 4, 5, 6, 7]
    assert "m6: a message must have a role" in str([f.reason for f in failures])
    assert [m.text for m in trace.transcript if m.text] == ["go", "done"]
    assert trace.observations == []

"""Claude Code sessions: recorded ones counted again from their records, and made ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from evidence_of import lost, values
from reading_of import read_bytes, read_paths

from helix.grounding.fidelity import assess
from helix.ingest import from_dict
from helix.model.manifest import LoadFailure
from helix.model.trace import Trace

FOLDER = "traces/claude_code_sessions"
Line = dict[str, Any]
# file: (messages, tool calls, other observations, declared errors, control, failures, flags)
SAMPLES: dict[str, tuple[int, int, int, int, int, int, tuple[str, ...]]] = {
    "agentcmd/full-session-askuserquestion.jsonl": (7, 3, 0, 0, 3, 0, ("missing-result",)),
    "agentcmd/full-session-five.jsonl": (4, 5, 0, 0, 0, 0, ()),
    "agentcmd/full-session-four.jsonl": (36, 27, 0, 1, 3, 0, ()),
    "agentcmd/full-session-two.jsonl": (20, 10, 0, 1, 5, 0, ()),
    "agentcmd/full-session.jsonl": (12, 23, 0, 0, 0, 0, ("missing-result",)),
    "agentcmd/individual/tool-askuserquestion-response.jsonl":
        (0, 0, 1, 0, 0, 0, ("orphan-result",)),
    "agentcmd/individual/user-image.jsonl": (1, 0, 0, 0, 0, 0, ()),
    "agentcmd/individual/user-slash-command-with-args.jsonl": (1, 0, 0, 0, 1, 0, ()),
    "claude-code-log/edge_cases.jsonl": (11, 3, 0, 1, 3, 6, ("missing-result",)),
    "claude-code-log/representative_messages.jsonl": (9, 2, 0, 0, 0, 0, ()),
    "claude-code-log/todowrite_examples.jsonl": (8, 3, 0, 0, 0, 0, ()),
    "letta/cleanup/input.jsonl": (3, 0, 2, 0, 1, 1, ("derived-id",)),
    "letta/subagent/input.jsonl": (2, 0, 0, 0, 0, 0, ()),
    "letta/tool-call/input.jsonl": (3, 1, 0, 1, 0, 0, ("derived-id",)),
    "simonw/sample_session.json": (21, 12, 0, 1, 1, 0, ("derived-id",)),
    "simonw/sample_session.jsonl": (5, 2, 0, 0, 0, 0, ()),
}  # fmt: skip
RECORDED = [name for name in SAMPLES if name.startswith("agentcmd/full")]


def sample(shared: Path, name: str) -> tuple[list[Any], Trace, list[LoadFailure]]:
    path = shared / FOLDER / name
    traces, failures = read_paths(str(path))
    assert len(traces) == 1
    return values(path), traces[0], failures


def blocks(records: list[Line], role: str) -> Iterator[Line]:
    for record in records:
        content = record.get("message", {}).get("content") if record["type"] == role else None
        yield from content if isinstance(content, list) else ()


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_has_what_the_table_says(shared: Path, name: str) -> None:
    _, trace, failures = sample(shared, name)
    messages, tools, others, errors, control, failed, flags = SAMPLES[name]
    assert trace.source.format == "claude_code"
    assert len(trace.transcript) == messages
    assert len(trace.tools()) == tools
    assert len(trace.observations) == tools + others
    assert sum(o.error is not None for o in trace.observations) == errors
    assert sum(m.control for m in trace.transcript) == control
    assert len(failures) == failed
    assert trace.all_flags == flags


@pytest.mark.parametrize("name", RECORDED)
def test_messages_calls_results_and_tokens_are_those_of_the_records(
    shared: Path, name: str
) -> None:
    records, trace, _ = sample(shared, name)
    calls = [b for b in blocks(records, "assistant") if b["type"] == "tool_use"]
    results = [b for b in blocks(records, "user") if b["type"] == "tool_result"]
    assert [(o.id, o.name, o.input) for o in trace.observations] == [
        (call["id"], call["name"], call["input"]) for call in calls
    ]
    answered = [o for o in trace.observations if o.has_output]
    assert {o.id for o in answered} == {result["tool_use_id"] for result in results}
    assert len(calls) - len(results) == sum("missing-result" in o.flags for o in trace.observations)
    failed = {result["tool_use_id"] for result in results if result.get("is_error")}
    assert {o.id for o in trace.observations if o.error is not None} == failed
    answers = {r["message"]["id"]: r["message"] for r in records if r["type"] == "assistant"}
    assert len([m for m in trace.transcript if m.role == "assistant"]) == len(answers)
    written = sum(answer["usage"]["output_tokens"] for answer in answers.values())
    assert trace.usage["completionTokens"] == written
    assert trace.id == next(r["sessionId"] for r in records if "sessionId" in r)


@pytest.mark.parametrize("name", SAMPLES)
def test_nothing_of_a_sample_is_lost_and_it_reads_back(shared: Path, name: str) -> None:
    records, trace, _ = sample(shared, name)
    missing = lost(records, [trace])
    assert missing == ({"massive error"} if "edge_cases" in name else set())
    record = json.loads(json.dumps(trace.to_dict()))
    assert from_dict(record, trace.source).to_dict() == record


def test_every_single_record_is_a_session_that_holds_it(shared: Path) -> None:
    found = sorted((shared / FOLDER / "claude-code-log/record_samples").glob("*.jsonl"))
    assert len(found) == 59
    errors = calls = empty = 0
    for path in found:
        (trace,), failures = read_paths(str(path))
        assert failures == []
        records = values(path)
        assert lost(records, [trace]) == set()
        calls += len(trace.tools())
        errors += sum(o.error is not None for o in trace.observations)
        if not assess(trace, (), ()).complete:
            empty += 1
            assert records[0]["type"] in ("summary", "queue-operation", "file-history-snapshot")
            assert trace.raw["records"] == {"m0": records[0]}
    texts = [path.read_text(encoding="utf-8") for path in found]
    assert calls == sum('"tool_use"' in text for text in texts)
    assert errors == sum('"is_error": true' in text for text in texts)
    assert empty == 3


def test_a_users_rejection_is_a_declared_error_with_a_status_of_its_own(shared: Path) -> None:
    _, rejected, _ = sample(shared, "agentcmd/full-session-two.jsonl")
    (call,) = [o for o in rejected.observations if o.error is not None]
    assert call.status == "rejected"
    assert (call.error or "").startswith("The user doesn't want to proceed")
    _, failed, _ = sample(shared, "agentcmd/full-session-four.jsonl")
    assert [o.status for o in failed.observations if o.error is not None] == ["error"]


def test_bad_records_of_the_edge_cases_are_failures_by_line(shared: Path) -> None:
    _, _, failures = sample(shared, "claude-code-log/edge_cases.jsonl")
    assert [failure.line for failure in failures] == [10, 11, 13, 14, 15, 16]
    assert "must hold a message with content" in failures[0].reason
    assert "must be an object with a type (got an object with keys silly)" in failures[3].reason


def session(folder: Path, *records: Any) -> tuple[Trace, list[LoadFailure]]:
    data = b"\n".join(json.dumps(record).encode() for record in records)
    traces, failures = read_bytes(data, folder)
    assert len(traces) == 1
    return traces[0], failures


def user(uuid: str, content: Any, **more: Any) -> Line:
    message = {"role": "user", "content": content}
    return {"type": "user", "uuid": uuid, "sessionId": "s1", "message": message, **more}


def agent(uuid: str, *content: Any, key: str | None = None, out: int = 1, **more: Any) -> Line:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": out}
    message = {"id": key or f"msg-{uuid}", "role": "assistant", "content": list(content)}
    message["usage"] = usage
    return {"type": "assistant", "uuid": uuid, "sessionId": "s1", "message": message, **more}


def text(words: str) -> Line:
    return {"type": "text", "text": words}


def call(key: str, name: str = "Read", **given: Any) -> Line:
    return {"type": "tool_use", "id": key, "name": name, "input": given}


def result(key: str, content: Any = "ok", **more: Any) -> Line:
    return {"type": "tool_result", "tool_use_id": key, "content": content, **more}


def test_records_of_one_message_are_merged_and_its_last_usage_counts(tmp_path: Path) -> None:
    trace, failures = session(
        tmp_path,
        user("u1", "go"),
        agent("a1", {"type": "thinking", "thinking": "a thought"}, key="m", out=1),
        agent("a2", text("Both."), key="m", out=2),
        agent("a3", call("t1"), key="m", out=3),
        user("u2", [result("t1")]),
        agent("a4", call("t2"), key="m", out=40),
        user("u3", [result("t2")]),
        agent("a5", text("Done."), out=2),
    )
    assert failures == []
    assert [(m.id, m.text, m.observation_ids) for m in trace.transcript] == [
        ("u1", "go", ()), ("a1", "Both.", ("t1", "t2")), ("a5", "Done.", ()),
    ]  # fmt: skip
    assert trace.usage == {"promptTokens": 30, "completionTokens": 42}
    assert trace.output == {"response": "Done."}
    assert trace.raw["messages"]["a1"]["blocks"]["0"]["thinking"] == "a thought"


def test_usage_that_one_message_lacks_is_unknown(tmp_path: Path) -> None:
    silent = agent("a2", text("hm"))
    del silent["message"]["usage"]
    trace, _ = session(tmp_path, user("u1", "go"), agent("a1", text("x")), silent)
    assert trace.usage == {}


def test_a_repeated_uuid_counts_once_unless_it_says_something_else(tmp_path: Path) -> None:
    trace, _ = session(
        tmp_path,
        user("u1", "go"),
        agent("a1", call("t1")),
        user("u1", "go", version="2"),
        agent("a1", call("t1")),
        user("u1", "something else"),
    )
    assert [(m.id, m.text) for m in trace.transcript if m.role == "user"] == [
        ("u1", "go"), ("u1#2", "something else"),
    ]  # fmt: skip
    assert len(trace.observations) == 1
    assert trace.raw["repeated"] == 2
    assert "duplicate-id" in trace.flags


def test_the_files_order_decides_though_times_go_backwards(tmp_path: Path) -> None:
    trace, _ = session(
        tmp_path,
        user("u1", "first", timestamp="2025-01-01T10:00:01.000Z"),
        agent("a1", call("t1"), timestamp="2025-01-01T10:00:00.500Z"),
        user("u2", [result("t1")], timestamp="2025-01-01T10:00:00.250Z"),
        user("u3", "second", timestamp="2025-01-01T09:59:59Z"),
    )
    assert [m.text for m in trace.transcript if m.role == "user"] == ["first", "second"]
    (done,) = trace.observations
    assert done.start_time is not None
    assert done.end_time is not None
    assert done.end_time - done.start_time == -250_000_000
    assert "ambiguous-order" not in trace.all_flags


@pytest.mark.parametrize(
    ("record", "control"),
    [
        (user("u1", "plain words"), False),
        (user("u1", "injected", isMeta=True), True),
        (user("u1", "earlier we did this", isCompactSummary=True), True),
        (user("u1", "Caveat: what follows is the harness's"), True),
        (user("u1", "<command-name>/clear</command-name>"), True),
        (user("u1", "<command-message>x</command-message>"), True),
        (user("u1", "<local-command-stdout>x</local-command-stdout>"), True),
        (user("u1", "<bash-input>ls</bash-input>"), True),
        (user("u1", [text("[Request interrupted by user for tool use]")]), True),
        (user("u1", "what does Caveat: mean?"), False),
    ],
)
def test_what_the_harness_said_as_the_user_is_control(
    record: Line, control: bool, tmp_path: Path
) -> None:
    trace, _ = session(tmp_path, record, user("u9", "go"))
    assert trace.transcript[0].control is control
    assert trace.input["prompt"] == ("go" if control else record["message"]["content"])


SIDE = {"isSidechain": True}
STARTED = {"subagent_type": "Explore", "prompt": "look around"}


def with_agent(*ids: Line, told: Any) -> list[Line]:
    """A session whose Task call runs a sub-agent, recorded inline."""
    more = ids[0] if ids else {}
    return [
        user("u1", "go"),
        agent("a1", call("t1", "Task", **STARTED)),
        user("s1u", "look around", **SIDE, **more),
        agent("s1a", text("I look."), call("t2", "Grep"), parentUuid="s1u", **SIDE, **more),
        user("s2u", [result("t2", "found it")], parentUuid="s1a", **SIDE, **more),
        agent("s2a", text("There it is."), parentUuid="s2u", **SIDE, **more),
        user("u2", [result("t1", "There it is.")], toolUseResult=told),
        agent("a2", text("Found.")),
    ]


@pytest.mark.parametrize(
    "records",
    [
        with_agent(told="There it is."),
        with_agent({"agentId": "x7"}, told={"agentId": "x7", "totalTokens": 5}),
    ],
    ids=["by its prompt", "by its id"],
)
def test_an_inline_sub_agent_stands_in_the_call_that_started_it(
    records: list[Line], tmp_path: Path
) -> None:
    trace, _ = session(tmp_path, *records)
    assert [(m.role, m.text) for m in trace.transcript] == [
        ("user", "go"), ("assistant", ""), ("assistant", "Found."),
    ]  # fmt: skip
    task, sub, first, grep, last = trace.observations
    assert (task.name, task.output) == ("Task", {"text": "There it is."})
    assert (sub.type, sub.name, sub.input) == ("AGENT", "Explore", {"prompt": "look around"})
    assert (sub.parent_id, sub.output) == ("t1", {"text": "There it is."})
    assert [o.parent_id for o in (first, grep, last)] == [sub.id] * 3
    assert [(o.type, o.output_text) for o in (first, last)] == [
        ("GENERATION", "I look."), ("GENERATION", "There it is."),
    ]  # fmt: skip
    assert (grep.name, grep.output) == ("Grep", {"text": "found it"})
    assert trace.output == {"response": "Found."}
    assert not set(trace.all_flags) & {"missing-result", "orphan-result", "duplicate-id"}
    assert lost(records, [trace]) == set()


def test_a_sub_agent_that_no_call_started_has_no_parent(tmp_path: Path) -> None:
    trace, _ = session(tmp_path, user("u1", "go"), agent("b1", text("alone"), **SIDE))
    assert [(o.type, o.parent_id, o.output) for o in trace.observations] == [
        ("AGENT", None, {"text": "alone"}), ("GENERATION", "b1", {"text": "alone"}),
    ]  # fmt: skip


def test_a_sub_agents_file_is_a_session_that_the_parent_names(tmp_path: Path) -> None:
    side = {**SIDE, "agentId": "x7"}
    own = [user("s1u", "look around", **side), agent("s1a", text("There."), **side)]
    trace, _ = session(tmp_path / "sub", *own)
    assert trace.id == "s1/agent-x7"
    assert (trace.input, trace.output) == ({"prompt": "look around"}, {"response": "There."})
    parent, _ = session(
        tmp_path / "parent",
        user("u1", "go"),
        agent("a1", call("t1", "Task", **STARTED)),
        user("u2", [result("t1", "There.")], toolUseResult={"agentId": "x7"}),
    )
    assert parent.id == "s1"
    assert parent.metadata["agents"] == {"x7": "t1"}


def test_records_of_the_harness_are_events_or_kept(tmp_path: Path) -> None:
    system = {"type": "system", "uuid": "y1", "sessionId": "s1", "parentUuid": "u1"}
    trace, _ = session(
        tmp_path,
        {"type": "file-history-snapshot", "messageId": "x", "snapshot": {"a": "snapshot-text"}},
        user("u1", "go"),
        {**system, "subtype": "compact_boundary", "content": "Conversation compacted"},
        {**system, "uuid": "y2", "subtype": "api_error", "error": {"message": "Overloaded now"}},
        {"type": "attachment", "uuid": "z1", "sessionId": "s1", "attachment": {"name": "a-file"}},
        {"type": "summary", "summary": "About going", "leafUuid": "u1"},
    )
    assert [(o.name, o.type, o.output_text, o.error) for o in trace.observations] == [
        ("compact_boundary", "EVENT", "Conversation compacted", None),
        ("api_error", "EVENT", None, "api_error"),
    ]
    assert trace.raw["messages"]["y2"]["error"] == {"message": "Overloaded now"}
    assert [record["type"] for record in trace.raw["records"].values()] == [
        "file-history-snapshot", "attachment", "summary",
    ]  # fmt: skip


def test_what_is_the_same_in_every_record_is_metadata_and_a_change_is_kept(tmp_path: Path) -> None:
    trace, _ = session(
        tmp_path,
        user("u1", "go", cwd="/here", version="1.0"),
        agent("a1", text("x"), cwd="/here", version="1.0", parentUuid="u1"),
        user("u2", "on", cwd="/there", version="1.0", parentUuid="elsewhere"),
        agent("a2", text("y"), cwd="/there", version="1.0", parentUuid="u2"),
    )
    assert trace.metadata == {"sessionId": "s1", "cwd": "/here", "version": "1.0"}
    assert trace.raw["messages"]["u2"] == {"cwd": "/there", "parentUuid": "elsewhere"}
    assert set(trace.raw["messages"]["a2"]) == {"message"}


def test_a_bad_block_is_a_failure_and_the_rest_of_the_session_is_read(tmp_path: Path) -> None:
    trace, failures = session(
        tmp_path,
        user("u1", "go"),
        agent("a1", {"type": "tool_use", "id": "t1"}),
        agent("a2", 7),
        {"type": "assistant", "uuid": "a3", "message": None},
        agent("a4", text("Done.")),
    )
    assert sorted(failure.line for failure in failures) == [2, 3, 4]
    assert trace.output == {"response": "Done."}


def test_a_document_of_loglines_is_one_session(tmp_path: Path) -> None:
    lines = [user("u1", "go"), agent("a1", call("t1")), user("u2", [result("t1")]), "bad"]
    traces, failures = read_bytes(json.dumps({"loglines": lines}).encode(), tmp_path, "s.json")
    assert [len(trace.tools()) for trace in traces] == [1]
    assert [failure.line for failure in failures] == [0]

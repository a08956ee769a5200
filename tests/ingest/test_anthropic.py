"""Anthropic messages: recorded answers counted again from their JSON, and made conversations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from evidence_of import lost, sample
from reading_of import read_bytes, read_value

from helix.ingest import from_dict

CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
# file: (messages, tool calls, declared errors, flags)
SAMPLES: dict[str, tuple[int, int, int, tuple[str, ...]]] = {
    "anthropic-advisor-20260301.1.json": (2, 1, 0, ()),
    "anthropic-advisor-stop-reasons.json": (2, 2, 0, ("redacted",)),
    "anthropic-code-execution-20250825.1.json": (3, 2, 0, ()),
    "anthropic-programmatic-tool-calling.1.json": (2, 5, 0, ("missing-result",)),
    "anthropic-web-fetch-tool-20260209.1.json": (2, 2, 0, ()),
    "anthropic-web-fetch-tool.1.json": (2, 1, 0, ()),
    "anthropic-web-fetch-tool.error.json": (2, 1, 1, ()),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_recorded_answer_has_what_the_table_says(shared: Path, name: str) -> None:
    _, trace = sample(shared, name)
    messages, tools, errors, flags = SAMPLES[name]
    assert trace.source.format == "anthropic"
    assert len(trace.transcript) == messages
    assert len(trace.observations) == len(trace.tools()) == tools
    assert sum(o.error is not None for o in trace.observations) == errors
    assert trace.all_flags == flags


@pytest.mark.parametrize("name", SAMPLES)
def test_calls_results_and_tokens_are_those_of_the_json(shared: Path, name: str) -> None:
    answer, trace = sample(shared, name)
    blocks = answer["content"]
    calls = [block for block in blocks if block["type"] in CALLS]
    results = {b["tool_use_id"]: b["content"] for b in blocks if b["type"].endswith("tool_result")}
    assert trace.id == answer["id"]
    assert [(o.id, o.name, o.input) for o in trace.observations] == [
        (call["id"], call["name"], call["input"]) for call in calls
    ]
    assert {o.id: o.output for o in trace.observations if o.has_output} == results
    said = "\n".join(block["text"] for block in blocks if block["type"] == "text")
    assert "\n".join(m.text for m in trace.transcript if m.text) == said
    assert trace.usage["completionTokens"] == answer["usage"]["output_tokens"]


@pytest.mark.parametrize("name", SAMPLES)
def test_nothing_of_an_answer_is_lost(shared: Path, name: str) -> None:
    answer, trace = sample(shared, name)
    assert lost(answer, [trace]) == set()
    record = json.loads(json.dumps(trace.to_dict()))
    assert from_dict(record, trace.source).to_dict() == record


def test_what_follows_a_server_tools_result_comes_after_it(shared: Path) -> None:
    answer, trace = sample(shared, "anthropic-code-execution-20250825.1.json")
    order = [("said", m.seq) for m in trace.transcript]
    order += [("done", o.seq) for o in trace.observations]
    assert [kind for kind, _ in sorted(order, key=lambda item: item[1])] == [
        "said", "done", "said", "done", "said",
    ]  # fmt: skip
    assert trace.output == {"response": answer["content"][-1]["text"]}


def test_a_call_that_code_made_stands_inside_the_call_that_ran_the_code(shared: Path) -> None:
    answer, trace = sample(shared, "anthropic-programmatic-tool-calling.1.json")
    within = {
        block["id"]: block["caller"]["tool_id"]
        for block in answer["content"]
        if "tool_id" in block.get("caller", {})
    }
    assert len(within) == 4
    assert {o.id: o.parent_id for o in trace.observations if o.name == "rollDie"} == within
    assert [o.name for o in trace.observations if "missing-result" in o.flags] == ["rollDie"] * 4


def call(key: str, name: str = "look", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": key, "name": name, "input": given}


def result(key: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": key, "content": content, **more}


def test_several_results_in_one_user_message_go_to_their_calls_and_its_text_is_said(
    tmp_path: Path,
) -> None:
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "AA=="},
    }
    cached = {"type": "text", "text": "Be brief.", "cache_control": {"kind": "ephemeral"}}
    trace = read_value(
        {
            "model": "claude-x",
            "system": [cached],
            "max_tokens": 10,
            "messages": [
                {"role": "user", "content": "compare a and b"},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "both at once", "signature": "sig-12345"},
                    {"type": "text", "text": "Looking."}, call("t1", x="a"), call("t2", x="b"),
                ]},
                {"role": "user", "content": [
                    result("t2", [{"type": "text", "text": "two"}, image]),
                    result("t1", "broken", is_error=True),
                    {"type": "text", "text": "and be quick"},
                ]},
                {"role": "assistant", "content": "Done."},
            ],
        },
        tmp_path,
    )  # fmt: skip
    assert trace.source.format == "anthropic"
    assert [(m.role, m.text) for m in trace.transcript] == [
        ("system", "Be brief."), ("user", "compare a and b"), ("assistant", "Looking."),
        ("user", "and be quick"), ("assistant", "Done."),
    ]  # fmt: skip
    first, second = trace.observations
    assert (first.id, first.output, first.error, first.status) == (
        "t1", {"text": "broken"}, "broken", "error",
    )  # fmt: skip
    assert second.output_text is not None
    assert second.output_text.startswith("two\n[image/png: 1 bytes, sha256 ")
    assert second.error is None
    assert first.parent_id == second.parent_id == trace.transcript[2].id
    assert trace.input == {"prompt": "compare a and b", "system": "Be brief."}
    assert trace.raw["messages"]["m1"]["blocks"]["0"]["thinking"] == "both at once"
    assert trace.raw["messages"]["m2"]["blocks"]["0"]["content"][1] == image
    assert trace.raw["results"] == {"t1": "m2[1]", "t2": "m2[0]"}
    assert trace.raw["system"] == [cached]


@pytest.mark.parametrize(
    ("content", "flags"),
    [
        ([result("t9", "who asked?")], ("missing-result", "orphan-result")),
        ([result("t1", "one"), result("t1", "two")], ("orphan-result",)),
        ("no result at all", ("missing-result",)),
    ],
    ids=["another id", "two for one", "none"],
)
def test_a_result_that_fits_no_call_is_flagged(
    content: Any, flags: tuple[str, ...], tmp_path: Path
) -> None:
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call("t1")]},
        {"role": "user", "content": content},
    ]
    trace = read_value(messages, tmp_path)
    assert trace.source.format == "anthropic"
    assert tuple(f for f in trace.all_flags if f != "derived-id") == flags
    assert len(trace.tools()) == 1


def test_redacted_thinking_is_flagged_and_kept(tmp_path: Path) -> None:
    hidden = {"type": "redacted_thinking", "data": "b3BhcXVlIGJ5dGVz"}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [hidden, {"type": "text", "text": "Gone."}]},
    ]
    trace = read_value({"id": "c1", "messages": messages}, tmp_path)
    assert trace.flags == ("redacted",)
    assert trace.raw["messages"]["m1"]["blocks"]["0"] == hidden
    assert trace.output == {"response": "Gone."}


def test_a_harness_reminder_beside_the_users_words_is_control_and_they_are_not(
    tmp_path: Path,
) -> None:
    reminder = {"type": "text", "text": "<system-reminder>be kind</system-reminder>"}
    messages = [
        {"role": "user", "content": [reminder, {"type": "text", "text": "yes, do it"}]},
        {"role": "assistant", "content": [call("t1")]},
    ]
    trace = read_value(messages, tmp_path)
    assert [(m.text, m.control) for m in trace.transcript[:2]] == [
        (reminder["text"], True),
        ("yes, do it", False),
    ]
    assert trace.input["prompt"] == "yes, do it"


def test_labels_of_an_envelope_are_set_apart(tmp_path: Path) -> None:
    value = {
        "id": "c1",
        "expected_output": "forty-two exactly",
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [call("t1")]},
        ],
    }
    trace = read_value(value, tmp_path)
    assert trace.labels == {"expected_output": "forty-two exactly"}
    assert "forty-two" not in json.dumps(trace.raw)


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ({"role": "assistant", "content": 7}, "m1: content must be text or a list (got a number)"),
        ({"role": "assistant", "content": [7]}, "m1: content[0] must be an object (got a number)"),
        ({"role": "assistant", "content": [{"type": "tool_use", "id": "x"}]}, "must have a name"),
        ({"content": "x"}, "m1 must be an object with a role"),
        ("x", "m1 must be an object with a role"),
    ],
)
def test_a_bad_message_is_a_failure_that_says_where(
    message: Any, told: str, tmp_path: Path
) -> None:
    good = {"messages": [{"role": "user", "content": "go"}]}
    lines = [good, {"messages": [*good["messages"], message]}]
    data = b"\n".join(json.dumps(line).encode() for line in lines)
    traces, failures = read_bytes(data, tmp_path, format="anthropic")
    assert len(traces) == 1
    assert [(f.line, told in f.reason) for f in failures] == [(2, True)]


def test_plain_chat_messages_are_not_taken_for_anthropics(tmp_path: Path) -> None:
    trace = read_value([{"role": "user", "content": [{"type": "text", "text": "hi"}]}], tmp_path)
    assert trace.source.format == "openai_chat"

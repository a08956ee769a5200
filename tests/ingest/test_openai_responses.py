"""OpenAI Responses: recorded answers counted again from their JSON, and made lists of items."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from evidence_of import lost, sample
from reading_of import read_bytes, read_value

from helix.ingest import from_dict

Item = dict[str, Any]
# file: (messages, tool calls, other observations, flags)
SAMPLES: dict[str, tuple[int, int, int, tuple[str, ...]]] = {
    "openai-client-tool-search.1.json": (1, 1, 0, ("missing-result",)),
    "openai-client-tool-search.2.json": (1, 1, 0, ("missing-result",)),
    "openai-compaction.1.json": (1, 0, 1, ()),
    "openai-mcp-tool-approval.1.json": (0, 0, 2, ()),
    "openai-mcp-tool-approval.2.json": (1, 0, 1, ()),
    "openai-mcp-tool-approval.3.json": (0, 0, 2, ()),
    "openai-mcp-tool-approval.4.json": (2, 1, 1, ()),
    "openai-mcp-tool.1.json": (2, 1, 1, ()),
    "openai-reasoning-encrypted-content.1.json": (1, 0, 0, ()),
    "openai-shell-container-multiturn.1.json": (1, 0, 0, ()),
    "openai-tool-search.1.json": (2, 2, 0, ("missing-result", "paired-by-position")),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_recorded_answer_has_what_the_table_says(shared: Path, name: str) -> None:
    _, trace = sample(shared, name)
    messages, tools, others, flags = SAMPLES[name]
    assert trace.source.format == "openai_responses"
    assert len(trace.transcript) == messages
    assert len(trace.tools()) == tools
    assert len(trace.observations) == tools + others
    assert all(o.error is None for o in trace.observations)
    assert trace.all_flags == flags


@pytest.mark.parametrize("name", SAMPLES)
def test_ids_texts_and_tokens_are_those_of_the_json(shared: Path, name: str) -> None:
    answer, trace = sample(shared, name)
    items = answer["output"]
    assert trace.id == answer["id"]
    assert [o.name for o in trace.tools()] == [
        item.get("name", "tool_search") for item in items if item["type"].endswith("_call")
    ]
    assert [m.text for m in trace.transcript if m.text] == [
        part["text"] for item in items if item["type"] == "message" for part in item["content"]
    ]
    usage = answer["usage"]
    assert trace.usage == {
        "promptTokens": usage["input_tokens"], "completionTokens": usage["output_tokens"],
    }  # fmt: skip


@pytest.mark.parametrize("name", SAMPLES)
def test_nothing_of_an_answer_is_lost(shared: Path, name: str) -> None:
    answer, trace = sample(shared, name)
    assert lost(answer, [trace]) == set()
    record = json.loads(json.dumps(trace.to_dict()))
    assert from_dict(record, trace.source).to_dict() == record


def test_an_mcp_call_holds_its_result_and_a_request_for_approval_is_no_call(shared: Path) -> None:
    answer, trace = sample(shared, "openai-mcp-tool-approval.4.json")
    made = next(item for item in answer["output"] if item["type"] == "mcp_call")
    (call,) = trace.tools()
    assert (call.id, call.name, call.output_text) == (made["id"], made["name"], made["output"])
    assert call.input == json.loads(made["arguments"])
    assert (call.status, call.flags) == ("completed", ())
    _, asked = sample(shared, "openai-mcp-tool-approval.3.json")
    assert [(o.name, o.type) for o in asked.observations] == [
        ("mcp_list_tools", "EVENT"), ("mcp_approval_request", "EVENT"),
    ]  # fmt: skip
    assert asked.tools() == []


def test_encrypted_reasoning_is_kept_beside_its_summary(shared: Path) -> None:
    answer, trace = sample(shared, "openai-reasoning-encrypted-content.1.json")
    kept = trace.raw["items"]["m0"]
    assert kept["encrypted_content"] == answer["output"][0]["encrypted_content"]
    assert kept["summary"] == answer["output"][0]["summary"]


def called(key: str | None, name: str = "look", **more: Any) -> Item:
    return {"type": "function_call", "id": f"fc-{key}", "call_id": key, "name": name,
            "arguments": "{}", **more}  # fmt: skip


def answered(key: str | None, output: Any, **more: Any) -> Item:
    return {"type": "function_call_output", "call_id": key, "output": output, **more}


USER: Item = {"role": "user", "content": "go"}


def test_parallel_calls_are_one_turn_and_pair_by_call_id(tmp_path: Path) -> None:
    items = [
        USER,
        called("c1"),
        called("c2", "find"),
        answered("c2", [{"type": "input_text", "text": "two"}]),
        answered("c1", '{"n": 1}'),
        called("c3"),
        answered("c3", "three"),
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
    ]
    trace = read_value(items, tmp_path)
    assert trace.source.format == "openai_responses"
    assert [(o.id, o.output) for o in trace.observations] == [
        ("c1", {"n": 1}), ("c2", {"text": "two"}), ("c3", {"text": "three"}),
    ]  # fmt: skip
    first, second, third = (o.parent_id for o in trace.observations)
    assert first == second != third
    assert [(m.role, m.text, m.observation_ids) for m in trace.transcript] == [
        ("user", "go", ()),
        ("assistant", "", ("c1", "c2")),
        ("assistant", "", ("c3",)),
        ("assistant", "no", ()),
    ]
    assert trace.output == {"response": "no"}
    assert trace.raw["results"] == {"c1": "m4", "c2": "m3", "c3": "m6"}


CALLS: list[tuple[str, list[Item], dict[str, Any]]] = [
    (
        "custom",
        [{"type": "custom_tool_call", "call_id": "c", "name": "sh", "input": '{"not": "decoded"}'},
         {"type": "custom_tool_call_output", "call_id": "c", "output": "ok"}],
        {"name": "sh", "input": '{"not": "decoded"}', "output": {"text": "ok"}, "error": None},
    ),
    (
        "shell",
        [{"type": "shell_call", "call_id": "c", "action": {"commands": ["false"]}},
         {"type": "shell_call_output", "call_id": "c",
          "output": [{"stdout": "", "outcome": {"type": "exit", "exit_code": 1}}]}],
        {"name": "shell", "input": {"commands": ["false"]}, "error": None,
         "output": [{"stdout": "", "outcome": {"type": "exit", "exit_code": 1}}]},
    ),
    (
        "local shell",
        [{"type": "local_shell_call", "id": "l", "call_id": "c", "action": {"command": ["ls"]}},
         {"type": "local_shell_call_output", "call_id": "c", "output": "a b"}],
        {"name": "local_shell", "input": {"command": ["ls"]}, "output": {"text": "a b"}},
    ),
    (
        "a patch that failed",
        [{"type": "apply_patch_call", "call_id": "c", "operation": {"path": "a.py"}},
         {"type": "apply_patch_call_output", "call_id": "c", "status": "failed", "output": "bad"}],
        {"name": "apply_patch", "error": "bad", "status": "error", "output": {"text": "bad"}},
    ),
    (
        "mcp that failed",
        [{"type": "mcp_call", "id": "c", "name": "find", "arguments": "{}", "status": "failed",
          "error": {"type": "http", "message": "404"}}],
        {"name": "find", "error": "404", "status": "error", "output": None},
    ),
    (
        "web search",
        [{"type": "web_search_call", "id": "c", "status": "completed", "action": {"query": "q"}}],
        {"name": "web_search", "input": {"query": "q"}, "status": "completed", "output": None},
    ),
    (
        "code interpreter",
        [{"type": "code_interpreter_call", "id": "c", "code": "1+1", "status": "completed",
          "outputs": [{"type": "logs", "logs": "2"}]}],
        {"name": "code_interpreter", "output": [{"type": "logs", "logs": "2"}]},
    ),
    (
        "a call of tomorrow",
        [{"type": "teleport_call", "call_id": "c", "arguments": {"to": "x"}},
         {"type": "teleport_call_output", "call_id": "c", "output": "there"}],
        {"name": "teleport", "input": {"to": "x"}, "output": {"text": "there"}},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("items", "told"), [c[1:] for c in CALLS], ids=[c[0] for c in CALLS])
def test_every_kind_of_call_is_one_observation(
    items: list[Item], told: dict[str, Any], tmp_path: Path
) -> None:
    trace = read_value([USER, *items], tmp_path)
    (call,) = trace.tools()
    assert call.id == "c"
    assert {key: getattr(call, key) for key in told} == told
    assert call.flags == ()
    assert lost(items, [trace]) == set()


@pytest.mark.parametrize(
    ("items", "flags"),
    [
        ([called("c1")], ("missing-result",)),
        ([called("c1"), answered("c2", "x")], ("missing-result", "orphan-result")),
        ([called("c1"), called("c1"), answered("c1", "x"), answered("c1", "y")],
         ("ambiguous-pairing", "duplicate-call-id", "duplicate-id")),
        ([called(None), answered(None, "x")], ("paired-by-position",)),
        ([called(None), called(None), answered(None, "x")], ("ambiguous-pairing",)),
        ([called("c1", arguments="{broken"), answered("c1", "x")], ("invalid-arguments",)),
    ],
)  # fmt: skip
def test_calls_and_results_that_do_not_fit_are_flagged(
    items: list[Item], flags: tuple[str, ...], tmp_path: Path
) -> None:
    trace = read_value([USER, *items], tmp_path)
    assert tuple(flag for flag in trace.all_flags if flag != "derived-id") == flags


def test_a_yes_to_a_call_and_a_reference_are_events_with_what_they_point_at(
    tmp_path: Path,
) -> None:
    asked = {"type": "mcp_approval_request", "id": "r1", "name": "send", "arguments": "{}"}
    yes = {"type": "mcp_approval_response", "approval_request_id": "r1", "approve": True}
    trace = read_value([USER, asked, yes, {"type": "item_reference", "id": "r1"}], tmp_path)
    assert [(o.id, o.name, o.type, o.input) for o in trace.observations] == [
        ("r1", "mcp_approval_request", "EVENT", {}),
        ("m2", "mcp_approval_response", "EVENT", {"approval_request_id": "r1", "approve": True}),
        ("m3", "item_reference", "EVENT", {"id": "r1"}),
    ]
    assert trace.all_flags == ("derived-id",)


@pytest.mark.parametrize(
    ("status", "flags"),
    [("completed", ()), ("failed", ()), ("incomplete", ()), ("cancelled", ()),
     ("in_progress", ("truncated",)), ("queued", ("truncated",))],
)  # fmt: skip
def test_an_answer_that_was_still_being_made_is_truncated(
    status: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    value = {
        "id": "r1",
        "object": "response",
        "status": status,
        "error": {"code": "x", "message": "it broke"} if status == "failed" else None,
        "instructions": "Be brief.",
        "input": "go",
        "output": [{"type": "message", "role": "assistant",
                    "content": [{"type": "output_text", "text": "hi"}]}],
    }  # fmt: skip
    trace = read_value(value, tmp_path)
    assert trace.flags == flags
    assert trace.input == {"prompt": "go", "system": "Be brief."}
    assert trace.output == {"response": "hi"}
    assert trace.raw["status"] == status
    assert lost(value, [trace]) == set()


def test_answers_by_line_are_one_trace_each_and_a_bad_item_is_told(tmp_path: Path) -> None:
    def line(number: int, *items: Any) -> bytes:
        value = {"object": "response", "id": f"r{number}", "output": list(items)}
        return json.dumps(value).encode()

    data = b"\n".join([line(1, called("c")), line(2, 7), line(3, {}), b'{"object":', line(4)])
    traces, failures = read_bytes(data, tmp_path)
    assert [trace.id for trace in traces] == ["r1", "r4"]
    assert [failure.line for failure in failures] == [2, 3, 4]
    assert "m0: an item must be an object (got a number)" in failures[0].reason
    assert "m0: an item must have a type (got an empty object)" in failures[1].reason

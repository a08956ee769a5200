"""OpenAI chat messages: every spelling of a call, content parts, what was asked and answered."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from reading_of import read_bytes, read_value

from helix.model.trace import Trace


def talk(folder: Path, *messages: dict[str, Any], **envelope: Any) -> Trace:
    first = {"role": "user", "content": "please"}
    return read_value({"messages": [first, *messages], **envelope}, folder)


def said(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def call(name: str, arguments: Any = "{}", key: str | None = "c1") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    identity = {} if key is None else {"id": key}
    return said(
        "assistant", None, tool_calls=[{**identity, "type": "function", "function": function}]
    )


@pytest.mark.parametrize("bare", [True, False])
def test_lines_hold_conversations_bare_or_wrapped(tmp_path: Path, bare: bool) -> None:
    talks = [[said("user", f"q{i}"), said("assistant", f"a{i}")] for i in range(3)]
    lines = [json.dumps(t if bare else {"messages": t, "id": f"t{i}"}) for i, t in enumerate(talks)]
    traces, failures = read_bytes("\n".join(lines).encode(), tmp_path)
    assert failures == []
    assert [t.output for t in traces] == [{"response": f"a{i}"} for i in range(3)]
    assert [t.flags for t in traces] == [("derived-id",) if bare else ()] * 3


def test_a_list_of_conversations_is_many_traces(tmp_path: Path) -> None:
    talks = [[said("user", "q"), said("assistant", f"a{i}")] for i in range(3)]
    for value in (talks, [{"messages": t} for t in talks]):
        traces, _ = read_bytes(json.dumps(value).encode(), tmp_path, "t.json")
        assert [t.output["response"] for t in traces] == ["a0", "a1", "a2"]


def test_a_custom_call_keeps_its_free_text(tmp_path: Path) -> None:
    custom = {"id": "c1", "type": "custom", "custom": {"name": "patch", "input": '{"not": decoded'}}
    trace = talk(tmp_path, said("assistant", None, tool_calls=[custom]))
    assert trace.observations[0].input == '{"not": decoded'
    assert trace.all_flags == ("derived-id", "missing-result")


def test_a_legacy_function_call_pairs_by_position(tmp_path: Path) -> None:
    legacy = said("assistant", None, function_call={"name": "find", "arguments": '{"q": 1}'})
    trace = talk(tmp_path, legacy, said("function", "[]", name="find"))
    found = trace.tools("find")[0]
    assert (found.input, found.output, found.flags) == ({"q": 1}, [], ("paired-by-position",))


def test_broken_arguments_are_kept_and_flagged(tmp_path: Path) -> None:
    trace = talk(tmp_path, call("find", '{"q": '), said("tool", "ok", tool_call_id="c1"))
    assert trace.observations[0].input == '{"q": '
    assert trace.all_flags == ("derived-id", "invalid-arguments")


def test_a_result_is_decoded_when_it_is_an_object_or_list_and_text_otherwise(
    tmp_path: Path,
) -> None:
    for content, expected in (
        ('{"a": 1}', {"a": 1}),
        ("[1]", [1]),
        ("42", {"text": "42"}),
        ("", {"text": ""}),
        (None, {"text": ""}),
        ({"a": 1}, {"a": 1}),
        ([{"type": "text", "text": '{"a":'}, {"type": "text", "text": "1}"}], {"a": 1}),
    ):
        trace = talk(tmp_path, call("find"), said("tool", content, tool_call_id="c1"))
        assert trace.observations[0].output == expected


def test_a_refusal_is_what_the_agent_said(tmp_path: Path) -> None:
    trace = talk(tmp_path, said("assistant", None, refusal="I will not."))
    assert trace.output == {"response": "I will not."}
    assert trace.raw["messages"]["m1"] == {"refusal": "I will not."}


DATA = base64.b64encode(b"binary").decode()
DIGEST = hashlib.sha256(b"binary").hexdigest()


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}},
            f"[image/png: 6 bytes, sha256 {DIGEST}]",
        ),
        (
            {"type": "input_audio", "input_audio": {"data": DATA, "format": "wav"}},
            f"[audio/wav: 6 bytes, sha256 {DIGEST}]",
        ),
        (
            {"type": "image", "source": {"media_type": "image/gif", "data": DATA}},
            f"[image/gif: 6 bytes, sha256 {DIGEST}]",
        ),
        (
            {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{DATA}"}},
            f"[application/pdf: 6 bytes, sha256 {DIGEST}]",
        ),
        (
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
            "[image_url: https://example.com/a.png]",
        ),
        ({"type": "refusal", "refusal": "no"}, "no"),
        ({"type": "strange", "payload": 1}, "[strange]"),
        ("plain", "plain"),
        (7, "7"),
    ],
)
def test_what_is_no_text_becomes_a_placeholder_and_stays_under_raw(
    tmp_path: Path, part: Any, text: str
) -> None:
    content = [{"type": "text", "text": "see"}, part]
    trace = talk(tmp_path, said("assistant", content))
    assert trace.transcript[1].text == f"see\n{text}"
    if not isinstance(part, str):
        assert trace.raw["messages"]["m1"]["content"] == content


@pytest.mark.parametrize(
    ("text", "control"),
    [
        ("###STOP###", True),
        ("Thanks! ###STOP###", True),
        ("<environment_context>\n<cwd>x</cwd>", True),
        ("  <command-name>/clear</command-name>", True),
        ("Caveat: the messages below were generated", True),
        ("There is a Caveat: none", False),
        ("please STOP", False),
    ],
)
def test_control_text_that_poses_as_a_user_is_marked(
    tmp_path: Path, text: str, control: bool
) -> None:
    trace = talk(tmp_path, said("user", text), said("assistant", text))
    assert [m.control for m in trace.transcript] == [False, control, False]


def test_the_prompt_is_the_first_turn_that_is_really_the_users(tmp_path: Path) -> None:
    messages = [
        said("system", "rules"),
        said("developer", "more rules"),
        said("user", "<environment_context>x</environment_context>"),
        said("user", "the task"),
        said("system", "a later reminder"),
    ]
    trace = read_value(messages, tmp_path)
    assert trace.input == {"prompt": "the task", "system": "rules\n\nmore rules"}


@pytest.mark.parametrize(
    ("messages", "output"),
    [
        ([said("assistant", "done")], {"response": "done"}),
        ([said("assistant", "done"), said("user", "thanks")], {"response": "done"}),
        ([said("assistant", "one"), said("assistant", "two")], {"response": "two"}),
        ([said("assistant", "")], {"response": ""}),
        ([said("assistant", "one"), said("assistant", "")], {"response": ""}),
        ([said("assistant", "wait"), call("hand_over")], {}),
        ([call("f"), said("tool", "ok", tool_call_id="c1")], {}),
        ([call("f"), said("tool", "ok", tool_call_id="c1"), said("user", "?")], {}),
        (
            [call("f"), said("tool", "ok", tool_call_id="c1"), said("assistant", "done")],
            {"response": "done"},
        ),
        ([], {}),
    ],
)
def test_the_response_is_what_stands_after_the_last_call(
    tmp_path: Path, messages: list[Any], output: dict[str, Any]
) -> None:
    assert talk(tmp_path, *messages).output == output


def test_a_message_with_text_and_calls_comes_before_its_calls(tmp_path: Path) -> None:
    both = {**call("f"), "content": "let me look"}
    trace = talk(tmp_path, both, said("tool", "ok", tool_call_id="c1"), said("assistant", "done"))
    assert [(m.seq, m.text) for m in trace.transcript] == [
        (0, "please"),
        (1, "let me look"),
        (3, "done"),
    ]
    assert trace.observations[0].seq == 2
    assert trace.observations[0].parent_id == "m1"
    assert trace.transcript[1].observation_ids == ("c1",)
    assert trace.raw == {"results": {"c1": "m2"}}


def test_ids_stay_unique_even_against_the_traces_own(tmp_path: Path) -> None:
    trace = talk(
        tmp_path,
        call("f", key="m1"),
        said("tool", "1", tool_call_id="m1"),
        call("g", key="t"),
        said("tool", "2", tool_call_id="t"),
        id="t",
    )
    assert [(o.id, o.output_text) for o in trace.observations] == [("m1#2", "1"), ("t#2", "2")]
    assert trace.transcript[1].observation_ids == ("m1#2",)
    assert trace.all_flags == ("duplicate-id",)


def test_ground_truth_in_the_envelope_goes_to_labels_and_tool_results_stay(tmp_path: Path) -> None:
    result = said("tool", '{"score": 9}', tool_call_id="c1")
    trace = talk(
        tmp_path,
        call("grade"),
        result,
        ground_truth="42",
        model="m",
        metadata={"Final answer": "42", "lang": "en", "eval": [{"score": 1, "by": "x"}]},
    )
    assert trace.labels == {
        "ground_truth": "42",
        "metadata": {"Final answer": "42", "eval": [{"score": 1}]},
    }
    assert trace.metadata == {"lang": "en", "eval": [{"by": "x"}]}
    assert trace.raw == {"model": "m", "results": {"c1": "m2"}}
    assert trace.observations[0].output == {"score": 9}


def test_what_the_model_has_no_place_for_is_under_raw(tmp_path: Path) -> None:
    trace = talk(
        tmp_path,
        {**call("f"), "annotations": [], "reasoning_content": "because"},
        said("tool", "x", tool_call_id="c1", name="f", latency=3),
        said("tool", "y", tool_call_id="c2", name="g"),
    )
    assert trace.raw["messages"] == {
        "m1": {"reasoning_content": "because"},
        "m2": {"latency": 3},
        "m3": {"name": "g"},
    }
    orphan = trace.observations[1]
    assert (orphan.name, orphan.type) == ("orphan-result", "EVENT")
    assert orphan.input == {"callId": "c2", "name": "g"}
    assert trace.tools("g") == []


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ([said("user", "x"), 5], "messages[1] must be an object with a role"),
        ([said("user", "x"), {"content": "y"}], "messages[1] must be an object with a role"),
        ([said("user", "x"), said("assistant", None, tool_calls=[{"id": "1"}])], "m1: a tool call"),
        ([said("user", "x"), said("assistant", None, tool_calls=["f"])], "m1: a tool call"),
    ],
)
def test_a_message_that_cannot_be_read_is_a_failure_that_names_it(
    tmp_path: Path, messages: list[Any], told: str
) -> None:
    good = [said("user", "hi"), said("assistant", "yo")]
    lines = [json.dumps(m) for m in (good, messages, good)]
    traces, failures = read_bytes("\n".join(lines).encode(), tmp_path)
    assert len(traces) == 2
    assert [f.line for f in failures] == [2]
    assert told in failures[0].reason

"""mini-swe-agent runs: {info, messages, trajectory_format}, or the bare list of messages.

Commands are tool calls of `bash` (2.x), `extra.actions`, or the one fenced block of a reply
(1.x); in text the next turn is the result, paired by position. `extra.returncode` is a coded
error and stays beside the output; `extra.exception_info` declares one. Messages in the shape of
the Responses API (`object: response`) are read by their items. A message's id is `m` and its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from helix.errors import FormatError
from helix.ingest.content import is_plain, text_of
from helix.ingest.conversation import Conversation
from helix.ingest.formats.openai_chat import HEAD, is_messages
from helix.ingest.formats.swe_agent import SHELL, ending, usage_of
from helix.ingest.identity import normalised_id
from helix.ingest.leakage import split
from helix.ingest.pairing import Call, Result
from helix.ingest.times import nanoseconds
from helix.model.canonical import source_digest
from helix.model.trace import Source, Trace
from helix.registry import Format, Match, Record

FORMAT_MARK: Final = "mini-swe-agent"
PROMPT_MARKS: Final = ("mswea_bash_command", "exactly one bash code block")
_BLOCK = re.compile(r"```(?:mswea_bash_command|bash)[ \t]*\n(.*?)\n?```", re.DOTALL)
_PLACED = frozenset({"role", "tool_call_id", "call_id"})

Message = dict[str, Any]


def detect(value: Any) -> Match | None:
    """Recognise a run by its trajectory_format or version, a bare list by its instructions."""
    if is_messages(value) and _is_prompted(value):
        return Match("messages that agree on bash code blocks", True, specificity=2)
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict) or not isinstance(first.get("messages"), list):
        return None
    info = first.get("info")
    if str(first.get("trajectory_format", "")).startswith(FORMAT_MARK):
        return Match("messages[] with trajectory_format mini-swe-agent", specificity=3)
    if isinstance(info, dict) and "mini_version" in info:
        return Match("messages[] with info.mini_version", specificity=3)
    if is_messages(first["messages"]) and _is_prompted(first["messages"]):
        return Match("messages[] that agree on bash code blocks", specificity=2)
    return None


def _is_prompted(messages: list[Message]) -> bool:
    """Whether the instructions say that commands stand in blocks, and no turn makes tool calls."""
    text = (text_of(messages[0].get("content")) or "").lower()
    called = any(message.get("tool_calls") for message in messages[:HEAD])
    return any(mark in text for mark in PROMPT_MARKS) and not called


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Read each record as one run."""
    for record in records:
        value = record.value if isinstance(record.value, dict) else {"messages": record.value}
        messages = value.get("messages")
        if not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
            raise FormatError("a run must be a list of messages or hold one as 'messages'")
        yield _run(record, value, [_as_chat(message) for message in messages])


def _run(record: Record, value: Mapping[str, Any], messages: list[Message]) -> Trace:
    rest, labels = split({k: v for k, v in value.items() if k != "messages"})
    info = rest.get("info")
    info = info if isinstance(info, dict) else {}
    last = _extra_of(messages[-1]) if messages else {}
    talk = Conversation(
        Source(record.file, record.line, "mini_swe_agent", source_digest(record.data)), None
    )
    open_calls: list[Call] = []
    for at, message in enumerate(messages):
        open_calls = _take(talk, f"m{at}", message, open_calls)
    trace = talk.finish(
        labels=labels,
        usage=usage_of(info),
        output=ending({**last, **info}),
        task=normalised_id(rest.get("instance_id")),
    )
    trace.raw = lambda: {**rest, **_left_over(messages, trace)}
    return trace


def _take(talk: Conversation, name: str, message: Message, waiting: list[Call]) -> list[Call]:
    """Take in one message; return the calls without an id that wait for a result."""
    role, text = str(message.get("role") or "user"), text_of(message.get("content"))
    key = normalised_id(message.get("tool_call_id"))
    if role == "tool" or (waiting and role == "user"):
        return _result(talk, name, message, key, waiting)
    talk.say(name, role, text)
    if role != "assistant":
        return []
    start = _time(message)
    if message.get("tool_calls"):
        return [talk.function_call(call, name, start=start) for call in message["tool_calls"]]
    actions = _extra_of(message).get("actions")
    commands = [a.get("command") for a in actions or () if isinstance(a, dict)]
    if actions is None:
        blocks = _BLOCK.findall(text or "")
        commands = blocks if len(blocks) == 1 else []
    return [talk.call(None, SHELL, {"command": c}, start=start) for c in commands]


def _result(
    talk: Conversation, name: str, message: Message, key: str | None, waiting: list[Call]
) -> list[Call]:
    extra = _extra_of(message)
    raised = extra.get("exception_info")
    error = None if not raised else raised if isinstance(raised, str) else text_of(raised)
    text = text_of(message.get("content")) or ""
    result = Result(text, error=error, status="error" if error else None, message_id=name, key=key)
    result.time = _time(message)
    # Several commands of one turn are answered in their order, one turn each.
    talk.result(result, waiting[:1] if key is None and "returncode" in extra else waiting)
    return waiting[1:] if key is None else [call for call in waiting if call.key != key]


def _as_chat(message: Message) -> Message:
    """Return a message of the Responses API in the shape of a chat message; others as they are."""
    if message.get("type") == "function_call_output":
        placed = {"role": "tool", "content": message.get("output")}
        return {**message, **placed, "tool_call_id": message.get("call_id")}
    if message.get("object") != "response" or not isinstance(message.get("output"), list):
        return message
    items = [item for item in message["output"] if isinstance(item, dict)]
    said = [text_of(i.get("content")) or "" for i in items if i.get("type") == "message"]
    calls = [
        {"id": i.get("call_id"), "function": {k: i.get(k) for k in ("name", "arguments")}}
        for i in items
        if i.get("type") == "function_call"
    ]
    placed = {"role": "assistant", "content": "\n".join(said) if said else None}
    return {**message, **placed, "tool_calls": calls}


def _extra_of(message: Message) -> dict[str, Any]:
    extra = message.get("extra")
    return extra if isinstance(extra, dict) else {}


def _time(message: Message) -> int | None:
    stamp = _extra_of(message).get("timestamp", message.get("timestamp"))
    return nanoseconds(stamp)


def _left_over(messages: list[Message], trace: Trace) -> dict[str, Any]:
    told = {m.text for m in trace.transcript} | {o.output_text for o in trace.observations}
    kept = {f"m{at}": _unsaid(message, told) for at, message in enumerate(messages)}
    kept = {name: extra for name, extra in kept.items() if extra}
    return {"messages": kept} if kept else {}


def _unsaid(message: Message, told: set[str | None]) -> Message:
    extra = {k: v for k, v in message.items() if k not in _PLACED and v not in (None, "", [], {})}
    content = extra.get("content")
    if is_plain(content) and text_of(content) in told:
        extra.pop("content", None)
    calls = extra.get("tool_calls")
    if isinstance(calls, list) and all(map(_is_plain_call, calls)):
        extra.pop("tool_calls", None)
    return extra


def _is_plain_call(call: Any) -> bool:
    return isinstance(call, dict) and not set(call) - {"id", "type", "function"}


FORMAT = Format("mini_swe_agent", "1", detect, read)

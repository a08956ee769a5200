"""OpenAI chat messages: a list, `{messages: […]}`, or JSON Lines of either.

Tool calls are `tool_calls` (function and custom) or the legacy `function_call`; a result is a
message of role `tool` or `function`. The array defines the order. A message's id is `m` and its
position; `parentId` of a call is the message that made it, so that parallel calls share one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from helix.errors import FormatError
from helix.ingest.content import is_plain, text_of
from helix.ingest.conversation import Conversation
from helix.ingest.detection import describe
from helix.ingest.identity import normalised_id
from helix.ingest.leakage import split
from helix.ingest.pairing import NOT_RECORDED, Result, declared_error
from helix.model.canonical import source_digest
from helix.model.trace import Source, Trace
from helix.registry import Format, Match, Record

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
GIVEN = frozenset({"system", "developer", "user"})
HEAD = 3
ID_KEYS = ("id", "trace_id", "traceId", "conversation_id", "session_id")
_READ = frozenset({"role", "content", "tool_calls", "function_call", "tool_call_id", "index"})
_KINDS: dict[type, str] = {list: "a list", dict: "an object"}
_CALL_KEYS = {"id", "type", "function", "custom"}


def detect(value: Any) -> Match | None:
    """Recognise messages with a role, bare or under `messages`."""
    if isinstance(value, dict):
        if is_messages(value.get("messages")):
            return Match("messages[] with role and content")
        return None
    if is_messages(value):
        return Match("a list of messages with role and content", list_is_one_trace=True)
    if isinstance(value, list) and value and detect(value[0]):
        return Match("a list of conversations")
    return None


def is_messages(value: Any) -> bool:
    """Whether a value is a list of chat messages, judged by its first ones.

    One of them must be given to the agent: a list of calls and results alone documents tools.
    """
    if not isinstance(value, list) or not all(map(_is_message, value[:HEAD])):
        return False
    return any(message["role"] in GIVEN for message in value[:HEAD])


def _is_message(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.get("role") in ROLES
        and ("content" in value or "tool_calls" in value or "function_call" in value)
    )


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Read each record as one conversation."""
    for record in records:
        value = record.value
        messages = value.get("messages") if isinstance(value, dict) else value
        if not isinstance(messages, list):
            raise FormatError("a conversation must be a list of messages or hold one as 'messages'")
        envelope = dict(value) if isinstance(value, dict) else {}
        envelope.pop("messages", None)
        rest, labels = split(envelope)
        trace_id = next((i for k in ID_KEYS if (i := normalised_id(rest.get(k)))), None)
        metadata = rest.pop("metadata", None) or {}
        if not isinstance(metadata, dict):
            rest["metadata"], metadata = metadata, {}
        yield conversation(
            record, "openai_chat", messages, trace_id, rest, metadata=metadata, labels=labels
        )


def conversation(
    record: Record,
    format_name: str,
    messages: list[Any],
    trace_id: str | None,
    rest: Mapping[str, Any],
    **parts: Any,
) -> Trace:
    """Return the trace of a list of chat messages; `rest` is the envelope without labels."""
    source = Source(record.file, record.line, format_name, source_digest(record.data))
    talk = Conversation(source, trace_id)
    for at, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if not isinstance(role, str):
            raise FormatError(f"messages[{at}] must be an object with a role")
        if role in ("tool", "function"):
            talk.result(_result(message, message_id(message, at)))
        else:
            _say(talk, message, message_id(message, at))
    return talk.finish(raw=lambda: left_over(messages, rest, talk.results), **parts)


def message_id(message: Mapping[str, Any], at: int) -> str:
    """Return `m` and the message's own index where it has one, else its position."""
    index = message.get("index")
    return f"m{index if isinstance(index, int) else at}"


def _say(talk: Conversation, message: Mapping[str, Any], name: str) -> None:
    text = text_of(message.get("content"))
    if text is None and isinstance(message.get("refusal"), str):
        text = message["refusal"]
    talk.say(name, message["role"], text)
    if "tool_calls" in message or "function_call" in message:
        _call(talk, message, name)


def _call(talk: Conversation, message: Mapping[str, Any], name: str) -> None:
    for call in _typed(message, "tool_calls", list, name) or ():
        if not isinstance(call, dict):
            raise FormatError(f"{name}: a tool call must be an object")
        key = normalised_id(call.get("id"))
        custom = call.get("custom")
        if isinstance(custom, dict):
            talk.call(key, _name(custom, name), custom.get("input"), free_text=True)
        else:
            function = call.get("function")
            function = function if isinstance(function, dict) else call
            talk.call(key, _name(function, name), function.get("arguments"))
    legacy = _typed(message, "function_call", dict, name)
    if legacy:
        talk.call(None, _name(legacy, name), legacy.get("arguments"))


def _typed(message: Mapping[str, Any], key: str, kind: type, where: str) -> Any:
    value = message.get(key)
    if value is not None and not isinstance(value, kind):
        raise FormatError(f"{where}: {key} must be {_KINDS[kind]} (got {describe(value)})")
    return value


def _name(holder: Mapping[str, Any], where: str) -> str:
    name = holder.get("name")
    if not isinstance(name, str) or not name:
        raise FormatError(f"{where}: a tool call must have a name")
    return name


def _result(message: Mapping[str, Any], name: str) -> Result:
    content = message.get("content")
    is_value = isinstance(content, dict)
    text = None if is_value else text_of(content) or ""
    error, status = declared_error(message, text)
    tool = message.get("name")
    return Result(
        text=text,
        value=content if is_value else NOT_RECORDED,
        error=error,
        status=status,
        message_id=name,
        tool=tool if isinstance(tool, str) else None,
        key=normalised_id(message.get("tool_call_id")),
    )


def left_over(
    messages: list[Any], rest: Mapping[str, Any], results: Mapping[str, tuple[str, str | None]]
) -> dict[str, Any]:
    """Return what the model has no place for.

    The envelope; `messages`, per message id its other keys; `results`, per observation id the id
    of the message that its result stood in.
    """
    kept: dict[str, Any] = {}
    for at, message in enumerate(messages):
        name = message_id(message, at)
        extra = _extra(message)
        if name in results and extra.get("name") == results[name][1]:
            extra.pop("name", None)
        if extra:
            kept[name] = extra
    found = {"messages": kept, "results": {done: name for name, (done, _) in results.items()}}
    return {**rest, **{key: value for key, value in found.items() if value}}


def _extra(message: Mapping[str, Any]) -> dict[str, Any]:
    extra = {key: v for key, v in message.items() if key not in _READ and v not in (None, [], {})}
    if not is_plain(message.get("content")):
        extra["content"] = message["content"]
    calls = message.get("tool_calls") or ()
    if any(set(call) - _CALL_KEYS for call in calls):
        extra["tool_calls"] = calls
    return extra


FORMAT = Format("openai_chat", "1", detect, read)

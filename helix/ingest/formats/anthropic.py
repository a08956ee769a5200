"""Anthropic messages: what the Messages API is sent, `{system, messages}`, or what it answers.

A conversation is a list of messages, an object that holds one, or JSON Lines of either; an
answer alone is an object of type `message`. A message's id is `m` and its position.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from helix.errors import FormatError
from helix.ingest.content import text_of
from helix.ingest.conversation import Conversation
from helix.ingest.formats.anthropic_blocks import Blocks, is_own, is_whole, usage_of
from helix.ingest.formats.openai_chat import ID_KEYS
from helix.ingest.identity import normalised_id
from helix.ingest.leakage import split
from helix.model.canonical import source_digest
from helix.model.trace import Source, Trace
from helix.registry import Format, Match, Record

ROLES = ("user", "assistant", "system")
SPECIFICITY = 2
_MESSAGE_KEYS = frozenset({"role", "content"})


def detect(value: Any) -> Match | None:
    """Recognise an answer of the API, and messages with blocks that only it has."""
    if isinstance(value, dict):
        if is_answer(value):
            return Match("type message with role and content blocks", specificity=SPECIFICITY)
        messages: Any = value.get("messages")
        if _are_messages(messages) and (_has_blocks(messages) or _is_request(value)):
            return Match("messages[] with tool_use blocks or a system", specificity=SPECIFICITY)
        return None
    if not isinstance(value, list) or not value:
        return None
    if _are_messages(value) and _has_blocks(value) and not is_answer(value[0]):
        return Match("a list of messages with tool_use blocks", True, SPECIFICITY)
    if isinstance(value[0], dict) and detect(value[0]):
        return Match("a list of conversations or answers", specificity=SPECIFICITY)
    return None


def is_answer(value: Any) -> bool:
    """Whether a value is what the API answers."""
    return (
        isinstance(value, dict)
        and value.get("type") == "message"
        and value.get("role") == "assistant"
        and isinstance(value.get("content"), list)
        and ("stop_reason" in value or "usage" in value or any(map(is_own, value["content"])))
    )


def _are_messages(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(m, dict) and m.get("role") in ROLES and "content" in m for m in value)
    )


def _has_blocks(messages: Sequence[Mapping[str, Any]]) -> bool:
    lists = (m["content"] for m in messages if isinstance(m["content"], list))
    return any(is_own(block) for content in lists for block in content)


def _is_request(value: Mapping[str, Any]) -> bool:
    model = value.get("model")
    return "max_tokens" in value and (
        "system" in value or (isinstance(model, str) and "claude" in model)
    )


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Read each record as one conversation."""
    for record in records:
        yield _conversation(record)


def _conversation(record: Record) -> Trace:
    envelope = {"messages": record.value} if isinstance(record.value, list) else record.value
    if not isinstance(envelope, dict):
        raise FormatError("a conversation must be a list of messages or an object that holds one")
    answer = is_answer(envelope)
    messages = [envelope] if answer else envelope.get("messages")
    if not isinstance(messages, list):
        raise FormatError("a conversation must be a list of messages or hold one as 'messages'")
    read = {"messages", "tools", "system", *(_MESSAGE_KEYS | {"type"} if answer else ())}
    rest, labels = split({key: item for key, item in envelope.items() if key not in read})
    trace_id = next((i for k in ID_KEYS if (i := normalised_id(rest.get(k)))), None)
    source = Source(record.file, record.line, "anthropic", source_digest(record.data))
    talk = Conversation(source, trace_id)
    blocks = Blocks(talk)
    system = None if answer else envelope.get("system")
    if system is not None:
        talk.say("system", "system", text_of(system))
    for at, message in enumerate(messages):
        _read(blocks, message, f"m{at}")
    metadata = rest.pop("metadata", None) or {}
    if not isinstance(metadata, dict):
        rest["metadata"], metadata = metadata, {}
    if not is_whole(system):
        rest["system"] = system
    if envelope.get("tools"):
        rest["tools"] = envelope["tools"]
    return talk.finish(
        metadata=metadata,
        labels=labels,
        usage=usage_of(envelope.get("usage")),
        flags=blocks.flags,
        raw=lambda: _left_over([] if answer else messages, rest, blocks, talk),
    )


def _read(blocks: Blocks, message: Any, name: str) -> None:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise FormatError(f"{name} must be an object with a role")
    if message["role"] == "assistant":
        blocks.answer(name, message.get("content"))
    else:
        blocks.given(name, message["role"], message.get("content"))


def _left_over(
    messages: Sequence[Mapping[str, Any]], rest: dict[str, Any], blocks: Blocks, talk: Conversation
) -> dict[str, Any]:
    """Return the envelope; `messages`, per message what it lacks; `results`, where each stood."""
    kept: dict[str, Any] = {}
    for at, message in enumerate(messages):
        extra = {key: v for key, v in message.items() if key not in _MESSAGE_KEYS and v is not None}
        if extra:
            kept[f"m{at}"] = extra
    for name, found in blocks.kept.items():
        kept.setdefault(name, {})["blocks"] = found
    results = {done: name for name, (done, _) in talk.results.items()}
    told = {"messages": kept, "results": results}
    return {**rest, **{key: value for key, value in told.items() if value}}


FORMAT = Format("anthropic", "1", detect, read)

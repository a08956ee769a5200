"""Gemini CLI sessions: one JSON document of {sessionId, projectHash, messages}.

A message of type `gemini` is the agent's and holds its calls with their results; `user` is the
user's; every other type (info, error, warning, …) is a word of the tool itself and an EVENT.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from helix.errors import FormatError
from helix.ingest.content import is_plain, text_of
from helix.ingest.conversation import Conversation
from helix.ingest.detection import describe
from helix.ingest.identity import normalised_id
from helix.ingest.pairing import NOT_RECORDED, Result
from helix.ingest.times import nanoseconds
from helix.model.canonical import source_digest
from helix.model.trace import Source, Trace
from helix.registry import Format, Match, Record

ROLES: Final = {"user": "user", "gemini": "assistant"}
_READ = frozenset({"id", "type", "content", "toolCalls"})
_CALL_READ = frozenset({"id", "name", "args"})
_EMPTY: Final[tuple[Any, ...]] = (None, [], {})


def detect(value: Any) -> Match | None:
    """Recognise a session by sessionId and messages with a type."""
    if not isinstance(value, dict) or not isinstance(value.get("sessionId"), str):
        return None
    messages = value.get("messages")
    if not isinstance(messages, list) or not ("projectHash" in value or "startTime" in value):
        return None
    if all(isinstance(m, dict) and isinstance(m.get("type"), str) for m in messages):
        return Match("sessionId, projectHash and messages[] with a type", specificity=3)
    return None


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Read each record as one session."""
    for record in records:
        value = record.value
        if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
            raise FormatError("a session must be an object with a list 'messages'")
        yield _session(record, value)


def _session(record: Record, value: dict[str, Any]) -> Trace:
    source = Source(record.file, record.line, "gemini_cli", source_digest(record.data))
    talk = Conversation(source, normalised_id(value.get("sessionId")))
    kept: dict[str, Any] = {}
    for at, message in enumerate(value["messages"]):
        if not isinstance(message, dict):
            raise FormatError(f"messages[{at}] must be an object (got {describe(message)})")
        name = normalised_id(message.get("id")) or f"m{at}"
        extra = _message(talk, message, name)
        if extra:
            kept[name] = extra
    metadata = {key: item for key, item in value.items() if key != "messages" and item is not None}
    return talk.finish(
        metadata=metadata,
        usage=_usage(value["messages"]),
        raw={"messages": kept} if kept else {},
    )


def _message(talk: Conversation, message: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Add a message with its calls; return what the conversation lacks of it."""
    kind, content = str(message.get("type")), message.get("content")
    time = nanoseconds(message.get("timestamp"))
    extra = {key: v for key, v in message.items() if key not in _READ and v not in _EMPTY}
    if kind in ROLES:
        talk.say(name, ROLES[kind], text_of(content))
    else:
        text = text_of(content)
        error = (text or kind) if kind == "error" else None
        told = Result(text=text, error=error, status=None if error is None else "error")
        talk.event(name, kind, told, start=time)
    if not is_plain(content):
        extra["content"] = content
    calls: dict[str, Any] = {}
    for at, call in enumerate(message.get("toolCalls") or ()):
        if not isinstance(call, dict):
            raise FormatError(f"{name}: a tool call must be an object (got {describe(call)})")
        calls[str(at)] = _call(talk, call, name, time)
    calls = {at: rest for at, rest in calls.items() if rest}
    return {**extra, **({"toolCalls": calls} if calls else {})}


def _call(
    talk: Conversation, call: Mapping[str, Any], where: str, time: int | None
) -> dict[str, Any]:
    name = call.get("name")
    if not isinstance(name, str) or not name:
        raise FormatError(f"{where}: a tool call must have a name")
    answers = _answers(call.get("result"))
    result = _result(call, answers)
    talk.call(
        normalised_id(call.get("id")),
        name,
        call.get("args"),
        start=time,
        end=None if result is None else nanoseconds(call.get("timestamp")),
        result=result,
    )
    read = _CALL_READ if result is None else _CALL_READ | {"status"}
    rest = {key: v for key, v in call.items() if key not in read and v not in _EMPTY}
    if answers is not None and all(_is_bare(part, call) for part in call["result"]):
        rest.pop("result", None)
    return rest


def _answers(result: Any) -> list[Mapping[str, Any]] | None:
    """Return the responses of a result's function responses; None where it holds none."""
    found: list[Mapping[str, Any]] = []
    for part in result if isinstance(result, list) else ():
        answer = part.get("functionResponse") if isinstance(part, Mapping) else None
        response = answer.get("response") if isinstance(answer, Mapping) else None
        if isinstance(response, Mapping):
            found.append(response)
    return found or None


def _is_bare(part: Any, call: Mapping[str, Any]) -> bool:
    """Whether a part of a result says nothing beside the response."""
    answer = part.get("functionResponse") if isinstance(part, Mapping) else None
    if not isinstance(answer, Mapping) or set(part) != {"functionResponse"}:
        return False
    known = {"id": call.get("id"), "name": call.get("name")}
    return all(key == "response" or known.get(key) == v for key, v in answer.items())


def _result(call: Mapping[str, Any], answers: list[Mapping[str, Any]] | None) -> Result | None:
    """Return what came back; None for a call that nothing answered."""
    status = call.get("status")
    status = status if isinstance(status, str) and status else None
    told: Any = answers[0] if answers is not None and len(answers) == 1 else answers
    if told is None:
        told = call.get("result") or None
    if told is None and status in (
        None,
        "scheduled",
        "executing",
        "validating",
        "awaiting_approval",
    ):
        return None
    text, value = _spelled(told)
    error = _error(call, status, told)
    return Result(text=text, value=value, error=error, status=status)


def _spelled(told: Any) -> tuple[str | None, Any]:
    """Return (text, NOT_RECORDED) for a plain output, (None, value) for any other."""
    if told is None or isinstance(told, str):
        return told, NOT_RECORDED
    if isinstance(told, Mapping) and set(told) == {"output"} and isinstance(told["output"], str):
        return told["output"], NOT_RECORDED
    return None, told


def _error(call: Mapping[str, Any], status: str | None, told: Any) -> str | None:
    """Return the error that a call's status or its response declares."""
    said = told.get("error") if isinstance(told, Mapping) else None
    if said:
        return said if isinstance(said, str) else str(text_of(said))
    if status == "error":
        shown = call.get("resultDisplay")
        return shown if isinstance(shown, str) and shown else "error"
    return None


def _usage(messages: Sequence[Any]) -> dict[str, Any]:
    """Return the tokens of all answers; nothing where one does not tell its own."""
    read = written = 0
    answers = [m for m in messages if isinstance(m, dict) and m.get("type") == "gemini"]
    for message in answers:
        tokens = message.get("tokens")
        tokens = tokens if isinstance(tokens, Mapping) else {}
        counts = [tokens.get(key) for key in ("input", "output", "thoughts")]
        if not all(isinstance(n, int) and not isinstance(n, bool) for n in counts[:2]):
            return {}
        read += counts[0] or 0
        written += (counts[1] or 0) + (counts[2] if isinstance(counts[2], int) else 0)
    return {"promptTokens": read, "completionTokens": written} if answers else {}


FORMAT = Format("gemini_cli", "1", detect, read)

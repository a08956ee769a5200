"""A message inside a span, in whatever shape the exporter wrote it.

OTel GenAI parts, OpenAI messages and Responses items, Anthropic blocks, Vercel AI content parts,
LangChain constructors, OpenInference's nested form: what is common to them is a role, text,
calls with id, name and arguments, results with an id. Anything else (reasoning, files, finish
reasons, further keys) stays in `Said.source`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from helix.ingest.content import text_of
from helix.ingest.history import Said, ToolCall
from helix.ingest.identity import normalised_id
from helix.ingest.pairing import Result, declared_error
from helix.model.jsontext import decode_container

ROLES: Final = {
    "human": "user", "ai": "assistant", "model": "assistant", "bot": "assistant",
    "function": "tool", "tool": "tool", "system": "system", "HumanMessage": "user",
    "AIMessage": "assistant", "AIMessageChunk": "assistant", "SystemMessage": "system",
    "ToolMessage": "tool", "FunctionMessage": "tool",
}  # fmt: skip
_CALLS: Final = (
    "tool_call", "tool-call", "tool_use", "server_tool_use", "server_tool_call", "function_call",
    "custom_tool_call", "mcp_tool_use",
)  # fmt: skip
_RESULTS: Final = (
    "tool_call_response", "tool-result", "tool-error", "tool_result", "server_tool_call_response",
    "function_call_output", "custom_tool_call_output", "mcp_tool_result",
)  # fmt: skip
_OPENING: Final = re.compile(r'\s*(?:\[\s*\{|\{\s*"(?:role|messages|type|choices)")')
_TEXTS: Final = ("text", "input_text", "output_text")
_PLAIN: Final = frozenset({"role", "type", "content", "parts", "tool_calls", "tool_call_id"})


def messages_of(value: Any, role: str = "user") -> list[Said] | None:
    """Return the messages that a value, or the JSON text of one, holds; None where it holds none.

    `role` is that of bare text. A list of one list (LangChain's batch) is that list.
    """
    if isinstance(value, str):
        decoded = decode_container(value)
        if decoded is None:
            return [Said(role, value)] if value.strip() and not is_cut(value) else None
        value = decoded
    if isinstance(value, dict):
        for key in ("messages", "message"):
            if isinstance(value.get(key), list | dict) and not _is_message(value):
                return messages_of(value[key], role)
        return [message(value, role)] if _is_message(value) else None
    while isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    if not isinstance(value, list) or not value:
        return None
    if not all(isinstance(item, str) or _is_message(item) for item in value):
        return None
    return [Said(role, m) if isinstance(m, str) else message(m, role) for m in value]


def is_cut(value: Any) -> bool:
    """Whether a text begins like messages in JSON but is none: what exporters cut in the middle."""
    if not isinstance(value, str) or not _OPENING.match(value):
        return False
    return decode_container(value) is None


def replies_of(value: Any) -> list[Said] | None:
    """Return what a model answered, in the envelopes of providers; None where there is none."""
    if isinstance(value, str):
        decoded = decode_container(value)
        if decoded is None:
            return [Said("assistant", value)] if value.strip() and not is_cut(value) else None
        value = decoded
    if isinstance(value, dict):
        for key in ("choices", "generations", "output"):
            if isinstance(value.get(key), list):
                found = [replies_of(item) for item in value[key]]
                kept = [said for one in found for said in one or ()]
                return kept or None
        if isinstance(value.get("text"), str) and not isinstance(value.get("message"), dict):
            return [Said("assistant", value["text"])]
    if isinstance(value, list) and value and isinstance(value[0], list):
        value = value[0]
    if isinstance(value, list) and value and not all(map(_is_message, value)):
        found = [replies_of(item) for item in value]
        return [said for one in found for said in one or ()] or None
    return messages_of(value, "assistant")


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if value.get("type") in _CALLS or value.get("type") in _RESULTS:
        return True
    if value.get("lc") is not None or isinstance(value.get("message"), dict):
        return True
    marked = isinstance(value.get("role"), str) or _is_role(value.get("type"))
    return marked and bool(value.keys() & {"content", "parts", "tool_calls", "contents"})


def _is_role(kind: Any) -> bool:
    return isinstance(kind, str) and kind in ROLES


def message(value: Mapping[str, Any], role: str = "user") -> Said:
    """Return one message."""
    value = _unwrapped(value)
    kind = value.get("type")
    if kind in _CALLS or kind in _RESULTS:
        said = Said("assistant" if kind in _CALLS else "tool")
        return _with_parts(said, [value], value)
    named = value.get("role")
    named = kind if not isinstance(named, str) and _is_role(kind) else named
    named = named if isinstance(named, str) else role
    said = Said(ROLES.get(named, named))
    content = value.get("parts", value.get("content", value.get("contents")))
    if said.role == "tool" and not _brings_results(content):
        said.results = [_tool_message(value, content)]
        said.source = _extra(value)
        return said
    return _with_parts(said, content if isinstance(content, list) else [content], value)


def _unwrapped(value: Mapping[str, Any]) -> Mapping[str, Any]:
    if value.get("lc") is not None and isinstance(value.get("kwargs"), dict):
        name = value["id"][-1] if isinstance(value.get("id"), list) and value["id"] else None
        return {"type": name, **value["kwargs"]} if _is_role(name) else value["kwargs"]
    inner = value.get("message")
    if isinstance(inner, dict) and not isinstance(value.get("role"), str):
        return _unwrapped(inner)
    return value


def _brings_results(content: Any) -> bool:
    return isinstance(content, list) and any(
        isinstance(part, dict) and part.get("type") in _RESULTS for part in content
    )


def _with_parts(said: Said, parts: Sequence[Any], value: Mapping[str, Any]) -> Said:
    """Add what stands in a message's parts and in its tool_calls."""
    texts: list[str] = []
    calls: list[ToolCall] = []
    results: list[Result] = []
    plain = True
    for part in parts:
        if isinstance(part, dict) and isinstance(part.get("message_content"), dict):
            part = part["message_content"]
        if part is None:
            continue
        if isinstance(part, str):
            texts.append(part)
            continue
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in _CALLS:
            calls.append(_part_call(part))
            plain = plain and kind in ("tool_call", "tool-call")
        elif kind in _RESULTS:
            results.append(_part_result(part))
            plain = plain and kind in ("tool_call_response", "tool-result")
        else:
            plain = _text(part, kind, texts) and plain
    calls += [tool_call(call) for call in _listed_calls(value)]
    legacy = value.get("function_call")
    if isinstance(legacy, dict):
        calls.append(ToolCall(None, str(legacy.get("name") or ""), legacy.get("arguments")))
    said.text = "\n".join(texts) if texts else None
    said.calls, said.results = calls, results
    said.source = _extra(value) if plain else value
    return said


def _listed_calls(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the calls beside a message's content; LangChain keeps unparsed ones apart."""
    beside = value.get("additional_kwargs")
    beside = beside.get("tool_calls") if isinstance(beside, dict) else None
    parsed, invalid = value.get("tool_calls"), value.get("invalid_tool_calls")
    held = parsed or (None if invalid else beside)
    listed = [calls for calls in (held, invalid) if isinstance(calls, list)]
    return [call for calls in listed for call in calls if isinstance(call, dict)]


def _text(part: Any, kind: Any, texts: list[str]) -> bool:
    """Add what a part says; tell whether that is all that it holds."""
    said = _plain(part) if isinstance(part, dict) and kind in (*_TEXTS, None) else None
    if said is not None:
        texts.append(said)
        return len(part) <= 2
    if kind not in ("reasoning", "thinking", "redacted_thinking"):
        texts.append(text_of([_as_content(part)]) or "")
    return False


def _as_content(part: Any) -> Any:
    """Return a blob, file or uri part in the spelling that the placeholder knows."""
    if not isinstance(part, dict):
        return part
    if part.get("type") == "blob" and isinstance(part.get("content"), str):
        return {"type": "blob", "mime_type": part.get("mime_type"), "data": part["content"]}
    if part.get("type") == "uri" and isinstance(part.get("uri"), str):
        kind = part.get("mime_type") or part.get("modality")
        return {"type": "uri", "mime_type": kind, "url": part["uri"]}
    return part


def _plain(part: Mapping[str, Any]) -> str | None:
    for key in ("text", "content"):
        if isinstance(part.get(key), str):
            return str(part[key])
    return None


def tool_call(value: Mapping[str, Any]) -> ToolCall:
    """Return a call as an item of `tool_calls` spells it (OpenAI, LangChain, OpenInference)."""
    value = value["tool_call"] if isinstance(value.get("tool_call"), dict) else value
    for key, given, free in (("function", "arguments", False), ("custom", "input", True)):
        holder = value.get(key)
        if isinstance(holder, dict):
            name = str(holder.get("name") or "")
            return ToolCall(normalised_id(value.get("id")), name, holder.get(given), free)
    return _part_call(value)


def _part_call(part: Mapping[str, Any]) -> ToolCall:
    key = _first(part, "call_id", "toolCallId", "tool_call_id", "id")
    name = _first(part, "name", "toolName", "tool_name")
    inner = part.get("server_tool_call")
    given = next((part[k] for k in ("arguments", "args", "input") if k in part), inner)
    free = part.get("type") == "custom_tool_call"
    return ToolCall(normalised_id(key), str(name or ""), given, free)


def _part_result(part: Mapping[str, Any]) -> Result:
    key = _first(part, "call_id", "toolCallId", "tool_use_id", "tool_call_id", "id")
    names = ("response", "result", "output", "content", "error", "server_tool_call_response")
    value = next((part[name] for name in names if name in part), None)
    value, failed = _vercel_output(value)
    result = result_of(value, normalised_id(key))
    result.error, result.status = declared_error(part, result.text)
    if (failed or part.get("type") == "tool-error") and result.error is None:
        result.error, result.status = result.text or "error", "error"
    tool = _first(part, "name", "toolName")
    result.tool = tool if isinstance(tool, str) else None
    return result


def _vercel_output(value: Any) -> tuple[Any, bool]:
    """Return what a tagged output of the Vercel AI SDK holds, and whether it is an error."""
    tagged = isinstance(value, dict) and value.keys() == {"type", "value"}
    if not tagged or value["type"] not in ("text", "json", "error-text", "error-json", "content"):
        return value, False
    return value["value"], value["type"].startswith("error")


def _tool_message(value: Mapping[str, Any], content: Any) -> Result:
    key = _first(value, "tool_call_id", "toolCallId", "id")
    result = result_of(content, normalised_id(key))
    result.error, result.status = declared_error(value, result.text)
    if result.status == "success":
        result.status = None
    tool = value.get("name")
    result.tool = tool if isinstance(tool, str) else None
    return result


def result_of(value: Any, key: str | None) -> Result:
    """Return a result: text and lists of text parts as text, other values as they are."""
    if isinstance(value, list) and all(map(_is_text_part, value)) and value:
        return Result(text=text_of(value), key=key)
    if value is None or isinstance(value, str):
        return Result(text=value or "", key=key)
    if isinstance(value, dict | list):
        return Result(value=value, key=key)
    return Result(text=json.dumps(value), key=key)


def _is_text_part(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in _TEXTS and _plain(part) is not None


def _first(holder: Mapping[str, Any], *keys: str) -> Any:
    return next((holder[key] for key in keys if holder.get(key) not in (None, "")), None)


def _extra(value: Mapping[str, Any]) -> Any:
    extra = {k: v for k, v in value.items() if k not in _PLAIN and v not in (None, [], {}, "")}
    return extra or None

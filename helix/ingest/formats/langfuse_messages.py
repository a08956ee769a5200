"""Messages inside of Langfuse observations, in the shapes of the frameworks that wrote them.

Beside what spans of any source hold: contents and candidates of Gemini, calls of the Vercel AI
SDK, calls that a message holds as the JSON text of a list, `toolCalls` beside the output.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from helix.ingest.history import Said, ToolCall
from helix.ingest.identity import normalised_id
from helix.ingest.messages import messages_of, replies_of, tool_call
from helix.ingest.pairing import NOT_RECORDED
from helix.model.jsontext import decode_container

_LISTS: Final = ("messages", "contents", "new_message", "prompt")
_PRINTED: Final = ("role='", 'role="')


def heard_in(value: Any) -> list[Said]:
    """Return the messages that an input holds; none where it holds something else."""
    if isinstance(value, dict):
        held = [key for key in _LISTS if isinstance(value.get(key), list | dict)]
        if held:
            system = value.get("system")
            opening = [Said("system", system)] if isinstance(system, str) and system else []
            config = value.get("config")
            told = config.get("system_instruction") if isinstance(config, dict) else None
            opening += [Said("system", told)] if isinstance(told, str) and told else []
            found = _read(value[held[0]])
            return [*opening, *found] if found else []
        prompt = value.get("prompt")
        if isinstance(prompt, str) and value.keys() <= {"prompt", "system", "messages"}:
            return [Said("user", prompt)]
    return _read(value) if isinstance(value, dict | list) else []


def said_in(value: Any, *, spoken: bool) -> list[Said]:
    """Return what was answered; a bare text counts where `spoken`, by a model, is set."""
    if isinstance(value, str):
        return [Said("assistant", value)] if spoken and value.strip() not in ("", "None") else []
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        return _read(value["messages"], "assistant")
    if not isinstance(value, dict | list):
        return []
    if isinstance(value, list) and value and all(map(_is_vercel_call, value)):
        return [Said("assistant", None, [tool_call(call) for call in value])]
    candidates = value.get("candidates") if isinstance(value, dict) else None
    if isinstance(candidates, list):
        held = [c.get("content") for c in candidates if isinstance(c, dict)]
        return [said for content in held for said in _read(content, "assistant")]
    content = value.get("content") if isinstance(value, dict) else None
    if isinstance(content, dict) and isinstance(content.get("parts"), list):
        return _read(content, "assistant")
    if not spoken:
        return _read(value, "assistant")
    return [_with_spelled_calls(said) for said in replies_of(_normal(value)) or []]


def calls_beside(observation: Mapping[str, Any], said: list[Said]) -> list[Said]:
    """Return what was said with the calls that stand beside it alone (`toolCalls`, names apart)."""
    held, names = observation.get("toolCalls"), observation.get("toolCallNames")
    if not isinstance(held, list) or any(message.calls for message in said):
        return said
    names = names if isinstance(names, list) else []
    calls = []
    for at, item in enumerate(held):
        call = decode_container(item) if isinstance(item, str) else item
        if isinstance(call, dict):
            name = names[at] if at < len(names) else call.get("name")
            key = normalised_id(call.get("id"))
            calls.append(ToolCall(key, str(name or "tool"), call.get("arguments")))
    return [*said, Said("assistant", None, calls)] if calls else said


def _read(value: Any, role: str = "user") -> list[Said]:
    if _is_printed(value) or isinstance(value, str):
        return []
    if isinstance(value, list) and any(isinstance(item, str) for item in value):
        return []
    found = messages_of(_normal(value), role)
    return _placed([_with_spelled_calls(said) for said in found or []])


def _placed(said: list[Said]) -> list[Said]:
    """Return messages in which a result without an id has that of the call before it.

    Only where one call stands directly before it; a turn of several calls stays as it is.
    """
    before: Said | None = None
    for message in said:
        if before is not None and len(before.calls) == 1 and len(message.results) == 1:
            result = message.results[0]
            if result.key is None and before.calls[0].key is not None:
                result.key, result.by_position = before.calls[0].key, True
        before = message
    return said


def _is_printed(value: Any) -> bool:
    """Whether the messages are printed objects of Python, which no reading makes messages again."""
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, str) and first.startswith(_PRINTED)


def _is_vercel_call(value: Any) -> bool:
    return isinstance(value, dict) and "toolCallId" in value and "toolName" in value


def _normal(value: Any) -> Any:
    """Return messages in the shapes that all spans share."""
    if isinstance(value, list):
        called: set[str] = set()
        normal = []
        for item in value:
            if not _is_definition(item):
                normal.append(_message(item, called))
        return normal
    return _message(value, set())


def _is_definition(item: Any) -> bool:
    """Whether a message of role tool only offers a tool, as the callbacks of LangChain write it."""
    content = item.get("content") if isinstance(item, dict) and item.get("role") == "tool" else None
    return isinstance(content, dict) and content.get("type") == "function" and "function" in content


def _message(value: Any, called: set[str]) -> Any:
    """Return a message with parts of Gemini as OTel's, with role tool where a tool's name is it.

    `called` are the tools that the messages before it called.
    """
    if not isinstance(value, dict):
        return value
    calls = value.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            called.add(str(function.get("name")))
    if isinstance(value.get("role"), str) and value["role"] in called:
        return {**value, "role": "tool", "name": value["role"]}
    if not isinstance(value.get("parts"), list):
        return value
    parts = [_part(part) for part in value["parts"]]
    return {**value, "role": value.get("role") or "user", "parts": parts}


def _part(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    if isinstance(part.get("id"), list) and part["id"]:
        # Frameworks that nest runs give the path to the call; the call is its end.
        return {**part, "id": part["id"][-1]}
    for key, kind, given in (
        ("function_call", "tool_call", "arguments"),
        ("functionCall", "tool_call", "arguments"),
        ("function_response", "tool_call_response", "response"),
        ("functionResponse", "tool_call_response", "response"),
    ):
        held = part.get(key)
        if isinstance(held, dict):
            value = held.get("args") if kind == "tool_call" else held.get("response")
            return {"type": kind, "id": held.get("id"), "name": held.get("name"), given: value}
    return part


def _with_spelled_calls(said: Said) -> Said:
    """Return a message whose text is the JSON of calls as one that makes them."""
    only = said.results[0] if len(said.results) == 1 and not said.text else None
    value = only.text if only is not None and only.text is not None else said.text
    if only is not None and only.value is not NOT_RECORDED:
        value = only.value
    listed = decode_container(value) if isinstance(value, str) and value[:2] == "[{" else value
    if said.calls or not isinstance(listed, list) or not listed:
        return said
    if not all(map(_is_spelled_call, listed)):
        return said
    return Said("assistant", None, [tool_call(call) for call in listed], (), said.source)


def _is_spelled_call(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("type") != "function":
        return False
    function = value.get("function")
    return isinstance(function, dict) and isinstance(function.get("name"), str)

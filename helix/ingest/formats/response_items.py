"""OpenAI Responses items, as the API's answers and Codex' rollouts hold them.

A call and its output are two items that share a `call_id`; an MCP call is one item with both.
Calls stand beside messages, not in them: those that no result parts are of one turn, and where
the agent said nothing before them that turn is a message without text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from helix.errors import FormatError
from helix.ingest.content import is_plain, text_of
from helix.ingest.conversation import Conversation
from helix.ingest.detection import describe
from helix.ingest.identity import normalised_id
from helix.ingest.pairing import NOT_RECORDED, Result, arguments, declared_error

TYPES: Final = frozenset(
    {
        "message", "reasoning", "item_reference", "compaction", "mcp_list_tools",
        "mcp_approval_request", "mcp_approval_response", "tool_search_output",
    }
)  # fmt: skip
POINTING: Final = ("item_reference", "mcp_approval_response")
NAMED: Final = ("function_call", "custom_tool_call", "mcp_call")
ASKED: Final = ("arguments", "input", "action", "operation")
TOLD: Final = ("output", "tools", "results", "outputs", "result")
_FINISHED = ("completed", "failed", "incomplete")
_GIVEN = ("user", "system", "developer")
_EMPTY: Final[tuple[Any, ...]] = (None, [], {})


def is_item(value: Any) -> bool:
    """Whether a value is an item of the Responses API, other than a plain chat message."""
    if not isinstance(value, Mapping) or not isinstance(value.get("type"), str):
        return False
    kind = value["type"]
    if kind == "message":
        return isinstance(value.get("role"), str) and "content" in value
    return kind in TYPES or _is_call(kind) or _is_output(kind)


def _is_call(kind: str) -> bool:
    return kind == "function_call" or kind.endswith("_call")


def _is_output(kind: str) -> bool:
    return kind.endswith("_call_output") or kind == "tool_search_output"


class Items:
    """Reads items into a conversation."""

    def __init__(self, talk: Conversation) -> None:
        self._talk = talk
        self._open = False
        self._read: list[tuple[str, Mapping[str, Any], set[str]]] = []

    def read(self, item: Any, name: str, *, time: int | None = None, control: bool = False) -> None:
        """Read one item; `name` is its own where the source gives it no id.

        `control` says that a message of the user is the harness's own.
        """
        if not isinstance(item, Mapping):
            raise FormatError(f"{name}: an item must be an object (got {describe(item)})")
        kind = str(item.get("type") or ("message" if "role" in item else ""))
        if kind == "message":
            read = self._message(item, name, control)
        elif kind == "reasoning":
            read = set()
        elif _is_output(kind):
            read = self._output(item, name, kind, time)
        elif _is_call(kind):
            read = self._call(item, name, kind, time)
        elif kind:
            read = self._event(item, name, kind, time)
        else:
            raise FormatError(f"{name}: an item must have a type (got {describe(item)})")
        self._read.append((name, item, read))

    @property
    def kept(self) -> dict[str, dict[str, Any]]:
        """Per item, what the conversation lacks of it."""
        kept: dict[str, dict[str, Any]] = {}
        for name, item, read in self._read:
            rest = {key: v for key, v in item.items() if key not in read and v not in _EMPTY}
            if rest:
                kept[name] = rest
        return kept

    def _message(self, item: Mapping[str, Any], name: str, control: bool) -> set[str]:
        role, content = item.get("role"), item.get("content")
        if not isinstance(role, str):
            raise FormatError(f"{name}: a message must have a role")
        taken = normalised_id(item.get("id")) or name
        self._talk.say(taken, role, text_of(content), control=control)
        self._open = role not in _GIVEN
        whole = is_plain(content) and _is_bare(content)
        return {"type", "role", "id", *(("content",) if whole else ())}

    def _turn(self, name: str) -> None:
        if not self._open:
            self._talk.say(name, "assistant", None)
            self._open = True

    def _call(self, item: Mapping[str, Any], name: str, kind: str, time: int | None) -> set[str]:
        called = _name(item, name, kind)
        self._turn(name)
        asked = next((key for key in ASKED if key in item), None)
        told = next((key for key in TOLD if item.get(key) is not None), None)
        given = item.get(asked) if asked else None
        alone = "call_id" not in item
        key = normalised_id(item.get("id" if alone else "call_id"))
        result = _own_result(item, told) if alone else None
        self._talk.call(
            key,
            called,
            given,
            free_text=kind == "custom_tool_call" and isinstance(given, str),
            start=time,
            result=result,
        )
        if alone:
            self._open = self._open and result is None
            plain = ("error",) if isinstance(item.get("error"), str) else ()
            return {"id", "name", asked or "", *((told or "", *plain) if result else ())}
        read = {"call_id", asked or ""}
        return read | ({"type", "name"} if kind in ("function_call", "custom_tool_call") else set())

    def _output(self, item: Mapping[str, Any], name: str, kind: str, time: int | None) -> set[str]:
        self._open = False
        told = next((key for key in TOLD if key in item), None)
        content = item.get(told) if told else None
        parts = isinstance(content, list) and all(_is_part(part) for part in content)
        is_text = content is None or isinstance(content, str) or parts
        text = (text_of(content) or "") if is_text else None
        error, status = declared_error(item, text)
        self._talk.result(
            Result(
                text=text,
                value=NOT_RECORDED if is_text else content,
                error=error,
                status=status,
                message_id=name,
                key=normalised_id(item.get("call_id")),
                time=time,
            )
        )
        whole = not is_text or (is_plain(content) and _is_bare(content))
        read = {"call_id", *((told or "",) if whole else ()), *(("status",) if not error else ())}
        return read | (
            {"type"} if kind in ("function_call_output", "custom_tool_call_output") else set()
        )

    def _event(self, item: Mapping[str, Any], name: str, kind: str, time: int | None) -> set[str]:
        asked = next((key for key in ASKED if key in item), None)
        told = next((key for key in TOLD if item.get(key) is not None), None)
        error, status = declared_error(item, None)
        spelled = item.get(asked) if asked else None
        given = arguments(spelled)[0] if asked else None
        key = normalised_id(item.get("id")) or name
        if kind in POINTING:
            given, key = {k: v for k, v in item.items() if k != "type"}, name
        value = item[told] if told else NOT_RECORDED
        result = Result(value=value, error=error, status=status)
        self._talk.event(key, kind, result, arguments=given, start=time)
        if kind in POINTING:
            return set(item)
        read = {"type", "id", told or "", *(("status",) if not error else ())}
        return read if isinstance(spelled, str) else read | {asked or ""}


def _name(item: Mapping[str, Any], where: str, kind: str) -> str:
    """Return the name of the tool: what the item says, or the kind of call where that is one."""
    name = item.get("name")
    if isinstance(name, str) and name:
        return name
    if kind in NAMED:
        raise FormatError(f"{where}: a {kind} must have a name")
    return kind.removesuffix("_call")


def _own_result(item: Mapping[str, Any], told: str | None) -> Result | None:
    """Return the result that a call's own item holds; None where it says of none."""
    content = item[told] if told else None
    text = content if isinstance(content, str) else None
    error, status = declared_error(item, text)
    if content is None and error is None and status not in _FINISHED:
        return None
    value = NOT_RECORDED if text is not None or content is None else content
    return Result(text=text, value=value, error=error, status=status)


def _is_part(value: Any) -> bool:
    return isinstance(value, Mapping) and str(value.get("type")).startswith(("input_", "output_"))


def _is_bare(content: Any) -> bool:
    parts = content if isinstance(content, list) else ()
    return all(
        isinstance(part, str)
        or not {k for k, v in part.items() if v not in _EMPTY} - {"type", "text"}
        for part in parts
    )

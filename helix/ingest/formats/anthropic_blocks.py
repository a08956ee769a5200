"""Anthropic content blocks, as the Messages API and Claude Code's sessions hold them.

A message's text blocks are one message, its tool_use blocks calls made in it; a result goes to
its call by `tool_use_id` and is no message. A server tool answers inside the message: what comes
after its result is a message of its own, so that one `seq` tells what was known when.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from helix.errors import FormatError
from helix.ingest.content import is_plain, text_of
from helix.ingest.conversation import Conversation, Turn, is_control
from helix.ingest.detection import describe
from helix.ingest.identity import normalised_id
from helix.ingest.pairing import NOT_RECORDED, Call, Result, declared_error

CALLS: Final = ("tool_use", "server_tool_use", "mcp_tool_use")
REJECTED: Final = "rejected"
_REJECTIONS = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
)
_CALL = frozenset({"id", "name", "input"})
_RESULT = frozenset({"tool_use_id", "content", "is_error"})
_TYPE = frozenset({"type"})
_EMPTY: Final[tuple[Any, ...]] = (None, [], {})


def is_result(kind: Any) -> bool:
    """Whether a block type is a tool's result, the client's or the server's."""
    return isinstance(kind, str) and kind.endswith("tool_result")


def is_own(block: Any) -> bool:
    """Whether a content block is one that only Anthropic's messages have."""
    if not isinstance(block, Mapping):
        return False
    kind = block.get("type")
    return kind in CALLS or kind in ("thinking", "redacted_thinking") or is_result(kind)


def usage_of(usage: Any) -> dict[str, Any]:
    """Return tokens read and written; cached ones are read too. Nothing where none is told."""
    if not isinstance(usage, Mapping):
        return {}
    told: dict[str, Any] = {}
    read = [usage.get(f"{kind}input_tokens") for kind in ("", "cache_creation_", "cache_read_")]
    if _is_count(read[0]):
        told["promptTokens"] = sum(count for count in read if _is_count(count))
    if _is_count(usage.get("output_tokens")):
        told["completionTokens"] = usage["output_tokens"]
    return told


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


class Blocks:
    """Reads content into a conversation.

    With `within`, what is said and done is that of an agent that the observation stands for.
    """

    def __init__(self, talk: Conversation) -> None:
        self._talk = talk
        self._open: dict[str, Turn] = {}
        self._calls: dict[str, Call] = {}
        self._read: list[tuple[str, list[tuple[int, Mapping[str, Any]]]]] = []

    def answer(
        self,
        name: str,
        content: Any,
        *,
        key: str | None = None,
        time: int | None = None,
        within: Call | None = None,
    ) -> None:
        """Read what the agent said; content under one `key` is one message."""
        key = key or name
        for at, block in self._blocks(name, content):
            kind = block.get("type")
            if is_result(kind):
                self._result(block, name, at, time, alone=False)
                if kind != "tool_result":
                    self._open.pop(key, None)
            elif within is None:
                turn = self._turn(key, name, at)
                if kind == "text":
                    turn.text = _joined(turn.text, text_of([block]))
                elif kind in CALLS:
                    self._call(block, name, turn, time, self._caller(block))
            elif kind == "text":
                said = Result(text=text_of([block]), time=time)
                self._talk.event(
                    _at(name, at), "assistant", said, type="GENERATION", start=time, within=within
                )
            elif kind in CALLS:
                self._call(block, name, None, time, self._caller(block) or within)

    def given(
        self,
        name: str,
        role: str,
        content: Any,
        *,
        time: int | None = None,
        control: bool = False,
        within: Call | None = None,
    ) -> None:
        """Read what the agent was given: results, then text; harness and user stand apart."""
        blocks = self._blocks(name, content)
        results = [(at, block) for at, block in blocks if is_result(block.get("type"))]
        for at, block in results:
            self._result(block, name, at, time, alone=len(results) == 1)
        groups: list[tuple[int, bool, list[Any]]] = []
        for at, block in blocks:
            if is_result(block.get("type")):
                continue
            marked = control or is_control(role, text_of([block]) or "")
            if not groups or groups[-1][1] != marked:
                groups.append((at, marked, []))
            groups[-1][2].append(block)
        for number, (at, marked, group) in enumerate(groups):
            wanted = _at(name, at) if number or results else name
            text = text_of(group)
            if within is None:
                self._talk.say(wanted, role, text, control=marked)
            else:
                said = Result(text=text, time=time)
                self._talk.event(wanted, role, said, start=time, within=within)

    def call_of(self, key: str) -> Call | None:
        """Return the last call with an id."""
        return self._calls.get(key)

    def _blocks(self, name: str, content: Any) -> list[tuple[int, Mapping[str, Any]]]:
        if isinstance(content, str):
            return [(0, {"type": "text", "text": content})]
        if not isinstance(content, list):
            raise FormatError(f"{name}: content must be text or a list (got {describe(content)})")
        found: list[tuple[int, Mapping[str, Any]]] = []
        for at, block in enumerate(content):
            if isinstance(block, str):
                block = {"type": "text", "text": block}
            if not isinstance(block, dict):
                raise FormatError(
                    f"{name}: content[{at}] must be an object (got {describe(block)})"
                )
            found.append((at, block))
        self._read.append((name, found))
        return found

    @property
    def kept(self) -> dict[str, dict[str, Any]]:
        """Per message and block, what the conversation lacks of it."""
        kept: dict[str, dict[str, Any]] = {}
        for name, blocks in self._read:
            for at, block in blocks:
                read = _read_keys(block)
                rest = {k: v for k, v in block.items() if k not in read and v not in _EMPTY}
                if rest:
                    kept.setdefault(name, {})[str(at)] = rest
        return kept

    @property
    def flags(self) -> set[str]:
        """What the blocks themselves say of the trace."""
        hidden = any(_is_redacted(block) for _, blocks in self._read for _, block in blocks)
        return {"redacted"} if hidden else set()

    def _turn(self, key: str, name: str, at: int) -> Turn:
        if key not in self._open:
            self._open[key] = self._talk.say(_at(name, at) if at else name, "assistant", None)
        return self._open[key]

    def _caller(self, block: Mapping[str, Any]) -> Call | None:
        caller = block.get("caller")
        key = caller.get("tool_id") if isinstance(caller, Mapping) else None
        return self._calls.get(key) if isinstance(key, str) else None

    def _call(
        self,
        block: Mapping[str, Any],
        where: str,
        turn: Turn | None,
        time: int | None,
        within: Call | None,
    ) -> None:
        name = block.get("name")
        if not isinstance(name, str) or not name:
            raise FormatError(f"{where}: a tool call must have a name")
        key = normalised_id(block.get("id"))
        call = self._talk.call(key, name, block.get("input"), turn=turn, start=time, within=within)
        if key is not None:
            self._calls[key] = call

    def _result(
        self, block: Mapping[str, Any], name: str, at: int, time: int | None, *, alone: bool
    ) -> None:
        content = block.get("content")
        if block.get("type") in ("tool_result", "mcp_tool_result"):
            text = text_of(content) or ""
            error, status = declared_error(block, text)
            if error is not None and text.startswith(_REJECTIONS):
                status = REJECTED
            value = NOT_RECORDED
        else:
            text, value = None, content
            error, status = _server_error(content)
        self._talk.result(
            Result(
                text=text,
                value=value,
                error=error,
                status=status,
                message_id=name if alone else _at(name, at),
                key=normalised_id(block.get("tool_use_id")),
                time=time,
            )
        )


def _is_redacted(block: Mapping[str, Any]) -> bool:
    kind = block.get("type")
    if kind in ("text", "tool_use", "tool_result"):
        return False
    content = block.get("content")
    marks = (kind, content.get("type") if isinstance(content, Mapping) else None)
    return any(isinstance(mark, str) and "redacted" in mark for mark in marks)


def _read_keys(block: Mapping[str, Any]) -> frozenset[str]:
    """Return the keys that the conversation holds; the type goes without saying where usual."""
    kind = block.get("type")
    if kind == "text":
        return _TYPE | {"text"}
    if kind in CALLS:
        return _CALL | _TYPE if kind == "tool_use" else _CALL
    if kind == "tool_result":
        content = block.get("content")
        whole = is_whole(content)
        return _RESULT | _TYPE if whole else (_RESULT | _TYPE) - {"content"}
    return _RESULT if is_result(kind) else frozenset()


def _server_error(content: Any) -> tuple[str | None, str | None]:
    if not isinstance(content, Mapping) or not str(content.get("type")).endswith("_error"):
        return None, None
    told = content.get("error_message") or content.get("error_code") or content["type"]
    return str(told), "error"


def is_whole(content: Any) -> bool:
    """Whether the text of content says all that the content does."""
    parts = content if isinstance(content, list) else ()
    return is_plain(content) and all(
        isinstance(part, str) or set(part) <= {"type", "text"} for part in parts
    )


def _joined(before: str | None, more: str | None) -> str | None:
    return more if before is None else f"{before}\n{more or ''}"


def _at(name: str, at: int) -> str:
    return f"{name}[{at}]"

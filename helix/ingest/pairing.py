"""Calls and their results: which belongs to which, by rules that never guess.

By id, and inside one id by order. Two unanswered calls with one id when a result arrives leave
the result with neither, and both are flagged. Without ids, a call and the result that follows it
pair by position and say so; a parallel turn without ids is ambiguous.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from helix.model.jsontext import decode
from helix.model.trace import TOOL

MAX_ENCODINGS: Final = 3
NOT_RECORDED: Final[Any] = object()


@dataclass(slots=True)
class Result:
    """What came back: text, or a value where the source holds one; `error` only if declared.

    `time` is when, in nanoseconds.
    """

    text: str | None = None
    value: Any = NOT_RECORDED
    error: str | None = None
    status: str | None = None
    message_id: str | None = None
    tool: str | None = None
    key: str | None = None
    by_position: bool = False
    time: int | None = None


@dataclass(slots=True)
class Call:
    """A call that waits for its result; `key` is the id that the source gave it, if any.

    `start` and `end` are nanoseconds; `within` is what it was made in, where that is no message.
    """

    key: str | None
    name: str
    seq: int
    parent_id: str | None
    arguments: Any = None
    free_text: bool = False
    flags: list[str] = field(default_factory=list)
    result: Result | None = None
    type: str = TOOL
    start: int | None = None
    end: int | None = None
    within: Call | None = None

    def flag(self, *flags: str) -> None:
        """Add flags, each once."""
        self.flags += [flag for flag in flags if flag not in self.flags]


class Pairing:
    """The calls of one trace that are not answered yet, by id."""

    def __init__(self) -> None:
        self._open: dict[str | None, list[Call]] = {}
        self._astray: dict[str | None, int] = {}

    def call(self, call: Call) -> None:
        """Take in a call."""
        self._open.setdefault(call.key, []).append(call)

    def is_open(self, key: str | None) -> bool:
        """Whether a call of that id waits for its result, or for None any call."""
        return any(self._open.values()) if key is None else bool(self._open.get(key))

    def result(self, result: Result, among: Sequence[Call] | None = None) -> tuple[str, ...]:
        """Give a result to its call; return no flags, or those of a result that has none.

        `among` are the calls that one without an id can belong to, where the format says so.
        """
        key = result.key
        waiting = self._open.get(key, [])
        if key is None and among is not None:
            waiting = [c for c in among if any(c is o for o in self._open.get(c.key, ()))]
            key = waiting[0].key if len(waiting) == 1 else None
        elif key is None and not waiting:
            waiting = [call for calls in self._open.values() for call in calls]
            key = waiting[0].key if len(waiting) == 1 else None
        if not waiting:
            return ("orphan-result",)
        if len(waiting) > 1:
            return self._ambiguous(key, waiting)
        call = waiting[0]
        call.result = result
        if result.time is not None:
            call.end = result.time
        if result.key is None or result.by_position:
            call.flag("paired-by-position")
        left = [other for other in self._open.pop(key) if other is not call]
        if left:
            self._open[key] = left
        self._astray.pop(key, None)
        return ()

    def close(self) -> None:
        """Flag every call that no result answered; an ambiguous one is flagged as that already."""
        for calls in self._open.values():
            for call in calls:
                if "ambiguous-pairing" not in call.flags:
                    call.flag("missing-result")

    def _ambiguous(self, key: str | None, waiting: list[Call]) -> tuple[str, ...]:
        for call in waiting:
            call.flag(*(("duplicate-call-id",) if key is not None else ()), "ambiguous-pairing")
        self._astray[key] = self._astray.get(key, 0) + 1
        # As many results as calls: whatever follows under this id is a new exchange.
        if self._astray[key] >= len(waiting):
            self._forget(key)
        return ("ambiguous-pairing",)

    def _forget(self, key: str | None) -> None:
        self._open.pop(key, None)
        self._astray.pop(key, None)


def arguments(source: Any) -> tuple[Any, str | None, bool]:
    """Return a call's arguments, the text they were in, and whether they are what calls take.

    Text is JSON, encoded up to three times; strings inside it stay text. Nothing, null and blank
    text are {}. What is no object and no list stays as it came, and is not valid.
    """
    if not isinstance(source, str):
        return ({}, None, True) if source is None else (source, None, _is_container(source))
    value: Any = source
    for _ in range(MAX_ENCODINGS):
        if not value.strip():
            return {}, source, True
        try:
            # A number that JSON does not have is a text of its own type.
            value, _strict = decode(str(value))
        except ValueError:
            break
        if value is None:
            return {}, source, True
        if _is_container(value):
            return value, source, True
        if not isinstance(value, str):
            break
    return source, source, False


def declared_error(message: Mapping[str, Any], text: str | None) -> tuple[str | None, str | None]:
    """Return (error, status) as a result declares them: an error flag, an error field, a status.

    What a result merely says (`Error: …`, `success: false`, an exit code) stays in its output.
    """
    error = message.get("error")
    status = message.get("status")
    status = status if isinstance(status, str) and status else None
    flagged = message.get("is_error") is True or message.get("isError") is True
    failed = status is not None and status.lower() in ("error", "failed", "failure")
    if not (flagged or failed or error):
        return None, status
    if isinstance(error, Mapping):
        error = error.get("message") or error.get("type")
    told = error if isinstance(error, str) and error else text
    return told or "error", "error"


def _is_container(value: Any) -> bool:
    return isinstance(value, dict | list)

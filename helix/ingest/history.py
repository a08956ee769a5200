"""Conversations that every model call sends again: what is new in each, so that it counts once.

A model call carries the whole history and so do the spans around it. Messages are compared part
by part (text, call, result), in order, with what was said before in the same conversation; what
is found there is repeated, the rest is new. A trace may hold several conversations (agents that
call agents). System texts count once per trace.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from helix.ingest.conversation import SYSTEM_ROLES
from helix.ingest.pairing import NOT_RECORDED, Result, arguments
from helix.model.canonical import canonical_text

NEAR: Final = 8
Key = tuple[Any, ...]


@dataclass(slots=True)
class ToolCall:
    """A call as a message holds it: its id, if any, name, and arguments as they stand there."""

    key: str | None
    name: str
    arguments: Any = None
    free_text: bool = False


@dataclass(slots=True)
class Said:
    """A message as a span holds it: text (None for none), calls made in it, results it brings.

    `source` is what it holds beside these; `keys` are its parts as they are compared, once known.
    """

    role: str
    text: str | None = None
    calls: Sequence[ToolCall] = ()
    results: Sequence[Result] = ()
    source: Any = None
    keys: list[Key] | None = None


@dataclass(slots=True)
class News:
    """What of some messages is new, in which conversation, and where in it they end."""

    new: list[Said]
    thread: Thread
    end: int


@dataclass(slots=True)
class Thread:
    """The parts of one conversation in the order in which they were said."""

    keys: list[Key] = field(default_factory=list)
    places: dict[Key, list[int]] = field(default_factory=dict)

    def find(self, keys: Sequence[Key], start: int = 0) -> list[int | None]:
        """Return where each part stands, in rising order; None for one that is new."""
        found: list[int | None] = []
        for key in keys:
            places = self.places.get(key, ())
            at = bisect_left(places, start)
            found.append(places[at] if at < len(places) else None)
            if at < len(places):
                start = places[at] + 1
        return found

    def add(self, key: Key) -> None:
        """Append a part."""
        self.places.setdefault(key, []).append(len(self.keys))
        self.keys.append(key)

    def merge(self, keys: Sequence[Key], found: Sequence[int | None]) -> int:
        """Take in new parts: before the known part that follows them, else at the end.

        Returns where the parts end.
        """
        last = max((at for at, place in enumerate(found) if place is not None), default=-1)
        if any(place is None for place in found[: last + 1]):
            merged: list[Key] = []
            taken = 0
            for key, place in zip(keys[: last + 1], found, strict=False):
                if place is None:
                    merged.append(key)
                else:
                    merged += self.keys[taken : place + 1]
                    taken = place + 1
            old, self.keys, self.places = self.keys, [], {}
            for key in [*merged, *old[taken:]]:
                self.add(key)
            moved = len(merged) - 1
        else:
            moved = -1 if last < 0 else found[last] or 0
        for key in keys[last + 1 :]:
            self.add(key)
        return len(self.keys) if last + 1 < len(keys) else moved + 1


class History:
    """What was said so far in one trace."""

    def __init__(self) -> None:
        self._first: dict[Key, Thread] = {}
        self._latest: dict[Key, Thread] = {}
        self._system: set[str | None] = set()

    def hear(self, messages: Sequence[Said]) -> News:
        """Take in what a model call was given; its reply belongs where this ends."""
        keys, owners = _parts(messages)
        thread = self._thread(keys)
        found = thread.find(keys)
        if len(keys) == 1 and found[0] and self._is_answered(thread, found[0]):
            # Not the opening, and the agent has spoken since: a turn without its history.
            found = [None]
        end = thread.merge(keys, found)
        return self._news(messages, keys, owners, found, thread, end)

    def reply(self, messages: Sequence[Said], heard: News) -> News:
        """Take in what a model call answered to what it heard."""
        keys, owners = _parts(messages)
        thread = heard.thread
        found = thread.find(keys, heard.end)
        end = thread.merge(keys, found)
        return self._news(messages, keys, owners, found, thread, end)

    def _thread(self, keys: Sequence[Key]) -> Thread:
        if not keys:
            return Thread()
        near = (self._latest.get(key) for key in keys[:NEAR])
        known = self._first.get(keys[0]) or next((thread for thread in near if thread), None)
        return known if known is not None else Thread()

    @staticmethod
    def _is_answered(thread: Thread, at: int) -> bool:
        return any(key[:2] == (0, "assistant") for key in thread.keys[at + 1 :])

    def _news(
        self,
        messages: Sequence[Said],
        keys: Sequence[Key],
        owners: Sequence[int],
        found: Sequence[int | None],
        thread: Thread,
        end: int,
    ) -> News:
        if thread.keys:
            self._first.setdefault(thread.keys[0], thread)
        fresh: dict[int, set[int]] = {}
        start, last = 0, -1
        for at, (key, owner) in enumerate(zip(keys, owners, strict=True)):
            start, last = (at, owner) if owner != last else (start, last)
            self._latest[key] = thread
            if found[at] is None:
                fresh.setdefault(owner, set()).add(at - start)
        new: list[Said] = []
        for at, message in enumerate(messages):
            if message.role in SYSTEM_ROLES:
                if message.text and message.text not in self._system:
                    self._system.add(message.text)
                    new.append(message)
            elif at in fresh:
                new.append(_only(message, fresh[at]))
        return News(new, thread, end)


def keys_of(messages: Sequence[Said]) -> set[Key]:
    """Return the keys of all parts of some messages."""
    return {key for message in messages for key in _keys(message)}


def without(messages: Sequence[Said], known: set[Key]) -> list[Said]:
    """Return the messages without the parts that are known; emptied ones are left out."""
    left: list[Said] = []
    for message in messages:
        keys = _keys(message)
        fresh = {at for at, key in enumerate(keys) if key not in known}
        if fresh:
            left.append(_only(message, fresh))
    return left


def spelled(value: Any) -> str:
    """Return one spelling of a call's arguments, however they are encoded."""
    try:
        return canonical_text(arguments(value)[0])
    except (ValueError, TypeError, RecursionError):
        return ""


def _parts(messages: Sequence[Said]) -> tuple[list[Key], list[int]]:
    """Return the keys of all parts, and per part the message that holds it; no system texts."""
    keys: list[Key] = []
    owners: list[int] = []
    for at, message in enumerate(messages):
        if message.role not in SYSTEM_ROLES:
            own = message.keys or _keys(message)
            keys += own
            owners += [at] * len(own) if len(own) != 1 else (at,)
    return keys, owners


def _keys(message: Said) -> list[Key]:
    if message.keys is None:
        message.keys = _made(message)
    return message.keys


def _made(message: Said) -> list[Key]:
    keys: list[Key] = [(0, message.role, message.text)] if message.text else []
    keys += [_call_key(call) for call in message.calls]
    keys += [_result_key(result) for result in message.results]
    if not keys and message.source is not None:
        keys.append((4, message.role, spelled([message.source])))
    return keys


def _call_key(call: ToolCall) -> Key:
    return (1, call.key or spelled(call.arguments), call.name)


def _result_key(result: Result) -> Key:
    if result.key is not None:
        return (2, result.key)
    return (3, result.text if result.value is NOT_RECORDED else spelled(result.value))


def _only(message: Said, fresh: set[int]) -> Said:
    """Return a message with only those of its parts: text, then calls, then results."""
    first = 1 if message.text else 0
    middle = first + len(message.calls)
    if len(fresh) == middle + len(message.results):
        return message
    return Said(
        message.role,
        message.text if first and 0 in fresh else None,
        [call for at, call in enumerate(message.calls, first) if at in fresh],
        [result for at, result in enumerate(message.results, middle) if at in fresh],
        message.source,
    )

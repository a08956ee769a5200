"""A kept reply as the text of its row: one JSON object, the same in whatever store it lies.

Only text is written and only text is read: nothing here decodes anything but JSON.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import msgspec

from helix.model.request import Question, Reply, Request


class _Answered(msgspec.Struct):
    asked: Question | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """A reply as it was kept, and what it answers; None where that was not kept with it."""

    reply: Reply
    asked: Question | None


def encoded(reply: Reply, asked: Request | Question | None) -> str:
    """Return the text of a row, in ASCII: a lone surrogate in a reply is kept as its escape."""
    kept = msgspec.to_builtins(msgspec.structs.replace(reply, source="live"))
    if asked is not None:
        question = Question.of(asked) if isinstance(asked, Request) else asked
        kept["asked"] = msgspec.to_builtins(question)
    return json.dumps(kept, ensure_ascii=True, sort_keys=True)


def decoded(text: str) -> Kept:
    """Read what a row holds; raises ValueError or RecursionError where it is no reply."""
    plain = json.loads(text)
    return Kept(msgspec.convert(plain, Reply), msgspec.convert(plain, _Answered).asked)


@dataclass(frozen=True, slots=True)
class Row:
    """One row as it lies in a cache: its key, its bytes, when it was kept (seconds, if known).

    `kept` is None where the row is damaged, and `fault` says how.
    """

    key: str
    bytes: int
    stored: float | None
    kept: Kept | None
    fault: str | None = None


def read_row(key: str, data: bytes, stored: float | None = None) -> Row:
    """Read the text of a row, whatever it holds."""
    try:
        return Row(key, len(data), stored, decoded(data.decode("ascii")))
    except (ValueError, RecursionError) as error:
        return Row(key, len(data), stored, None, str(error))


def from_cache(reply: Reply) -> Reply:
    """Return a kept reply as a cache gives it back: marked as from there."""
    return msgspec.structs.replace(reply, source="cache")

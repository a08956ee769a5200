"""Where two JSON texts part: value by value, a number as it is spelled, keys in their order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, Final, NamedTuple

from helix.fieldpath import MISSING, render_steps
from helix.model.audited import Kind

LONGEST: Final = 160
TOO_DEEP: Final = "(nested too deeply to be shown)"
_LEAD = 40


class Number(str):
    """A number as it is spelled: 0.1 and 0.10 are two texts."""

    __slots__ = ()


Parted = tuple[str, Any, Any]
Steps = tuple[str | int, ...]


class Part(NamedTuple):
    """A place where two values part: how, and what stands there; MISSING for nothing."""

    steps: Steps
    kind: Kind
    a: Any
    b: Any


def parted(a: str, b: str) -> list[Parted]:
    """Return (path, value, value) of every place where two unequal texts part.

    Texts that hold the same values, differently spaced or escaped, part as a whole; so do texts
    that are not JSON.
    """
    try:
        found = list(parts(read(a), read(b)))
    except (ValueError, RecursionError):
        found = []
    return [(render_steps(one.steps), one.a, one.b) for one in found] or [("", Raw(a), Raw(b))]


class Raw(str):
    """A whole text, shown as it is."""

    __slots__ = ()


def told(a: Any, b: Any) -> tuple[str | None, str | None]:
    """Return two values as JSON texts, cut around where they part; None stands for no value."""
    texts = [None if value is MISSING else _plain(spelled(value)) for value in (a, b)]
    known = [text for text in texts if text is not None]
    start = max(0, _same(*known) - _LEAD) if max(map(len, known)) > LONGEST else 0
    one, two = (None if text is None else _cut(text, start) for text in texts)
    return one, two


def _same(text: str, other: str = "") -> int:
    """Return how many characters two texts have in common from their beginning."""
    pairs = enumerate(zip(text, other, strict=False))
    return next((at for at, (one, two) in pairs if one != two), min(len(text), len(other)))


def _plain(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _cut(text: str, start: int) -> str:
    part = text[start : start + LONGEST]
    return ("…" if start else "") + part + ("…" if start + LONGEST < len(text) else "")


def read(text: str) -> Any:
    """Return the value of a JSON text, its numbers as they are spelled."""
    return json.loads(text, parse_float=Number, parse_int=Number, parse_constant=Number)


def parts(a: Any, b: Any, at: Steps = (), *, sets: bool = False) -> Iterator[Part]:
    """Yield every place where two values part; keys in another order are one place.

    With `sets` so is a list that holds the same in another order.
    """
    if isinstance(a, dict) and isinstance(b, dict):
        for key in dict.fromkeys([*a, *b]):
            yield from parts(a.get(key, MISSING), b.get(key, MISSING), (*at, key), sets=sets)
        if a.keys() == b.keys() and list(a) != list(b):
            yield Part(at, "order", list(a), list(b))
    elif isinstance(a, list) and isinstance(b, list):
        if sets and a != b and _sorted(a) == _sorted(b):
            yield Part(at, "order", a, b)
            return
        for number, (one, two) in enumerate(zip_longest(a, b, fillvalue=MISSING)):
            yield from parts(one, two, (*at, number), sets=sets)
    elif type(a) is not type(b) or a != b:
        yield Part(at, "missing" if MISSING in (a, b) else "value", a, b)


def _sorted(values: list[Any]) -> list[str]:
    return sorted(json.dumps(value, sort_keys=True) for value in values)


def spelled(value: Any) -> str:
    """Return a value as JSON text; one that is nested too deeply to be written is only named."""
    try:
        return _spelled(value)
    except RecursionError:
        return TOO_DEEP


def _spelled(value: Any) -> str:
    if isinstance(value, Number | Raw):
        return str(value)
    if isinstance(value, dict):
        items = (f"{json.dumps(k, ensure_ascii=False)}: {_spelled(v)}" for k, v in value.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_spelled, value))}]"
    return json.dumps(value, ensure_ascii=False)

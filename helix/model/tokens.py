"""A value as text, and where a text stands in another: what is cited and what resolves it agree."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from helix.model.canonical import canonical_text


def as_text(value: Any) -> str:
    """Return a string as it is, anything else as its canonical JSON (`false`, `7`)."""
    if isinstance(value, str):
        return value
    if value is True or value is False:
        return "true" if value else "false"
    if type(value) is int or (type(value) is float and math.isfinite(value)):
        return repr(value)
    return canonical_text(value)


def occurrences(needle: str, hay: str) -> Iterator[int]:
    """Yield each offset at which a text stands on token boundaries; an empty one stands nowhere."""
    at = hay.find(needle) if needle else -1
    while at >= 0:
        if not (inside_token(hay, at) or inside_token(hay, at + len(needle))):
            yield at
        at = hay.find(needle, at + 1)


def inside_token(text: str, at: int) -> bool:
    """Whether an offset lies between two characters of one token: letters, digits, underscores."""
    return 0 < at < len(text) and _of_token(text[at - 1]) and _of_token(text[at])


def _of_token(character: str) -> bool:
    return character.isalnum() or character == "_"

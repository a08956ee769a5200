"""Taking the secrets of the environment out of what a program or provider complained of."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

_SHORTEST = 12
_NAMED_SO = ("key", "token", "secret", "password", "passwd", "credential", "credentials")


def secrets(environment: Mapping[str, str], also: str | None = None) -> list[tuple[str, str]]:
    """Return the variables that hold a secret by their name, the longest values first.

    `also` is a variable that is known to hold one, however short and whatever its name.
    """
    # Names first: to read a value costs more, and few of them are secrets.
    named = [name for name in environment if name == also or name.lower().endswith(_NAMED_SO)]
    found = [
        (name, value)
        for name in named
        if len(value := environment[name]) >= (1 if name == also else _SHORTEST)
    ]
    return sorted(found, key=lambda pair: (-len(pair[1]), pair[0]))


def redacted(text: str, key_variable: str | None = None) -> str:
    """Return a text in which the name of its variable stands for each secret.

    One that is written with the escapes of JSON is found too: whoever parses the text reads it.
    """
    return _without(text, secrets(os.environ, key_variable))


def redacted_in(value: Any) -> Any:
    """Return plain JSON in which every text is redacted."""
    found = secrets(os.environ)
    return _all_without(value, found) if found else value


def _all_without(value: Any, found: Sequence[tuple[str, str]]) -> Any:
    if isinstance(value, dict):
        return {key: _all_without(inner, found) for key, inner in value.items()}
    if isinstance(value, list):
        return [_all_without(inner, found) for inner in value]
    return _without(value, found) if isinstance(value, str) else value


def _without(text: str, found: Sequence[tuple[str, str]]) -> str:
    for name, value in found:
        told = f"[{name}]"
        text = text.replace(value, told)
        if "\\" in text:
            text = _in_json(value).sub(lambda _, told=told: told, text)  # type: ignore[misc]
    return text


@lru_cache(maxsize=64)
def _in_json(value: str) -> re.Pattern[str]:
    """Return the pattern of a text however JSON may write it, each character by itself."""
    return re.compile("".join(map(_as_written, value)))


def _as_written(character: str) -> str:
    data = character.encode("utf-16-be", "surrogatepass")
    units = (data[at : at + 2].hex() for at in range(0, len(data), 2))
    escape = "".join(rf"\\u(?i:{unit})" for unit in units)
    short = r"\\?" if character in '"\\/' else ""
    return f"(?:{short}{re.escape(character)}|{escape})"

"""Taking the secrets of the environment out of what a program or provider complained of."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache

_SHORTEST = 12
_NAMED_SO = ("key", "token", "secret", "password", "passwd", "credential", "credentials")


def secrets(environment: Mapping[str, str], also: str | None = None) -> list[tuple[str, str]]:
    """Return the variables that hold a secret by their name, the longest values first.

    `also` is a variable that is known to hold one, however short and whatever its name.
    """
    found = [
        (name, value)
        for name, value in environment.items()
        if (name == also and value)
        or (len(value) >= _SHORTEST and name.lower().endswith(_NAMED_SO))
    ]
    return sorted(found, key=lambda pair: (-len(pair[1]), pair[0]))


def redacted(text: str, key_variable: str | None = None) -> str:
    """Return a text in which the name of its variable stands for each secret.

    One that is written with the escapes of JSON is found too: whoever parses the text reads it.
    """
    for name, value in secrets(os.environ, key_variable):
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

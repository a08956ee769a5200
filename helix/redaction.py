"""Taking the secrets of the environment out of what a program or provider complained of."""

from __future__ import annotations

import os
from collections.abc import Mapping

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
    """Return a text in which the name of its variable stands for each secret."""
    for name, value in secrets(os.environ, key_variable):
        text = text.replace(value, f"[{name}]")
    return text

"""Arguments that an exporter printed as Python instead of JSON."""

from __future__ import annotations

import ast
from typing import Any, Final

MAX_LENGTH: Final = 20_000


def python_object(text: str) -> dict[str, Any] | list[Any] | None:
    """Return the dict or list that a Python literal spells, None for anything else.

    Only literals are read (no names, no calls), and none that is longer than 20,000 characters.
    """
    if len(text) > MAX_LENGTH or text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, dict | list) and _is_json(value) else None


def _is_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(_is_json, value))
    if isinstance(value, float):
        return value == value and value not in (float("inf"), float("-inf"))
    return value is None or isinstance(value, str | int | bool)

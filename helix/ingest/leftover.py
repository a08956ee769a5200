"""What is left of a value when the texts that the trace holds elsewhere are taken out of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

SHORT: Final = 8
_FRAME: Final = frozenset({"role", "source", "id", "type", "model"})


def fresh(value: Any, told: set[Any]) -> tuple[Any, int]:
    """Return a value without the texts that are told already, and how many these were.

    Texts of fewer than 8 characters stay; what is left empty goes, and so does a message of which
    only its frame (role, id, …) is left.
    """
    counted = [0]
    return _fresh(value, told, counted), counted[0]


def _fresh(value: Any, told: set[Any], counted: list[int]) -> Any:
    if isinstance(value, str):
        if len(value) >= SHORT and value in told:
            counted[0] += 1
            return None
        return value
    if isinstance(value, list):
        items = [_fresh(item, told, counted) for item in value]
        return [item for item in items if item not in (None, {}, [])]
    if not isinstance(value, dict):
        return value
    left = {key: _fresh(item, told, counted) for key, item in value.items()}
    left = {key: item for key, item in left.items() if item not in (None, {}, [])}
    return {} if "role" in left and left.keys() <= _FRAME else left


def texts(value: Any) -> Iterator[str]:
    """Yield every text inside of a value."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            pending += item.values()
        elif isinstance(item, list):
            pending += item

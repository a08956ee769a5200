"""Ids: text, stripped, unique within a trace, and derived from the source where there is none."""

from __future__ import annotations

from typing import Any, Final

DERIVED_DIGITS: Final = 12


def normalised_id(value: Any) -> str | None:
    """Return an id as stripped text, or None where there is none (null, blank, not a scalar)."""
    if type(value) is str:
        return value.strip() or None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value).strip() or None


def derived_id(digest: str) -> str:
    """Return the id of a trace that has none: stable, because it is made of its source bytes."""
    return f"trace-{digest[:DERIVED_DIGITS]}"


class Ids:
    """The ids of one trace, its own among them; a repeated one gets `#2`, `#3` and so on."""

    def __init__(self, trace_id: str) -> None:
        self._taken = {trace_id: 1}

    def take(self, wanted: str) -> tuple[str, bool]:
        """Return a free id made of the wanted one, and whether that was taken."""
        if wanted not in self._taken:
            self._taken[wanted] = 1
            return wanted, False
        while True:
            self._taken[wanted] += 1
            name = f"{wanted}#{self._taken[wanted]}"
            if name not in self._taken:
                self._taken[name] = 1
                return name, True

"""Which format a value is in: decided by what it holds, never by the file's name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from helix.errors import FormatError, known
from helix.registry import Format, Match


def detect(value: Any, formats: Iterable[Format]) -> tuple[Format, Match]:
    """Return the format that recognises a value, and why; raise FormatError for none or several.

    `value` is a file's first record, or for a list its first elements. The format that names the
    most marks of its own wins (`Match.specificity`); a tie is not guessed.
    """
    names: list[str] = []
    troubles: list[str] = []
    matches: list[tuple[Format, Match]] = []
    for item in formats:
        names.append(item.name)
        try:
            match = item.detect(value)
        except Exception as error:
            troubles.append(f"{item.name} could not look at it ({type(error).__name__}: {error})")
            continue
        if match is not None:
            matches.append((item, match))
    if not matches:
        trouble = "".join(f"; {text}" for text in troubles)
        listed = known(sorted(names), "helix plugins")
        raise FormatError(
            f"no known trace format: saw {describe(value)} ({listed}){trouble}; name one with "
            "subject.format=NAME"
        )
    best = max(match.specificity for _, match in matches)
    leaders = [(item, match) for item, match in matches if match.specificity == best]
    if len(leaders) > 1:
        told = ", ".join(f"{item.name} ({match.reason})" for item, match in leaders)
        raise FormatError(f"several trace formats fit: {told}; name one with subject.format=NAME")
    return leaders[0]


def describe(value: Any) -> str:
    """Say in a few words what a value looks like: its kind and its keys."""
    if isinstance(value, dict):
        keys = [str(key)[:40] for key in list(value)[:8]]
        more = ", …" if len(value) > len(keys) else ""
        return f"an object with keys {', '.join(keys)}{more}" if keys else "an empty object"
    if isinstance(value, list):
        return f"a list of {describe(value[0])}" if value else "an empty list"
    return {str: "text", bool: "true or false", type(None): "null"}.get(type(value), "a number")

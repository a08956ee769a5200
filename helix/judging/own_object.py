"""Finding the judge's own object in the text of a reply.

The whole text is read first; what a thinking part or a fence leaves, only where that is no JSON.
An object counts if it carries the request's nonce and stands by itself; two must be equal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

INVISIBLE = "\ufeff\u200b\u200c\u200d\u2060\u00ad"
_THINKING = re.compile(r"<(?:think|thinking|reasoning|thought)>", re.IGNORECASE)
_THINKING_END = re.compile(r"</(?:think|thinking|reasoning|thought)>", re.IGNORECASE)
_OBJECT_BEGINS = re.compile(r'\{\s*"')
_FENCE = re.compile(r"```[A-Za-z0-9_-]*[ \t]*\r?\n(.*?)\r?\n?```", re.DOTALL)
MAX_OBJECTS_TRIED = 2_000


class Fault(Exception):
    """Why a reply cannot be used."""


def own_object(text: str, nonce: str) -> tuple[dict[str, Any], bool]:
    """Return the judge's own object: the whole text, else what a thinking part or fence leaves."""
    text = trimmed(text)
    whole = _parsed(text)
    if whole is None:
        ends = list(_THINKING_END.finditer(text))
        if ends:
            text = trimmed(text[ends[-1].end() :])
            whole = _parsed(text)
    if whole is not None:
        return _own(_unwrapped(whole[0]), nonce), whole[1]
    fenced = list(_FENCE.finditer(text))
    whole = _parsed(trimmed(fenced[0][1])) if len(fenced) == 1 else None
    if whole is not None:
        _no_draft(text, 0, fenced[0].start())
        own = _own(_unwrapped(whole[0]), nonce)
        outside = text[: fenced[0].start()] + text[fenced[0].end() :]
        return _only_one(outside, nonce, [own]), whole[1]
    return _only_one(text, nonce), False


def _only_one(text: str, nonce: str, found: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """Return the one object with the nonce, in the text or found already; two must be equal."""
    found = [*found, *_objects(text)]
    own = [value for value in found if value.get("nonce") == nonce]
    if not found:
        raise Fault("no JSON object in it: answer with the object of the schema and nothing else")
    if not own:
        raise Fault(f"no object carries the nonce {nonce}")
    if any(value != own[0] for value in own[1:]):
        raise Fault(f"{len(own)} objects disagree: answer with one")
    return own[0]


def _own(value: Any, nonce: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Fault(f"the answer must be a JSON object (got {type(value).__name__})")
    if value.get("nonce") != nonce:
        raise Fault(f"the nonce must be {nonce} (got {str(value.get('nonce'))[:40]!r})")
    return value


def _unwrapped(value: Any) -> Any:
    if isinstance(value, list):
        if len(value) != 1:
            raise Fault(f"a list of {len(value)}: answer with one object")
        return value[0]
    return value


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield every outermost JSON object in a text, left to right.

    What begins as an object and is none ends the search: what stands inside was never said alone.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_no_conflict, parse_constant=_no_constant)
    at, since = text.find("{"), 0
    for _ in range(MAX_OBJECTS_TRIED):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            if _OBJECT_BEGINS.match(text, at):
                raise Fault("an object in it is cut off or no sound JSON") from None
            at = text.find("{", at + 1)
            continue
        _no_draft(text, since, at)
        yield value
        at, since = text.find("{", end), end
    raise Fault(f"more than {MAX_OBJECTS_TRIED} braces open in it: answer with the object alone")


def _no_draft(text: str, since: int, at: int) -> None:
    if _THINKING.search(text, since, at):
        raise Fault("it ends while thinking: what stands there is a draft")


def _parsed(text: str) -> tuple[Any, bool] | None:
    """Return (value, repaired) for a text that is JSON as a whole, None where it is not."""
    for strict in (True, False):
        try:
            value = json.loads(
                text, strict=strict, object_pairs_hook=_no_conflict, parse_constant=_no_constant
            )
        except (ValueError, RecursionError):
            continue
        return value, not strict
    return None


def _no_conflict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for key, item in pairs:
        if key in value and value[key] != item:
            raise Fault(f"the key '{key[:80]}' stands twice with different values")
        value[key] = item
    return value


def _no_constant(literal: str) -> Any:
    raise Fault(f"{literal} is not a JSON number")


def trimmed(text: str) -> str:
    """Return the text without white space and invisible characters at its ends."""
    return text.strip().strip(INVISIBLE).strip()

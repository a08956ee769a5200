"""What a check cites: an address that resolves and text that stands there (METHOD 4, 5, 28)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import re2

from helix.checks.parameters import Span, compile_pattern
from helix.fieldpath import FieldPath, parse, parse_relative, render_steps
from helix.model.canonical import canonical_text
from helix.model.jsontext import NonFinite
from helix.model.select import Place, owner, select
from helix.model.tokens import as_text, inside_token
from helix.model.trace import Message, Observation, Trace
from helix.model.verdict import MAX_CITED, Ref, Scan

MOST_REFS = 8
Citing = Callable[[], Ref | None]
_SHOWN = 60
_INK = r"[^\s\x0b\x1c-\x1f\x85\pZ]"  # what Python's str.split leaves, in RE2's words
_BLANK = r"^\s*$"


def shown(value: Any) -> str:
    """Return a value as a detail names it: canonical JSON, shortened."""
    text = str(value) if isinstance(value, NonFinite) else canonical_text(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def spot(trace: Trace, place: Place) -> str:
    """Return where a place is, in words."""
    return place.path if place.obs == trace.id else f"{place.path} of {place.obs}"


def standing_there(trace: Trace, place: Place) -> str:
    """Return where a place is and what stands there, in words."""
    return f"{spot(trace, place)} is {shown(place.value)}"


def cite(trace: Trace, place: Place, span: Span | None = None, note: str | None = None) -> Ref:
    """Return the ref of one place, verbatim and at most 200 characters.

    Of a longer text the part around `span` is cited; of a longer object the leaf that holds the
    words at `span` of its canonical JSON, else its first leaf. Blank text cannot be quoted, nor
    can a part of one long token: there a scan shows that nothing, or something, stands there.
    """
    path, value = place.path, place.value
    text = as_text(value)
    if isinstance(value, dict | list) and len(text) > MAX_CITED:
        words = text[slice(*span)] if span else ""
        steps, value = _leaf(parse_relative(path).steps, value, words)
        path, text = render_steps(steps), as_text(value)
        at = text.find(words)
        span = (at, at + len(words)) if at >= 0 else None
    quoted = excerpt(text, span)
    if quoted is not None and quoted.strip():
        return Ref(obs=place.obs, path=path, value=quoted, note=note)
    pattern = _BLANK if quoted is None else _INK
    proof = scanned(trace, address(trace, place.obs, path), pattern)
    return proof or Ref(obs=place.obs, path=path, value=text[:MAX_CITED], note=note)


def quote(trace: Trace, place: Place, span: Span | None = None, note: str | None = None) -> Citing:
    """Return a promise of `cite`: of thousands of readings only a few are cited."""
    return partial(cite, trace, place, span, note)


def gap(trace: Trace, place: Place, pattern: str = "") -> Citing:
    """Return a promise of a scan which shows that nothing at one place matches the pattern.

    Where a scan cannot show it (a result that was not recorded reads as null from the root), the
    call or message is cited by its name or role.
    """
    return lambda: (
        scanned(trace, address(trace, place.obs, place.path), pattern) or _holder(trace, place.obs)
    )


def look(trace: Trace, channel: FieldPath, pattern: str = "") -> Citing:
    """Return a promise of a scan which shows that nothing in a channel matches the pattern."""
    return lambda: scanned(trace, str(channel), pattern)


def excerpt(text: str, span: Span | None = None) -> str | None:
    """Return at most 200 characters around the span, cut between tokens; None if none can be."""
    if len(text) <= MAX_CITED:
        return text
    start, end = span or (0, 0)
    end = min(end, start + MAX_CITED)
    left = max(0, min(start - (MAX_CITED - (end - start)) // 2, len(text) - MAX_CITED))
    right = left + MAX_CITED
    while left < start and inside_token(text, left):
        left += 1
    while right > max(end, left + 1) and inside_token(text, right):
        right -= 1
    return None if inside_token(text, left) or inside_token(text, right) else text[left:right]


def scanned(trace: Trace, channel: str, pattern: str) -> Ref | None:
    """Look at every value of a channel; None unless no value matches."""
    compiled = compile_pattern(pattern)
    places = [p for p in select(trace, parse(channel)) if not p.missing]
    if any(compiled.find(as_text(p.value)) is not None for p in places):
        return None
    scan = Scan(channel=channel, pattern=pattern, items=len(places), matches=0)
    return Ref(obs=trace.id, path=channel, scan=scan)


def exactly(text: str) -> str:
    """Return the pattern of one whole text."""
    return f"^{re2.escape(text)}$"


def address(trace: Trace, obs: str, path: str) -> str:
    """Return the path from the root of the trace that leads where (obs, path) leads."""
    if obs == trace.id:
        return path
    tail = path if path.startswith("[") else f".{path}"
    for at, observation in enumerate(trace.observations):
        if observation.id == obs:
            return f"observations[{at}]{tail}"
    for at, message in enumerate(trace.transcript):
        if message.id == obs:
            return f"transcript[{at}]{tail}"
    return path


def nonfinite(value: Any) -> bool:
    """Whether a value is, or holds, a number outside JSON's range."""
    if not isinstance(value, (dict, list)):
        return isinstance(value, NonFinite)
    stack: list[Any] = [value]
    while stack:
        node = stack.pop()
        for item in node.values() if isinstance(node, dict) else node:
            if isinstance(item, (dict, list)):
                stack.append(item)
            elif isinstance(item, NonFinite):
                return True
    return False


def _holder(trace: Trace, obs: str) -> Ref | None:
    found = owner(trace, obs)
    if isinstance(found, Observation):
        return cite(trace, Place(obs, "name", found.name))
    return cite(trace, Place(obs, "role", found.role)) if isinstance(found, Message) else None


def _leaf(steps: tuple[Any, ...], value: Any, words: str) -> tuple[tuple[Any, ...], Any]:
    """Return the first leaf that holds the words, else the first that can be quoted."""
    stack, first = [(steps, value)], None
    while stack:
        at, node = stack.pop()
        if isinstance(node, dict | list) and node:
            pairs = list(node.items() if isinstance(node, dict) else enumerate(node))
            stack.extend(((*at, key), below) for key, below in reversed(pairs))
        elif (text := as_text(node)).strip():
            if words in text:
                return at, node
            first = first or (at, node)
    return first or (steps, value)

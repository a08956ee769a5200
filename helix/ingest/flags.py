"""Flags that every format's traces get: numbers that JSON does not have, halves of surrogates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from helix.model.jsontext import NonFinite, is_plain
from helix.model.trace import Observation, Trace
from helix.registry import Record

_NON_FINITE = (b"NaN", b"Infinity")
_SURROGATES = (b"\\ud", b"\\uD")
_IN_TEXT = tuple(mark.decode() for mark in (*_NON_FINITE, *_SURROGATES))
_CONTAINERS = ("{", "[")


def flag(trace: Trace, records: Sequence[Record], *, plain: bool = False) -> None:
    """Add the flags that the trace's own text calls for; a look at the bytes rules out most.

    `plain` says that all that was decoded so far was plain JSON: what is not decoded yet is looked
    at then, and nothing else.
    """
    if not plain or any(map(_is_suspicious, trace.observations)):
        settle(trace, marks(records))


def marks(records: Sequence[Record]) -> frozenset[str]:
    """Return what records may hold, judged by their bytes: one look, however many traces."""
    found = set()
    if any(not record.strict for record in records):
        found.add("not-strict")
    if _mentions(records, _NON_FINITE):
        found.add("non-finite-number")
    if _mentions(records, _SURROGATES):
        found.add("lone-surrogate")
    return frozenset(found)


def settle(trace: Trace, marked: frozenset[str]) -> None:
    """Add the flags among those that a trace's source is marked with that its text calls for."""
    found: set[str] = set()
    if "not-strict" in marked or (
        "non-finite-number" in marked
        and any(isinstance(value, NonFinite) for value in _leaves(trace))
    ):
        found.add("non-finite-number")
    if "lone-surrogate" in marked and any(
        isinstance(value, str) and not _is_encodable(value) for value in _leaves(trace)
    ):
        found.add("lone-surrogate")
    if found:
        trace.flags = tuple(sorted({*trace.flags, *found}))


def _is_suspicious(observation: Observation) -> bool:
    for text in observation.undecoded:
        if text.lstrip().startswith(_CONTAINERS) and not is_plain(text) and _is_marked(text):
            return True
    return False


def _is_marked(text: str) -> bool:
    return any(mark in text for mark in _IN_TEXT)


def _mentions(records: Sequence[Record], marks: tuple[bytes, ...]) -> bool:
    return any(mark in record.data for record in records for mark in marks)


def _leaves(trace: Trace) -> Iterator[Any]:
    pending: list[Any] = [trace.input, trace.output, trace.metadata]
    pending += [message.text for message in trace.transcript]
    for observation in trace.observations:
        pending += [observation.input, observation.output, observation.output_text]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            pending += value.keys()
            pending += value.values()
        elif isinstance(value, list):
            pending += value
        else:
            yield value


def _is_encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True

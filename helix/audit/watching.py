"""Which fields of a trace a check reads, found out by watching it read.

A check is a function of what it reads, so a field that it left alone cannot have moved it. Reading
is noted per message and per half of an observation; a part that was only passed on counts as read.
"""

from __future__ import annotations

import copy
from dataclasses import fields
from typing import Any

from helix.audit.places import OWN
from helix.model.trace import Message, Observation, Trace

_OBSERVATION = {
    "input": "input", "_input": "input", "input_text": "input",
    "output": "output", "_output": "output", "output_text": "output",
}  # fmt: skip
_TRACE = frozenset({"input", "output", "metadata"})


class _Observation(Observation):
    __slots__ = ("noted",)

    def __getattribute__(self, name: str) -> Any:
        if name in _OBSERVATION:
            noted = object.__getattribute__(self, "noted")
            noted.add((object.__getattribute__(self, "id"), _OBSERVATION[name]))
        return object.__getattribute__(self, name)


class _Message(Message):
    __slots__ = ("noted",)

    def __getattribute__(self, name: str) -> Any:
        if name == "text":
            noted = object.__getattribute__(self, "noted")
            noted.add((object.__getattribute__(self, "id"), "text"))
        return object.__getattribute__(self, name)


class _Trace(Trace):
    __slots__ = ("noted", "of")
    noted: set[tuple[str, str]]
    of: Trace

    def __deepcopy__(self, memo: dict[int, Any]) -> _Trace:
        """Return a watched copy: checks of plugins are given one, and copying is not reading."""
        return _watching(copy.deepcopy(self.of, memo), self.noted)

    def __getattribute__(self, name: str) -> Any:
        if name in _TRACE:
            object.__getattribute__(self, "noted").add((OWN, name))
        return object.__getattribute__(self, name)


def watched(trace: Trace, noted: set[tuple[str, str]]) -> Trace:
    """Return a copy that notes (owner id, field) of all that is read of it."""
    made = _watching(trace, noted)
    noted.clear()
    return made


def _watching(trace: Trace, noted: set[tuple[str, str]]) -> _Trace:
    slots, names = Observation.__slots__, _names(Message)
    made: _Trace = _copy(trace, _Trace, _names(Trace), noted)
    made.of, made._parts = trace, None
    made.observations = [_copy(o, _Observation, slots, noted) for o in trace.observations]
    made.transcript = [_copy(m, _Message, names, noted) for m in trace.transcript]
    return made


def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _copy(item: Any, kind: type[Any], slots: tuple[str, ...], noted: set[tuple[str, str]]) -> Any:
    made = object.__new__(kind)
    made.noted = noted
    for slot in slots:
        setattr(made, slot, getattr(item, slot))
    return made

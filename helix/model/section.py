"""A part of a trace that reads like one: some of its observations and messages, nothing copied.

`input`, `output`, `metadata`, `usage` and `raw` are those of the whole trace, and so is the id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from helix.model.trace import Message, Observation, Trace


@dataclass(slots=True)
class Section(Trace):
    """A part of a trace; `of` is the whole, which knows what lies outside."""

    of: Trace | None = None


def section(
    trace: Trace, observations: Sequence[Observation], transcript: Sequence[Message]
) -> Section:
    """Return the part of a trace, or of a part, that holds these observations and messages."""
    held = {field.name: getattr(trace, field.name) for field in fields(Trace)}
    held |= {"observations": list(observations), "transcript": list(transcript), "_parts": None}
    return Section(**held, of=whole(trace))


def between(trace: Trace, first: int | None, last: int | None) -> Trace:
    """Return the part whose `seq` lies between two numbers, both included; None is no bound."""
    if first is None and last is None:
        return trace
    low = float("-inf") if first is None else first
    high = float("inf") if last is None else last
    return section(
        trace,
        [o for o in trace.observations if low <= o.seq <= high],
        [m for m in trace.transcript if low <= m.seq <= high],
    )


def whole(trace: Trace) -> Trace:
    """Return the trace that a part is of, and any other trace as it is."""
    return trace.of if isinstance(trace, Section) and trace.of is not None else trace

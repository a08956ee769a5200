"""The canonical trace as JSON: what Helix JSONL holds and what paths walk.

`helix.model.trace` is the same shape in memory, lazy and mutable while it is built; these structs
are its schema. A record needs an input, an output, an observation or a message.
"""

from __future__ import annotations

from typing import Any

from helix.model.verdict import Shape


class ObservationRecord(Shape, frozen=True, kw_only=True):
    """One thing that was done: a tool call with its result, a generation, a span."""

    id: str
    """Its id, which evidence names it by."""
    seq: int
    """Its place in the one order of all that was said and done."""
    type: str
    """TOOL for a tool call, else the kind of observation."""
    name: str
    """The tool's name, or what else was done."""
    input: Any = None
    """The arguments, decoded where they are JSON; null where none were recorded."""
    output: Any = None
    """The result, `{"text": …}` where it is no JSON; null where there is none."""
    input_text: str | None = None
    """The arguments as they were recorded; null where only values were."""
    output_text: str | None = None
    """The result as it was recorded; null where only values were."""
    error: str | None = None
    """The error that it declares; null for none."""
    level: str | None = None
    """How severe the source says that it is; null where it says nothing."""
    status: str | None = None
    """How it ended, in the source's words; null where it says nothing."""
    start_time: int | None = None
    """Nanoseconds since 1970; null where not recorded."""
    end_time: int | None = None
    """Nanoseconds since 1970; null where not recorded."""
    parent_id: str | None = None
    """The id of what it was done in; null for none."""
    flags: tuple[str, ...] = ()
    """What is odd about its recording, such as missing-result."""


class MessageRecord(Shape, frozen=True, kw_only=True):
    """One thing that was said."""

    id: str
    """Its id, which evidence names it by."""
    seq: int
    """Its place in the one order of all that was said and done."""
    role: str
    """Who spoke: system, user, assistant, or the source's word."""
    text: str
    """The text."""
    observation_ids: tuple[str, ...] = ()
    """The ids of what was done in this turn."""
    control: bool = False
    """Whether it only poses as a turn of the user."""


class TraceRecord(Shape, frozen=True, kw_only=True):
    """One recorded run of the subject."""

    schema_version: str
    id: str
    """Its id, unique in a run; labels, verdicts and splits name it by this."""
    input: Any = None
    """What the agent was given; null where not recorded."""
    output: Any = None
    """What the run ended with; null where not recorded."""
    observations: tuple[ObservationRecord, ...] = ()
    """What was done."""
    transcript: tuple[MessageRecord, ...] = ()
    """What was said."""
    route: str | None = None
    task: str | None = None
    metadata: dict[str, Any] | None = None
    """What else the source says of the run; null for nothing."""
    flags: tuple[str, ...] = ()
    """What is odd about the recording, such as truncated."""
    usage: dict[str, Any] | None = None
    """Tokens, cost and times as the source records them; null where it does not."""
    labels: dict[str, Any] | None = None
    """What people or the source say of the run; never shown to a judge, no path reaches it."""
    raw: Any = None
    """What has no other place here; null for nothing."""

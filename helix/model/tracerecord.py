"""The canonical trace as JSON: what Helix JSONL holds and what paths walk.

`helix.model.trace` is the same shape in memory, lazy and mutable while it is built; these structs
are its schema. A record needs an input, an output, an observation or a message.
"""

from __future__ import annotations

from typing import Any

from helix.model.verdict import Shape


class ObservationRecord(Shape, frozen=True, kw_only=True):
    """One thing that was done. Times are integer nanoseconds; `type` is TOOL for a tool call."""

    id: str
    seq: int
    type: str
    name: str
    input: Any = None
    output: Any = None
    input_text: str | None = None
    output_text: str | None = None
    error: str | None = None
    level: str | None = None
    status: str | None = None
    start_time: int | None = None
    end_time: int | None = None
    parent_id: str | None = None
    flags: tuple[str, ...] = ()


class MessageRecord(Shape, frozen=True, kw_only=True):
    """One thing that was said; `control` is text that only poses as a turn."""

    id: str
    seq: int
    role: str
    text: str
    observation_ids: tuple[str, ...] = ()
    control: bool = False


class TraceRecord(Shape, frozen=True, kw_only=True):
    """One recorded run; one `seq` runs through messages and observations."""

    schema_version: str
    id: str
    input: Any = None
    output: Any = None
    observations: tuple[ObservationRecord, ...] = ()
    transcript: tuple[MessageRecord, ...] = ()
    route: str | None = None
    task: str | None = None
    metadata: dict[str, Any] | None = None
    flags: tuple[str, ...] = ()
    usage: dict[str, Any] | None = None
    labels: dict[str, Any] | None = None
    raw: Any = None

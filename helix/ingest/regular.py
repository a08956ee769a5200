"""Canonical records in which nothing is to be repaired, read straight from their bytes.

A record is regular where it fits the schema, every id and `seq` is there once, and every parent is
a message. Others are read by `helix.ingest.canonical`, which tells and flags what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

import msgspec

from helix.model.trace import (
    NOT_READ,
    TOOL,
    TRACE_SCHEMA_VERSION,
    Message,
    Observation,
    Source,
    Trace,
)
from helix.model.tracerecord import MessageRecord, ObservationRecord, TraceRecord

_decoder = msgspec.json.Decoder(TraceRecord)
_SEQ = attrgetter("seq")
_MAJOR = TRACE_SCHEMA_VERSION.partition(".")[0]


def regular(data: bytes) -> TraceRecord | None:
    """Return the record that the bytes hold where it is regular, else None."""
    try:
        record = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    said, done = record.transcript, record.observations
    entries: list[MessageRecord | ObservationRecord] = [*said, *done]
    ids = {record.id, *[entry.id for entry in entries]}
    messages = {message.id for message in said}
    fits = (
        len(ids) == len(entries) + 1
        and len({entry.seq for entry in entries}) == len(entries)
        and _are_stripped(ids)
        and not [call for call in done if not _is_regular(call, messages)]
        and record.schema_version.partition(".")[0] == _MAJOR
        and (record.task is None or _are_stripped((record.task,)))
    )
    return record if fits else None


def trace_of(record: TraceRecord, source: Source) -> Trace:
    """Return the trace of a regular record."""
    trace = Trace(
        id=record.id,
        source=source,
        input=record.input,
        output=record.output,
        observations=sorted(map(_observation, record.observations), key=_SEQ),
        transcript=sorted(map(_message, record.transcript), key=_SEQ),
        route=record.route,
        metadata=record.metadata or {},
        usage=record.usage or {},
        flags=tuple(dict.fromkeys(record.flags)),
        labels=record.labels or {},
        task=record.task,
    )
    trace.raw = record.raw
    return trace


def _are_stripped(ids: Iterable[str]) -> bool:
    return not [text for text in ids if not text or text != text.strip()]


def _is_regular(call: ObservationRecord, messages: set[str]) -> bool:
    if call.parent_id is not None and call.parent_id not in messages:
        return False
    if call.type == TOOL:
        return isinstance(call.input, dict)
    return bool(call.type) and (call.input is not None or call.input_text is None)


def _message(said: MessageRecord) -> Message:
    return Message(said.id, said.seq, said.role, said.text, said.observation_ids, said.control)


def _observation(done: ObservationRecord) -> Observation:
    value, text = done.output, done.output_text
    if value is None or (text is None and isinstance(value, str)):
        # A result that is one text is decoded when it is first read.
        value, text = NOT_READ, text if value is None else value
    return Observation(
        done.id,
        done.seq,
        done.name,
        done.type,
        input=done.input,
        input_text=done.input_text,
        output=value,
        output_text=text,
        error=done.error,
        level=done.level,
        status=done.status,
        start_time=done.start_time,
        end_time=done.end_time,
        parent_id=done.parent_id,
        flags=dict.fromkeys(done.flags),
    )

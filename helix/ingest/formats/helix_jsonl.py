"""Helix's own canonical JSON Lines: one trace a line, the shape of `Trace.to_dict`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from helix.ingest.canonical import SUBSTANCE, TRACE_KEYS, from_dict
from helix.ingest.regular import regular, trace_of
from helix.model.canonical import source_digest
from helix.model.trace import Source, Trace
from helix.model.tracerecord import TraceRecord
from helix.registry import Format, Match, Record

_FOREIGN = frozenset({"traceId", "trace_id", "parentObservationId", "span_id"})


def detect(value: Any) -> Match | None:
    """Recognise a canonical record, or a list of them."""
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict):
        return None
    if isinstance(first.get("schemaVersion"), str) and first.keys() & SUBSTANCE:
        return Match("schemaVersion with observations, transcript, input or output", specificity=3)
    if not first.keys() <= TRACE_KEYS:
        return None
    if _is_listed(first, "transcript", "role") or _is_listed(first, "observations", "name"):
        return Match("transcript[] or observations[] in Helix's keys", specificity=2)
    if {"input", "output"} <= first.keys():
        return Match("input and output in Helix's keys", specificity=2)
    return None


def _is_listed(record: Mapping[str, Any], key: str, mark: str) -> bool:
    items = record.get(key)
    return (
        isinstance(items, list)
        and bool(items)
        and all(isinstance(i, dict) and mark in i and not i.keys() & _FOREIGN for i in items)
    )


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Read each record as one trace."""
    for record in records:
        source = Source(record.file, record.line, "helix", source_digest(record.data))
        make = trace_of if isinstance(record.value, TraceRecord) else from_dict
        yield make(record.value, source)


FORMAT = Format("helix", "1", detect, read, decode=regular)

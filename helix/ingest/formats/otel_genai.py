"""OTel GenAI: OTLP JSON in one document or JSON Lines, or OpenTelemetry spans in other envelopes.

Spans of other instrumentations in the same file are read by their own attributes; files that are
theirs are recognised as `openinference` and `vercel_ai`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from helix.ingest.formats.span_traces import heads, traces
from helix.model.manifest import LoadFailure
from helix.model.trace import Trace
from helix.registry import Format, Lines, Match, Record

_MARKS: Final = ("gen_ai.", "traceloop.", "llm.request.type")


def detect(value: Any) -> Match | None:
    """Recognise spans with gen_ai.* or Traceloop attributes, and spans as such with less weight."""
    found = heads(value)
    if not found:
        empty = isinstance(value, dict) and isinstance(value.get("resourceSpans"), list)
        return Match("resourceSpans without a span") if empty else None
    for name in (name for _, names in found for name in names):
        if name.startswith(_MARKS):
            return Match(f"spans with {name}", specificity=2)
    return Match("OpenTelemetry spans with traceId, spanId and attributes")


def read(records: Sequence[Record]) -> Iterator[Trace | LoadFailure]:
    """Read the traces of a file."""
    return traces(records, "otel_genai")


def stream(records: Iterable[Record | LoadFailure], lines: Lines) -> Iterator[Trace | LoadFailure]:
    """Read the traces of a file, each once its last line has been read."""
    return traces(records, "otel_genai", lines)


FORMAT = Format("otel_genai", "1", detect, read, whole_file=True, stream=stream)

"""OpenInference: spans with `openinference.span.kind`, in OTLP, in the spec's JSON, in TRAIL's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from helix.ingest.formats.openinference_spans import KIND
from helix.ingest.formats.span_traces import heads, traces
from helix.model.manifest import LoadFailure
from helix.model.trace import Trace
from helix.registry import Format, Lines, Match, Record


def detect(value: Any) -> Match | None:
    """Recognise spans by their OpenInference kind, and TRAIL's by their own keys."""
    for _, names in heads(value):
        if KIND in names or "openinference" in names:
            return Match(f"spans with {KIND}", specificity=4)
    spans = value.get("spans") if isinstance(value, dict) else None
    first = spans[0] if isinstance(spans, list) and spans else None
    if isinstance(first, dict) and {"span_id", "span_attributes"} <= first.keys():
        return Match("spans[] with span_id and span_attributes", specificity=3)
    return None


def read(records: Sequence[Record]) -> Iterator[Trace | LoadFailure]:
    """Read the traces of a file."""
    return traces(records, "openinference")


def stream(records: Iterable[Record | LoadFailure], lines: Lines) -> Iterator[Trace | LoadFailure]:
    """Read the traces of a file, each once its last line has been read."""
    return traces(records, "openinference", lines)


FORMAT = Format("openinference", "1", detect, read, whole_file=True, stream=stream)

"""Vercel AI SDK, versions 4 to 6: `ai.*` spans in OTLP or dumped as JavaScript holds them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from helix.ingest.formats.span_traces import heads, traces
from helix.ingest.formats.vercel_spans import OPERATION, is_own
from helix.model.manifest import LoadFailure
from helix.model.trace import Trace
from helix.registry import Format, Lines, Match, Record


def detect(value: Any) -> Match | None:
    """Recognise spans by the SDK's attributes."""
    for name, names in heads(value):
        if is_own(dict.fromkeys(names)):
            return Match(f"spans with {OPERATION}: {name}", specificity=3)
    return None


def read(records: Sequence[Record]) -> Iterator[Trace | LoadFailure]:
    """Read the traces of a file."""
    return traces(records, "vercel_ai")


def stream(records: Iterable[Record | LoadFailure], lines: Lines) -> Iterator[Trace | LoadFailure]:
    """Read the traces of a file, each once its last line has been read."""
    return traces(records, "vercel_ai", lines)


FORMAT = Format("vercel_ai", "1", detect, read, whole_file=True, stream=stream)

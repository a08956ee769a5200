"""Traces as lines of bytes: Helix's canonical JSON Lines, which read back to the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from helix.ingest.otel import otel_line
from helix.model.canonical import canonical_bytes
from helix.model.trace import Trace


def canonical_line(trace: Trace) -> bytes:
    """Return the canonical record of a trace, without a line end."""
    return canonical_bytes(trace.to_dict())


WRITERS: Final[Mapping[str, Callable[[Trace], bytes]]] = {
    "helix": canonical_line,
    "otel": otel_line,
}

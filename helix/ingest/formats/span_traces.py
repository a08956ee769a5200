"""From files of OpenTelemetry spans to traces: grouping by trace id, and whose words a span speaks.

A file may mix instrumentations, so each span is read by its own attributes, whatever format the
file was recognised as.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import islice
from typing import Any, Final

import msgspec

from helix.errors import FormatError, HelixError
from helix.ingest.flags import marks, settle
from helix.ingest.formats import genai_spans, openinference_spans, vercel_spans
from helix.ingest.history import spelled
from helix.ingest.identity import normalised_id
from helix.ingest.leakage import is_label, split
from helix.ingest.memo import Memo
from helix.ingest.otel import from_export, is_export
from helix.ingest.otlp import Wire, attributes_of, spans_in, wire
from helix.ingest.spans import Span, build
from helix.model.canonical import canonical_bytes, source_digest
from helix.model.jsontext import decode, decode_container
from helix.model.manifest import LoadFailure
from helix.model.trace import Source, Trace
from helix.registry import Lines, Record

LOOK: Final = 64
_TRACE_ID: Final = re.compile(rb'"(?:traceId|trace_id)"\s*:\s*("(?:[^"\\]|\\.)*")')
EVALUATION: Final = "gen_ai.evaluation"
_NO_LABELS: Final = ("retrieval.", "reranker.", "embedding.", "gen_ai.retrieval.")
_METADATA: Final = "ai.telemetry.metadata."


def heads(value: Any) -> list[tuple[str, frozenset[str]]]:
    """Return name and attribute names of the first spans of a value; none where it holds none."""
    found: list[tuple[str, frozenset[str]]] = []
    inherited = _trace_of(value) or "?"
    with suppress(FormatError):
        for span, _, _ in islice(spans_in(value), LOOK):
            with suppress(FormatError):
                w = wire(span, trace=inherited)
                if w.id is not None:
                    found.append((w.name, frozenset(w.attributes)))
    return found


def dialect(w: Wire) -> Callable[[Wire], Span]:
    """Return how a span is read; what is nobody's is read by the conventions of OTel."""
    if openinference_spans.is_own(w.attributes):
        return openinference_spans.span
    if vercel_spans.is_own(w.attributes):
        return vercel_spans.span
    return genai_spans.span


@dataclass(slots=True)
class _Open:
    """The spans of one trace that were read so far, and the records that they stand in."""

    wires: list[Wire] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)


def traces(
    records: Iterable[Record | LoadFailure], format_name: str, lines: Lines | None = None
) -> Iterator[Trace | LoadFailure]:
    """Yield the traces of some records; a span that is none is a failure and stops no other.

    A trace is built when the last line that mentions it has been read, so that memory follows
    the traces that overlap; the spans of one document are held until its end.
    """
    last = _last_lines(lines) if lines is not None else {}
    closing = deque(sorted(last, key=lambda trace_id: last[trace_id]))
    opened: dict[str, _Open] = {}
    built = _Builder(format_name)
    empty: Record | None = None
    for record in records:
        if isinstance(record, LoadFailure):
            yield record
            continue
        empty = empty or record
        while closing and last[closing[0]] < record.line:
            found = opened.pop(trace_id := closing.popleft(), None)
            if found is not None:
                yield built.trace(trace_id, found)
        for failure in _take(record, opened):
            yield failure
            built.told = True
    if empty is not None and not opened and not built.told:
        yield LoadFailure(file=empty.file, line=empty.line, reason="no span in it")
    for trace_id in list(opened):
        yield built.trace(trace_id, opened.pop(trace_id))


def _take(record: Record, opened: dict[str, _Open]) -> Iterator[LoadFailure]:
    inherited = _trace_of(record.value)
    try:
        for span, resource, scope in spans_in(record.value):
            try:
                found = wire(span, resource, scope, inherited)
            except FormatError as error:
                yield _failure(record, error)
                continue
            trace = opened.setdefault(found.trace, _Open())
            trace.wires.append(found)
            if not trace.records or trace.records[-1] is not record:
                trace.records.append(record)
    except FormatError as error:
        yield _failure(record, error)


def _last_lines(lines: Lines) -> dict[str, int]:
    """Return the last line that mentions each trace's id."""
    last: dict[str, int] = {}
    for number, data in lines():
        for found in set(_TRACE_ID.findall(data)):
            with suppress(ValueError):
                last[str(decode(found)[0]).strip()] = number
    return last


class _Builder:
    """Builds the traces of one file; what a record's bytes may hold is looked up once.

    `told` says whether anything came of the file so far.
    """

    def __init__(self, format_name: str) -> None:
        self._format = format_name
        self.told = False
        self._seen: tuple[Record, frozenset[str]] | None = None

    def trace(self, trace_id: str, found: _Open) -> Trace | LoadFailure:
        """Return the trace of some spans, or why there is none."""
        first = found.records[0]
        self.told = True
        try:
            source = Source(first.file, first.line, self._format, _digest(found))
            trace = _trace(source, trace_id, found.wires)
            for record in found.records:
                settle(trace, self._marks(record))
        except HelixError as error:
            return _failure(first, error)
        except Exception as error:
            told = f"{self._format} cannot read it ({type(error).__name__}: {error})"
            return LoadFailure(file=first.file, line=first.line, reason=told)
        return trace

    def _marks(self, record: Record) -> frozenset[str]:
        if self._seen is None or self._seen[0] is not record:
            self._seen = (record, marks([record]))
        return self._seen[1]


def _trace_of(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None
    return normalised_id(value.get("trace_id") or value.get("traceId"))


def _failure(record: Record, error: Exception) -> LoadFailure:
    return LoadFailure(file=record.file, line=record.line, reason=str(error))


def _digest(found: _Open) -> str:
    """Return the digest of a trace: that of its spans, whatever else stands in the same lines."""
    return source_digest(_encoded([w.source for w in found.wires]))


def _trace(source: Source, trace_id: str, wires: Sequence[Wire]) -> Trace:
    wires, repeated = _once(wires)
    if is_export(wires):
        return from_export(source, wires)
    labels: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    spans = []
    memo = Memo()
    for w in wires:
        w.memo = memo
        own = _labels(w)
        if own:
            labels[w.id or "span"] = own
        given, hidden = split(_metadata(w))
        metadata |= given
        labels |= hidden
        span = dialect(w)(w)
        span.rest = partial(_rest, w, span.name)
        if w.is_cut:
            span.flags.append("truncated")
        spans.append(span)
    flags = ["duplicate-id"] if repeated else []
    return build(
        source,
        trace_id,
        spans,
        metadata=metadata,
        labels=labels,
        flags=flags,
        raw=lambda: _around(wires),
    )


def _rest(w: Wire, name: str) -> dict[str, Any]:
    named = {"name": w.name} if name != w.name else {}
    return named | w.rest()


def _once(wires: Sequence[Wire]) -> tuple[list[Wire], bool]:
    """Leave out spans that were exported twice, equal in everything."""
    first: dict[str, Wire] = {}
    seen: set[bytes] = set()
    left: list[Wire] = []
    for w in wires:
        if w.id is not None and w.id in first:
            seen.add(_encoded(first[w.id].source))
            spelling = _encoded(w.source)
            if spelling in seen:
                continue
            seen.add(spelling)
        elif w.id is not None:
            first[w.id] = w
        left.append(w)
    return left, len(left) < len(wires)


def _encoded(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (TypeError, UnicodeError, ValueError):
        return canonical_bytes(value)


def _labels(w: Wire) -> dict[str, Any]:
    """Take what says how good the run was: labels by name, results of evaluations."""
    own: dict[str, Any] = {}
    for name in filter(is_label_attribute, w.attributes):
        own[name] = w.attributes[name]
        w.used.add(name)
    judged = [e.attributes for e in w.events if e.name.startswith(EVALUATION)]
    if judged:
        own["evaluations"] = judged
        w.events = [e for e in w.events if not e.name.startswith(EVALUATION)]
    return own


@lru_cache(maxsize=4096)
def is_label_attribute(name: str) -> bool:
    """Whether an attribute's dotted name names ground truth or an evaluation."""
    if name.startswith(_NO_LABELS):
        return False
    return name.startswith(EVALUATION) or any(map(is_label, name.split(".")))


def _metadata(w: Wire) -> dict[str, Any]:
    """Return what the user attached to the run: `metadata`, the Vercel AI SDK's metadata.*."""
    held = w.attributes.get("metadata")
    decoded = decode_container(held) if isinstance(held, str) else held
    found = dict(decoded) if isinstance(decoded, dict) else {}
    if found:
        w.used.add("metadata")
    for name in [name for name in w.attributes if name[:22] == _METADATA]:
        found[name[22:]] = w.attributes[name]
        w.used.add(name)
    return found


def _around(wires: Iterable[Wire]) -> dict[str, Any]:
    """Return what stands around the spans, each resource and scope once."""
    told = {
        "resources": [
            {**held, "attributes": attributes_of(held.get("attributes"))}
            for held in _distinct(w.resource for w in wires)
        ],
        "scopes": _distinct(w.scope for w in wires),
    }
    return {key: value for key, value in told.items() if value}


def _distinct(held: Iterable[Mapping[str, Any] | None]) -> list[Mapping[str, Any]]:
    by_place = {id(one): one for one in held if one}
    return list({spelled(dict(one)): one for one in by_place.values()}.values())

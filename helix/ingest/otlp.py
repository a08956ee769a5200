"""Spans as OpenTelemetry and its exporters write them, in one shape whatever the spelling.

OTLP JSON (`resourceSpans`, one document or a batch a line), a span a line or a list of spans
(the console exporter's `context`, JavaScript's `spanContext` with times [s, ns], plain
`trace_id`), TRAIL's nested `child_spans`. Ids stay as they are, hex or base64.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from helix.errors import FormatError
from helix.ingest.detection import describe
from helix.ingest.identity import normalised_id
from helix.ingest.memo import Memo
from helix.ingest.times import SECOND, nanoseconds
from helix.model.jsontext import NonFinite

ERROR_CODES: Final = (2, "2", "STATUS_CODE_ERROR", "ERROR", "Error", "error", "StatusCode.ERROR")
_STARTS: Final = ("startTimeUnixNano", "start_time_unix_nano", "startTime", "start_time",
                  "timestamp")  # fmt: skip
_ENDS: Final = ("endTimeUnixNano", "end_time_unix_nano", "endTime", "end_time")
_ATTRIBUTES: Final = ("attributes", "span_attributes")
_NO_ID: Final = ("AAAAAAAAAAA=", "AAAAAAAAAAA")
_DROPPED: Final = (
    ("droppedAttributesCount", "dropped_attributes_count"),
    ("droppedEventsCount", "dropped_events_count"),
)
_READ: Final = frozenset(
    {
        "traceId", "trace_id", "spanId", "span_id", "id", "parentSpanId", "parent_span_id",
        "parentId", "parent_id", "name", "span_name", "context", "spanContext",
        "parentSpanContext", "child_spans", "status", "status_code", "statusCode",
        "status_message", "events", "flags", *_STARTS, *_ENDS, *_ATTRIBUTES,
    }
)  # fmt: skip


@dataclass(slots=True)
class Event:
    """One event of a span; its time in nanoseconds."""

    name: str
    time: int | None
    attributes: dict[str, Any]


@dataclass(slots=True)
class Wire:
    """One span as it came: attributes decoded to plain values, times in nanoseconds."""

    trace: str
    id: str | None
    parent: str | None
    name: str
    start: int | None
    end: int | None
    attributes: dict[str, Any]
    events: list[Event]
    failed: bool
    message: str | None
    source: Mapping[str, Any]
    resource: Mapping[str, Any] | None = None
    scope: Mapping[str, Any] | None = None
    used: set[str] = field(default_factory=set)
    memo: Memo = field(default_factory=Memo)
    is_cut: bool = False

    def take(self, *names: str) -> Any:
        """Return the first attribute of these names that is there, and count it as read."""
        for name in names:
            if name in self.attributes:
                self.used.add(name)
                return self.attributes[name]
        return None

    def text(self, *names: str) -> str | None:
        """Return the first of these attributes that is text, and count it as read."""
        for name in names:
            value = self.attributes.get(name)
            if isinstance(value, str) and value:
                self.used.add(name)
                return value
        return None

    def nested(self, prefix: str) -> list[dict[str, Any]]:
        """Return what flattened attributes `prefix N . name` spell, in the order of N."""
        found: dict[str, Any] = {}
        size = len(prefix)
        for name, value in self.attributes.items():
            if name[:size] == prefix:
                place = found
                *steps, last = name[size:].split(".")
                for step in steps:
                    inner = place.get(step)
                    if not isinstance(inner, dict):
                        inner = place[step] = {}
                    place = inner
                place[last] = value
                self.used.add(name)
        rebuilt = _relisted(found)
        return [item for item in rebuilt if isinstance(item, dict)] if found else []

    def error(self) -> tuple[str | None, str | None]:
        """Return (error, status) as the span declares them: status, error.type, an exception."""
        thrown = next((e.attributes for e in reversed(self.events) if e.name == "exception"), None)
        kind = self.attributes.get("error.type")
        if not self.failed and thrown is None and kind is None:
            return None, None
        told = self.message
        if thrown is not None:
            told = told or thrown.get("exception.message") or thrown.get("exception.type")
        told = told or kind
        return told if isinstance(told, str) and told else "error", "error"

    def numbers(self, wanted: Mapping[str, Iterable[str]]) -> dict[str, Any]:
        """Return the first number among each group of attributes, under the group's name."""
        found: dict[str, Any] = {}
        for key, names in wanted.items():
            for name in names:
                value = self.attributes.get(name)
                if type(value) is int or type(value) is float:
                    found[key] = value
                    break
        return found

    def rest(self) -> dict[str, Any]:
        """Return what no field of the trace holds: other attributes, events, links, …"""
        kept = {k: v for k, v in self.attributes.items() if k not in self.used}
        found: dict[str, Any] = {"attributes": kept} if kept else {}
        events = [e for e in self.events if e.name not in self.used]
        if events:
            found["events"] = [
                {"name": e.name, "time": e.time, "attributes": e.attributes} for e in events
            ]
        return found | {k: v for k, v in self.source.items() if k not in _READ and _is_told(v)}


def _relisted(found: dict[str, Any]) -> Any:
    """Return objects whose keys are all numbers as lists, all the way down."""
    inner = {k: _relisted(v) if isinstance(v, dict) else v for k, v in found.items()}
    if inner and all(key.isascii() and key.isdigit() for key in inner):
        return [inner[key] for key in sorted(inner, key=lambda k: (len(k.lstrip("0")), k))]
    return inner


def _is_told(value: Any) -> bool:
    return value not in (None, "", [], {}, 0)


def is_span(value: Any) -> bool:
    """Whether a value is a span: an id of its own and one of its trace, and attributes."""
    if not isinstance(value, dict) or not any(key in value for key in _ATTRIBUTES):
        return False
    trace, own = _ids(value)
    return trace is not None and own is not None


def spans_in(value: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield (span, resource, scope) of a document, in whatever envelope the spans stand."""
    if isinstance(value, list):
        for item in value:
            yield from spans_in(item)
    elif not isinstance(value, dict):
        raise FormatError(f"spans must stand in an object or a list (got {describe(value)})")
    elif (resources := _list(value, "resourceSpans", "resource_spans")) is not None:
        yield from _resource_spans(resources)
    elif is_span(value):
        yield value, value.get("resource"), value.get("instrumentationScope")
    elif isinstance(value.get("spans"), list):
        yield from _nested(value["spans"])
    elif value and all(isinstance(inner, list) for inner in value.values()):
        for inner in value.values():
            yield from spans_in(inner)
    else:
        raise FormatError(f"no spans in {describe(value)}")


def _resource_spans(resources: list[Any]) -> Iterator[tuple[Any, Any, Any]]:
    for group in resources:
        if not isinstance(group, dict):
            raise FormatError(f"resourceSpans must hold objects (got {describe(group)})")
        scopes = _list(group, "scopeSpans", "scope_spans", "instrumentationLibrarySpans")
        for scoped in scopes or ():
            if not isinstance(scoped, dict):
                raise FormatError(f"scopeSpans must hold objects (got {describe(scoped)})")
            scope = scoped.get("scope") or scoped.get("instrumentationLibrary")
            for span in _list(scoped, "spans") or ():
                yield span, group.get("resource"), scope


def _nested(spans: list[Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield spans and those below them as `child_spans`, a parent before its children."""
    pending = list(reversed(spans))
    while pending:
        span = pending.pop()
        yield span, None, None
        children = span.get("child_spans") if isinstance(span, dict) else None
        if isinstance(children, list):
            pending += reversed(children)


def _list(holder: Mapping[str, Any], *names: str) -> list[Any] | None:
    return next((holder[name] for name in names if isinstance(holder.get(name), list)), None)


def wire(span: Any, resource: Any = None, scope: Any = None, trace: str | None = None) -> Wire:
    """Return a span in the one shape; `trace` is the trace's id where the span names none."""
    if not isinstance(span, dict):
        raise FormatError(f"a span must be an object (got {describe(span)})")
    in_span, own = _ids(span)
    trace_id = in_span or trace
    if trace_id is None:
        raise FormatError(f"a span must have a traceId (got {describe(span)})")
    failed, message = _status(span)
    start = _time(span, _STARTS)
    return Wire(
        trace_id,
        own,
        _parent(span),
        str(_first(span, "name", "span_name") or "span"),
        start,
        _time(span, _ENDS) or _after(start, span.get("duration")),
        attributes_of(_first(span, *_ATTRIBUTES)),
        [_event(event) for event in _list(span, "events") or () if isinstance(event, dict)],
        failed,
        message,
        span,
        resource if isinstance(resource, dict) else None,
        scope if isinstance(scope, dict) else None,
        is_cut=any(_first(span, *names) for names in _DROPPED),
    )


def _ids(span: Mapping[str, Any]) -> tuple[str | None, str | None]:
    holder = span.get("spanContext") or span.get("context")
    holder = holder if isinstance(holder, dict) else span
    return (
        normalised_id(holder.get("traceId", holder.get("trace_id"))),
        normalised_id(holder.get("spanId", holder.get("span_id"))),
    )


def _parent(span: Mapping[str, Any]) -> str | None:
    found = _first(span, "parentSpanId", "parent_span_id", "parentId", "parent_id")
    context = span.get("parentSpanContext")
    if found is None and isinstance(context, dict):
        found = context.get("spanId")
    parent = normalised_id(found)
    return parent if parent is not None and parent not in _NO_ID and parent.strip("0x") else None


def _time(span: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    for name in names:
        value = span.get(name)
        if value is not None:
            counts_nano = name.endswith(("Nano", "_nano"))
            if counts_nano and type(value) is str and value.isascii() and len(value) < 25:
                return int(value) or None if value.isdigit() else nanoseconds(value, 1)
            return _nano(value, counts_nano=counts_nano)
    return None


def _nano(value: Any, *, counts_nano: bool = False) -> int | None:
    if isinstance(value, list) and len(value) == 2:
        parts = [nanoseconds(part, unit) for part, unit in zip(value, (SECOND, 1), strict=True)]
        return None if None in parts else sum(part or 0 for part in parts)
    if counts_nano:
        return nanoseconds(value, 1) or None
    return nanoseconds(value, _unit(value))


def _unit(value: Any) -> int:
    """Return how many nanoseconds a bare number counts in, by its size."""
    try:
        size = abs(float(value))
    except (TypeError, ValueError, OverflowError):
        return SECOND
    return next(
        (unit for top, unit in ((1e11, SECOND), (1e14, 10**6), (1e17, 10**3)) if size < top), 1
    )


def _after(start: int | None, duration: Any) -> int | None:
    """Return the end of a span that tells how long it took: [s, ns] or ISO 8601 `PT1.2S`."""
    if start is None:
        return None
    if isinstance(duration, str) and duration.startswith("PT"):
        return start + took if (took := _iso_duration(duration)) is not None else None
    took = _nano(duration) if isinstance(duration, list) else None
    return None if took is None else start + took


def _iso_duration(text: str) -> int | None:
    total, number = 0, ""
    for char in text[2:]:
        if char in "HMS":
            unit = {"H": 3600, "M": 60, "S": 1}[char] * SECOND
            part = nanoseconds(number, unit)
            if part is None:
                return None
            total, number = total + part, ""
        else:
            number += char
    return None if number else total


def _status(span: Mapping[str, Any]) -> tuple[bool, str | None]:
    status = span.get("status")
    held = status if isinstance(status, dict) else {}
    code = held.get("code", held.get("status_code", held.get("statusCode")))
    if code is None:
        code = status if isinstance(status, str) else _first(span, "status_code", "statusCode")
    message = _first(held, "message", "description") or span.get("status_message")
    return code in ERROR_CODES, message if isinstance(message, str) and message else None


def _event(event: Mapping[str, Any]) -> Event:
    time = _time(event, ("timeUnixNano", "time_unix_nano", "time", "timestamp", "Timestamp"))
    attributes = attributes_of(_first(event, "attributes", "Attributes"))
    return Event(str(_first(event, "name", "Name") or ""), time, attributes)


def attributes_of(held: Any) -> dict[str, Any]:
    """Return attributes as plain values: OTLP's key/value pairs, or an object as it is."""
    if isinstance(held, dict):
        return held
    found: dict[str, Any] = {}
    for pair in held if isinstance(held, list) else ():
        value = pair.get("value") if type(pair) is dict else None
        if type(value) is dict:
            key, text = pair.get("key"), value.get("stringValue")
            key = key if type(key) is str else str(key)
            found[key] = text if type(text) is str else plain(value)
    return found


def plain(value: Any) -> Any:
    """Return the plain value of OTLP's AnyValue; what is none stays as it is."""
    if not isinstance(value, dict) or len(value) != 1:
        return value or None
    ((kind, held),) = value.items()
    kind = kind.replace("_v", "V")
    if kind == "intValue":
        return _integer(held)
    if kind == "doubleValue":
        return NonFinite(held) if isinstance(held, str) else held
    if kind == "arrayValue" and isinstance(held, dict):
        return [plain(item) for item in held.get("values") or ()]
    if kind == "kvlistValue" and isinstance(held, dict):
        return attributes_of(held.get("values") or [])
    return held if kind in ("stringValue", "boolValue", "bytesValue") else value


def _integer(held: Any) -> Any:
    try:
        return int(held) if isinstance(held, str) and len(held) < 40 else held
    except ValueError:
        return held


def _first(holder: Mapping[str, Any], *names: str) -> Any:
    for name in names:
        value = holder.get(name)
        if value is not None:
            return value
    return None

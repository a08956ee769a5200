"""Traces as OTLP JSON by OTel's GenAI conventions, one trace a line, and such lines read back.

The root span `invoke_agent` has the messages, each observation is a span below it. Any reader of
the conventions finds names, arguments, results, errors and order; what they have no word for
stands in attributes `helix.*`, by which Helix reads the same observations, order, parents,
inputs, outputs and errors. `raw` and labels are not exported. A time that was not recorded is
written as one that keeps the order, and read back as not recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from helix.errors import FormatError
from helix.ingest.canonical import from_dict
from helix.ingest.otlp import Wire
from helix.model.canonical import canonical_bytes, canonical_text, digest
from helix.model.jsontext import decode
from helix.model.trace import (
    TOOL,
    TRACE_SCHEMA_VERSION,
    Message,
    Observation,
    Source,
    Trace,
    decode_arguments,
    decode_result,
)

TRACE: Final = "helix.trace"
OBSERVATION: Final = "helix.observation"
TRANSCRIPT: Final = "helix.transcript"
_MESSAGES: Final = "gen_ai.input.messages"
_SIDES: Final = {
    "input": ("gen_ai.tool.call.arguments", decode_arguments),
    "output": ("gen_ai.tool.call.result", decode_result),
}
_OPERATIONS: Final = {
    TOOL: "execute_tool", "GENERATION": "chat", "AGENT": "invoke_agent",
    "EMBEDDING": "embeddings", "RETRIEVER": "retrieval",
}  # fmt: skip
_INTERNAL: Final = 1
_FAILED: Final = 2
_TOLD: Final = ("level", "status", "parentId", "startTime", "endTime", "flags")
_HEX: Final = frozenset("0123456789abcdef")


def otel_line(trace: Trace) -> bytes:
    """Return a trace as one OTLP JSON document, without a line end."""
    scope = {"name": "helix", "version": TRACE_SCHEMA_VERSION}
    name = {"key": "service.name", "value": {"stringValue": "unknown_service"}}
    scoped = {"scope": scope, "spans": list(_spans(trace))}
    resource = {"resource": {"attributes": [name]}, "scopeSpans": [scoped]}
    return canonical_bytes({"resourceSpans": [resource]})


def is_export(wires: Sequence[Wire]) -> bool:
    """Whether the spans of one trace are Helix's own export."""
    return any(TRACE in w.attributes for w in wires)


def from_export(source: Source, wires: Sequence[Wire]) -> Trace:
    """Return the trace that was exported; FormatError for one that was damaged since."""
    try:
        return from_dict(_record(wires), source)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        told = f"{type(error).__name__}: {error}"
        raise FormatError(f"attributes helix.* that do not belong together ({told})") from error


def _record(wires: Sequence[Wire]) -> dict[str, Any]:
    record: dict[str, Any] = {"observations": [], "transcript": []}
    for w in wires:
        if TRACE in w.attributes:
            record |= _decoded(w, TRACE)
            record["transcript"] = list(_transcript(w))
        elif OBSERVATION in w.attributes:
            record["observations"].append(_observation(w))
    return record


def _spans(trace: Trace) -> Iterator[dict[str, Any]]:
    trace_id = _hex(trace.id, 32, trace.id, trace.source.digest)
    done = sorted(trace.observations, key=lambda o: o.seq)
    ids = {o.id: _hex(o.id, 16, trace.id, o.id) for o in done}
    root = _hex("", 16, trace.id)
    start = min((o.start_time for o in done if o.start_time is not None), default=0)
    times = list(_times(done, start))
    end = max((end for _, end in times), default=start)
    common = {"traceId": trace_id, "kind": _INTERNAL}
    yield {**common, **_root(trace, root, start, end)}
    for observation, (begun, ended) in zip(done, times, strict=True):
        yield {
            **common,
            "spanId": ids[observation.id],
            "parentSpanId": ids.get(observation.parent_id or "", root),
            "name": _span_name(observation),
            "startTimeUnixNano": str(begun),
            "endTimeUnixNano": str(ended),
            "attributes": _pairs(_attributes(observation)),
            "status": _status(observation),
        }


def _times(done: Sequence[Observation], start: int) -> Iterator[tuple[int, int]]:
    """Yield start and end; where none was recorded, one right after what came before."""
    last = start
    for o in done:
        begun = o.start_time if o.start_time is not None else last + 1
        last = max(last, begun)
        yield begun, o.end_time if o.end_time is not None else begun


def _root(trace: Trace, span_id: str, start: int, end: int) -> dict[str, Any]:
    keys = ("schemaVersion", "id", "route", "task", "metadata", "flags", "input", "output", "usage")
    record = trace.to_dict()
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.conversation.id": trace.id,
        _MESSAGES: canonical_text(list(_conversation(trace))),
        TRACE: canonical_text({key: record[key] for key in keys if key in record}),
        TRANSCRIPT: canonical_text([_place(m) for m in trace.transcript]),
    }
    return {
        "spanId": span_id,
        "name": "invoke_agent",
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(end),
        "attributes": _pairs(attributes),
        "status": {},
    }


def _conversation(trace: Trace) -> Iterator[dict[str, Any]]:
    """Yield the messages as the conventions have them, calls in them, results after them."""
    calls = {o.id: o for o in trace.observations if o.type == TOOL}
    for message in trace.transcript:
        made = [calls[name] for name in message.observation_ids if name in calls]
        asked = [
            {"type": "tool_call", "id": o.id, "name": o.name, "arguments": o.input} for o in made
        ]
        text = {"type": "text", "content": message.text}
        yield {"role": message.role, "parts": [text, *asked]}
        for o in made:
            if o.has_output:
                part = {"type": "tool_call_response", "id": o.id, "response": _shown(o)}
                yield {"role": "tool", "parts": [part]}


def _shown(observation: Observation) -> Any:
    text = observation.output_text
    return observation.output if text is None else text


def _place(message: Message) -> dict[str, Any]:
    """Return a message without its text, which the conventions hold."""
    told = message.to_dict()
    return {key: value for key, value in told.items() if key not in ("role", "text")}


def _transcript(w: Wire) -> Iterator[dict[str, Any]]:
    said = [m for m in _decoded(w, _MESSAGES) if m["parts"][0]["type"] == "text"]
    for place, message in zip(_decoded(w, TRANSCRIPT), said, strict=True):
        yield {**place, "role": message["role"], "text": message["parts"][0]["content"]}


def _span_name(observation: Observation) -> str:
    if observation.type == TOOL:
        return f"execute_tool {observation.name}"
    return observation.name


def _attributes(observation: Observation) -> dict[str, str]:
    told = observation.to_dict()
    own = {key: told[key] for key in ("id", "seq", "type", "name")}
    own |= {key: told[key] for key in _TOLD if key in told}
    found: dict[str, str] = {}
    if observation.type in _OPERATIONS:
        found["gen_ai.operation.name"] = _OPERATIONS[observation.type]
    if observation.type == TOOL:
        found |= {"gen_ai.tool.name": observation.name, "gen_ai.tool.call.id": observation.id}
    elif observation.type == "GENERATION" and isinstance(observation.output_text, str):
        part = {"type": "text", "content": observation.output_text}
        found["gen_ai.output.messages"] = canonical_text([{"role": "assistant", "parts": [part]}])
    for side, (name, meaning) in _SIDES.items():
        text, value = told.get(f"{side}Text"), told[side]
        place = name if observation.type == TOOL else f"helix.{side}"
        if text is not None and (value is None or meaning(text) == value):
            found[place], own[side] = text, "text"
            continue
        if value is not None:
            found[place] = canonical_text(value)
        if text is not None:
            found[f"helix.{side}_text"] = text
    if observation.error == "":
        own["error"] = ""
    return {**found, OBSERVATION: canonical_text(own)}


def _observation(w: Wire) -> dict[str, Any]:
    own: dict[str, Any] = _decoded(w, OBSERVATION)
    for side, (name, meaning) in _SIDES.items():
        place = name if own["type"] == TOOL else f"helix.{side}"
        text = w.attributes.get(f"helix.{side}_text")
        if own.pop(side, None) == "text":
            text = w.attributes[place]
            own[side] = meaning(text)
        elif place in w.attributes:
            own[side] = _decoded(w, place)
        if text is not None:
            own[f"{side}Text"] = text
    if w.failed and "error" not in own:
        own["error"] = w.message
    return own


def _status(observation: Observation) -> dict[str, Any]:
    if observation.error is None:
        return {}
    return {"code": _FAILED, "message": observation.error}


def _pairs(attributes: dict[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": text}} for key, text in attributes.items()]


def _decoded(w: Wire, name: str) -> Any:
    return decode(w.attributes[name])[0]


def _hex(own: str, digits: int, *parts: str) -> str:
    """Return an id as OTLP wants it: the own one if it is such, else one made of the parts."""
    if len(own) == digits and set(own) <= _HEX and own.strip("0"):
        return own
    return digest(list(parts))[:digits]

"""Langfuse exports: {trace, observations}, {observations, scores}, or a trace with observations.

An observation is a span under its own id, whatever the order of the array. Input, output and
metadata are JSON in a text or values. A model's messages are read in the shapes of the frameworks
behind it; calls that only a GENERATION's output or its `toolCalls` know are TOOL observations.
Scores are labels. An export without input and output (350 observations and more) is flagged
`truncated`. `level: ERROR` declares an error, its text is `statusMessage`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import Any, Final

from helix.errors import FormatError
from helix.ingest.detection import describe
from helix.ingest.formats.langfuse_messages import calls_beside, heard_in, said_in
from helix.ingest.formats.openai_chat import GIVEN
from helix.ingest.history import Said, keys_of, without
from helix.ingest.identity import normalised_id
from helix.ingest.leakage import split
from helix.ingest.leftover import fresh, texts
from helix.ingest.recorded import number, opened, put, put_arguments
from helix.ingest.spans import GENERATION, SPAN, Span, build
from helix.ingest.times import nanoseconds
from helix.model.canonical import source_digest
from helix.model.trace import TOOL, Source, Trace
from helix.registry import Format, Match, Record

MODEL_TYPES: Final = (GENERATION, "EMBEDDING")
_MARKS: Final = ("type", "startTime")
_OWN: Final = frozenset({"traceId", "parentObservationId", "projectId"})
_PLACED: Final = frozenset(
    {"id", "traceId", "parentObservationId", "type", "name", "startTime", "endTime", "level",
     "input", "output"}
)  # fmt: skip
_TOOL_NAMES: Final = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name")
_TOOL_KEYS: Final = ("gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id")

_TOOL_RESULTS: Final = (
    "gcp.vertex.agent.tool_response",
    "tool_response",
    "gen_ai.tool.call.result",
)

Json = dict[str, Any]


def detect(value: Any) -> Match | None:
    """Recognise observations by type and startTime, bare or beside a trace or scores."""
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict):
        return None
    if _is_observation(first):
        return Match("observations with type, startTime and traceId", True, specificity=2)
    observations = _observations(first)
    if not isinstance(observations, list):
        return None
    if observations and all(map(_is_observation, observations[:3])):
        return Match("observations[] with type and startTime", specificity=3)
    about = first.get("trace", first)
    if not observations and isinstance(about, dict) and {"projectId", "timestamp"} <= about.keys():
        return Match("a trace with projectId and timestamp, and no observations", specificity=2)
    return None


def _is_observation(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and all(isinstance(value.get(mark), str) for mark in _MARKS)
        and bool(value.keys() & _OWN)
    )


def _observations(value: Json) -> Any:
    trace = value.get("trace")
    inside = trace.get("observations") if isinstance(trace, dict) else None
    found = value.get("observations", value.get("data"))
    return inside if found is None else found


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Read each record as an export: one trace, or one per trace id of its observations."""
    for record in records:
        value = {"observations": record.value} if isinstance(record.value, list) else record.value
        if not isinstance(value, dict):
            raise FormatError(f"an export must be an object (got {describe(value)})")
        if _is_observation(value) and "observations" not in value:
            value = {"observations": [value]}
        found = _observations(value)
        if not isinstance(found, list) or not all(isinstance(o, dict) for o in found):
            raise FormatError("'observations' must be a list of objects")
        yield from _traces(record, value, found)


def _traces(record: Record, value: Json, found: list[Json]) -> Iterator[Trace]:
    about = value.get("trace")
    held = ("trace", "observations", "data")
    around = {k: v for k, v in value.items() if k not in held}
    if not isinstance(about, dict):
        about, around = (around, {}) if "id" in around else ({}, around)
    about = {k: v for k, v in about.items() if k != "observations"}
    groups: dict[str | None, list[Json]] = {}
    for observation in found:
        groups.setdefault(normalised_id(observation.get("traceId")), []).append(observation)
    own = normalised_id(about.get("id"))
    if len(groups) <= 1 or own is not None:
        groups = {own or next(iter(groups), None): found}
    source = Source(record.file, record.line, "langfuse", source_digest(record.data))
    for trace_id, observations in groups.items():
        yield _trace(source, trace_id, about, around, observations)


def _trace(
    source: Source, trace_id: str | None, about: Json, around: Json, observations: list[Json]
) -> Trace:
    given = {**about, "metadata": opened(about.get("metadata"))} if about else {}
    rest, labels = split(given)
    outside, scores = split(around)
    metadata = rest.pop("metadata", None)
    if not isinstance(metadata, dict):
        metadata = {} if metadata is None else {"metadata": metadata}
    omitted = bool(observations) and not any(o.keys() & {"input", "output"} for o in observations)
    trace = build(
        source,
        trace_id,
        [_span(observation) for observation in observations],
        metadata=metadata,
        labels={**labels, **scores},
        flags=["truncated"] if omitted else [],
        raw={**({"trace": rest} if rest else {}), **outside},
    )
    latency = number(about.get("latency"))
    if latency is not None:
        trace.usage["latencyMs"] = latency * 1000
    if not trace.transcript:
        trace.input = trace.input or _asked(rest.get("input"), "prompt")
        trace.output = trace.output or _asked(rest.get("output"), "response")
    return trace


def _asked(value: Any, key: str) -> Json:
    """Return what the trace itself says that it was asked or ended with."""
    value = opened(value)
    if value is None:
        return {}
    return value if isinstance(value, dict) else {key: value}


def _span(observation: Json) -> Span:
    kind = str(observation.get("type") or SPAN).upper()
    name = observation.get("name")
    made = Span(
        normalised_id(observation.get("id")),
        name if isinstance(name, str) and name else kind.lower(),
        kind,
        normalised_id(observation.get("parentObservationId")),
        nanoseconds(observation.get("startTime")),
        nanoseconds(observation.get("endTime")),
    )
    level = observation.get("level")
    made.level = level if isinstance(level, str) else None
    given, returned = opened(observation.get("input")), opened(observation.get("output"))
    if kind == TOOL:
        _tool(made, observation, returned)
    else:
        made.heard = heard_in(given)
        said = made.said = said_in(returned, spoken=kind == GENERATION)
        if kind != GENERATION:
            made.heard, made.said = passed_on(made.heard, said)
        if kind in MODEL_TYPES:
            made.usage = _usage(observation)
            made.said = calls_beside(observation, made.said)
        if not heard_in(given):
            put(made, "input", observation.get("input"))
        if not said:
            put(made, "output", observation.get("output"))
    if level == "ERROR":
        told = observation.get("statusMessage")
        made.error = told if isinstance(told, str) and told else "error"
        made.status = "error"
    made.rest = partial(_rest, observation, made, given, returned)
    return made


def passed_on(heard: Sequence[Said], said: list[Said]) -> tuple[list[Said], list[Said]]:
    """Return what a span was given and what it adds, where it only passes messages on.

    Its output may repeat its input, or the whole conversation with its opening.
    """
    added = without(said, keys_of(heard))
    opening = list(takewhile(lambda message: message.role in GIVEN, added))
    return [*heard, *opening], added[len(opening) :]


def _tool(made: Span, observation: Json, returned: Any) -> None:
    """Take in an executed call; its name and id stand in the attributes where there are some."""
    attributes = _attributes(observation)
    named = next((attributes[n] for n in _TOOL_NAMES if isinstance(attributes.get(n), str)), None)
    made.name = named or made.name
    made.call_key = _call_key(attributes) or _key_in(returned)
    put_arguments(made, observation.get("input"))
    if returned in (None, "", {}):
        # Some frameworks record a tool's result only as an attribute of its span.
        named = next((n for n in _TOOL_RESULTS if attributes.get(n) not in (None, "")), None)
        put(made, "output", attributes[named] if named else observation.get("output"))
    else:
        put(made, "output", observation.get("output"))


def _attributes(observation: Json) -> Json:
    metadata = opened(observation.get("metadata"))
    attributes = metadata.get("attributes") if isinstance(metadata, dict) else None
    return attributes if isinstance(attributes, dict) else {}


def _call_key(attributes: Json) -> str | None:
    for name in _TOOL_KEYS:
        value = attributes.get(name)
        if isinstance(value, list):
            # Frameworks that nest runs give the path to the call; the call is its end.
            value = value[-1] if value else None
        if normalised_id(value) is not None:
            return normalised_id(value)
    return None


def _key_in(returned: Any) -> str | None:
    """The call's id in a tool message of LangChain."""
    held = returned.get("kwargs", returned) if isinstance(returned, dict) else None
    return normalised_id(held.get("tool_call_id")) if isinstance(held, dict) else None


def _usage(observation: Mapping[str, Any]) -> Json:
    details = observation.get("usageDetails")
    cost = observation.get("costDetails")
    details = details if isinstance(details, dict) else {}
    found = {
        "promptTokens": details.get("input", observation.get("inputUsage") or None),
        "completionTokens": details.get("output", observation.get("outputUsage") or None),
        "costUsd": cost.get("total") if isinstance(cost, dict) else observation.get("totalCost"),
    }
    return {key: value for key, value in found.items() if number(value) is not None}


def _rest(observation: Json, made: Span, given: Any, returned: Any) -> Json:
    """Return what the observation holds beside the model: no text of its messages once more."""
    told = {text for said in (*made.heard, *made.said) for text in texts_of(said)}
    rest = {
        k: v for k, v in observation.items() if k not in _PLACED and v not in (None, "", [], {})
    }
    if "metadata" in rest:
        rest["metadata"] = opened(rest["metadata"])
    if made.name != observation.get("name") and observation.get("name"):
        rest["name"] = observation["name"]
    for side, value, moved in (
        ("input", given, bool(made.heard) and not made.has_input),
        ("output", returned, bool(made.said) and not made.has_output),
    ):
        left = fresh(value, told)[0] if moved and isinstance(value, dict | list) else None
        if left:
            rest[side] = left
    return rest


def texts_of(said: Any) -> Iterator[str]:
    yield from texts([said.text, said.source])
    for call in said.calls:
        yield from texts([call.key, call.name, call.arguments])
    for result in said.results:
        yield from texts([result.key, result.text, result.tool])
        if isinstance(result.value, dict | list):
            yield from texts(result.value)


FORMAT = Format("langfuse", "1", detect, read)

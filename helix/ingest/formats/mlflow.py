"""MLflow traces: {info, data{spans}}; ids in base64, every attribute dumped as JSON by itself.

A span's inputs and outputs are its observation's, except where a chat model's hold messages.
Assessments (feedback and expectations) are labels. Older traces have `request_id`, `context` and
`parent_id`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from helix.errors import FormatError
from helix.ingest.detection import describe
from helix.ingest.identity import normalised_id
from helix.ingest.leakage import is_label, split
from helix.ingest.messages import messages_of, replies_of
from helix.ingest.otlp import Wire, wire
from helix.ingest.spans import AGENT, GENERATION, SPAN, Span, build
from helix.model.canonical import source_digest
from helix.model.jsontext import decode
from helix.model.trace import TOOL, Source, Trace
from helix.registry import Format, Match, Record

TYPES: Final = {
    "LLM": GENERATION, "CHAT_MODEL": GENERATION, "AGENT": AGENT, "TOOL": TOOL, "CHAIN": "CHAIN",
    "WORKFLOW": "CHAIN", "RETRIEVER": "RETRIEVER", "RERANKER": "RERANKER",
    "EMBEDDING": "EMBEDDING", "PARSER": "PARSER", "GUARDRAIL": "GUARDRAIL",
    "EVALUATOR": "EVALUATOR", "MEMORY": "MEMORY",
}  # fmt: skip
_INFO: Final = frozenset(
    {"trace_id", "request_id", "request_time", "timestamp_ms", "execution_duration_ms",
     "execution_time_ms", "state", "status", "trace_location", "experiment_id"}
)  # fmt: skip
_INPUTS: Final = "mlflow.spanInputs"
_OUTPUTS: Final = "mlflow.spanOutputs"


def detect(value: Any) -> Match | None:
    """Recognise info and data.spans as MLflow writes them."""
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict) or not isinstance(first.get("info"), dict):
        return None
    data = first.get("data")
    spans = data.get("spans") if isinstance(data, dict) else None
    if isinstance(spans, list) and first["info"].keys() & _INFO:
        return Match("info and data.spans[]", specificity=3)
    return None


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Read each record as one trace."""
    for record in records:
        yield _trace(record)


def _trace(record: Record) -> Trace:
    value = record.value
    info = value.get("info") if isinstance(value, dict) else None
    data = value.get("data") if isinstance(value, dict) else None
    if not isinstance(info, dict) or not isinstance(data, dict):
        raise FormatError(f"a trace must hold info and data (got {describe(value)})")
    trace_id = normalised_id(info.get("trace_id") or info.get("request_id"))
    spans = data.get("spans")
    if not isinstance(spans, list):
        raise FormatError(f"data.spans must be a list (got {describe(spans)})")
    rest, labels = split({k: v for k, v in value.items() if k != "data"}, key=_is_label)
    around = {k: v for k, v in data.items() if k != "spans"}
    source = Source(record.file, record.line, "mlflow", source_digest(record.data))
    unfinished = info.get("state", info.get("status")) == "IN_PROGRESS"
    return build(
        source,
        trace_id,
        [_span(wire(span, trace=trace_id or "trace")) for span in spans],
        metadata=_metadata(rest["info"]),
        labels=labels,
        flags=["truncated"] if unfinished else [],
        raw={**rest, **({"data": around} if around else {})},
    )


def _is_label(key: str) -> bool:
    return key == "assessments" or is_label(key)


def _metadata(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the user's own tags and metadata, without those that MLflow sets."""
    found: dict[str, Any] = {}
    for key in ("tags", "trace_metadata", "request_metadata"):
        held = info.get(key)
        for name, value in held.items() if isinstance(held, dict) else ():
            if not name.startswith("mlflow."):
                found[name] = value
    return found


def _span(w: Wire) -> Span:
    kind = TYPES.get(str(_opened(w.take("mlflow.spanType"))).upper(), SPAN)
    error, status = w.error()
    made = Span(w.id, w.name, kind, w.parent, w.start, w.end, error=error, status=status)
    made.rest = lambda: _rest(w, made)
    usage = _opened(w.attributes.get("mlflow.chat.tokenUsage"))
    if isinstance(usage, dict):
        names = {"promptTokens": "input_tokens", "completionTokens": "output_tokens"}
        made.usage = {k: usage[n] for k, n in names.items() if isinstance(usage.get(n), int)}
    given, returned = w.take(_INPUTS), w.take(_OUTPUTS)
    if kind == GENERATION:
        inputs, outputs = _opened(given), _opened(returned)
        made.heard = messages_of(inputs) or [] if isinstance(inputs, dict | list) else []
        made.said = replies_of(outputs) or []
        if made.heard:
            given = None
        if made.said:
            returned = None
    _put(made, "input", given)
    _put(made, "output", returned)
    if kind == TOOL:
        made.free_text = isinstance(_opened(given), str)
        _tool_message(made, _opened(returned))
    return made


def _tool_message(made: Span, returned: Any) -> None:
    """Take the call's id and the text from a LangChain tool message."""
    if isinstance(returned, dict) and returned.get("tool_call_id"):
        made.call_key = normalised_id(returned["tool_call_id"])


def _opened(dumped: Any) -> Any:
    """Return the value of an attribute; what is no JSON stays text."""
    if not isinstance(dumped, str):
        return dumped
    try:
        return decode(dumped)[0]
    except ValueError:
        return dumped


def _put(made: Span, side: str, dumped: Any) -> None:
    """Keep an object or list as the text that it stands in, and a dumped text as that text."""
    value = _opened(dumped) if isinstance(dumped, str) and dumped[:1] not in "{[" else dumped
    if isinstance(value, str):
        setattr(made, f"{side}_text", value)
    elif value is not None:
        setattr(made, side, value)


def _rest(w: Wire, made: Span) -> dict[str, Any]:
    kept = w.rest()
    if "attributes" in kept:
        kept["attributes"] = {k: _opened(v) for k, v in kept["attributes"].items()}
    for side, name, messages in (("input", _INPUTS, made.heard), ("output", _OUTPUTS, made.said)):
        held = _opened(w.attributes.get(name)) if messages else None
        if isinstance(held, dict):
            beside = {k: v for k, v in held.items() if k not in ("messages", "message")}
            kept |= {side: beside} if beside else {}
    return kept


FORMAT = Format("mlflow", "1", detect, read)

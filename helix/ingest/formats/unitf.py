"""UniTF: one trace a record, `spans` of events, model calls and tools, `ext` for the rest.

A call (role `tool`) and its result (role `toolResult`, same `toolCallId`) are one observation. A
user's event and a model call's output are messages; spans do not send the history again. What
evaluators attached (`ext.eval.results`) is a label; `ext.eval.incomplete` says so of every record
of some exporters, so it sets no flag: `raw.ext.eval.incomplete` may be named as a truncation field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from helix.errors import FormatError
from helix.ingest.content import text_of
from helix.ingest.conversation import ORPHAN
from helix.ingest.history import Said
from helix.ingest.identity import normalised_id
from helix.ingest.leakage import split
from helix.ingest.pairing import NOT_RECORDED, Call, Pairing, Result
from helix.ingest.spans import GENERATION, MESSAGE, Span, build
from helix.ingest.times import nanoseconds
from helix.model.canonical import source_digest
from helix.model.trace import TOOL, Source, Trace
from helix.registry import Format, Match, Record

LABELS = ("ext.eval.results",)
_METADATA = ("sessionId", "sourcePlatform")
_TYPES = {"llm": GENERATION, "tool": TOOL}
_READ = frozenset(
    {"spanId", "parentSpanId", "name", "toolName", "toolCallId", "startTime", "endTime", "status",
     "input", "output"}
)  # fmt: skip


def detect(value: Any) -> Match | None:
    """Recognise a record by its version and its spans."""
    first = value[0] if isinstance(value, list) and value else value
    if (
        isinstance(first, dict)
        and "unitf_version" in first
        and isinstance(first.get("spans"), list)
    ):
        return Match("unitf_version and spans[]", specificity=3)
    return None


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Read each record as one trace."""
    for record in records:
        value = record.value
        spans = value.get("spans") if isinstance(value, dict) else None
        if not isinstance(spans, list):
            raise FormatError("a record must be an object with a list 'spans'")
        for at, span in enumerate(spans):
            if not isinstance(span, dict):
                raise FormatError(f"spans[{at}] must be an object")
        yield _trace(record, value, spans)


def _trace(record: Record, value: dict[str, Any], spans: list[dict[str, Any]]) -> Trace:
    envelope = {k: v for k, v in value.items() if k not in ("spans", "traceId", *_METADATA)}
    rest, labels = split(envelope, paths=LABELS)
    return build(
        Source(record.file, record.line, "unitf", source_digest(record.data)),
        normalised_id(value.get("traceId")),
        _joined(spans),
        metadata={key: value[key] for key in _METADATA if value.get(key) is not None},
        usage=_usage(value.get("tokens")),
        raw=rest,
        labels=labels,
        task=_task(labels),
    )


def _joined(spans: list[dict[str, Any]]) -> list[Span]:
    """Return the spans with each result in its call; one without a call stands alone."""
    pairing = Pairing()
    made: list[tuple[Span, Call | None]] = []
    results: dict[int, Mapping[str, Any]] = {}
    for at, span in enumerate(spans):
        if span.get("role") == "toolResult":
            result = _result(span)
            flags = pairing.result(result)
            if flags:
                made.append((_orphan(span, result, flags), None))
            else:
                results[id(result)] = span
            continue
        new = _span(span)
        call = None
        if new.type == TOOL and not new.has_output:
            call = Call(new.call_key, new.name, at, new.parent, flags=new.flags)
            pairing.call(call)
        made.append((new, call))
    for new, call in made:
        if call is not None and call.result is not None:
            _answer(new, call.result, results[id(call.result)])
    return [new for new, _ in made]


def _span(span: Mapping[str, Any]) -> Span:
    kind = str(span.get("kind") or "span")
    new = Span(
        normalised_id(span.get("spanId")),
        str(span.get("toolName") or span.get("name") or kind),
        _TYPES.get(kind, kind.upper()),
        normalised_id(span.get("parentSpanId")),
        nanoseconds(span.get("startTime")),
        nanoseconds(span.get("endTime")),
        status=_text(span.get("status")),
        call_key=normalised_id(span.get("toolCallId")),
        rest={key: v for key, v in span.items() if key not in _READ} or None,
    )
    role, given = span.get("role"), span.get("input")
    if kind == "event" and isinstance(role, str) and given is not None and "output" not in span:
        new.type, new.said = MESSAGE, [Said(role, text_of(given))]
        return new
    if kind == "llm" and isinstance(span.get("output"), str):
        new.said = [Said("assistant", span["output"])]
    for key in ("input", "output"):
        _give(new, key, span.get(key))
    if new.status == "error":
        new.error = new.output_text or "error"
    return new


def _give(new: Span, key: str, value: Any) -> None:
    if isinstance(value, str):
        setattr(new, f"{key}_text", value)
    elif value is not None:
        setattr(new, key, value)


def _result(span: Mapping[str, Any]) -> Result:
    value = span.get("output")
    text = value if isinstance(value, str) else None
    failed = span.get("status") == "error"
    return Result(
        text=text,
        value=NOT_RECORDED if value is None or text is not None else value,
        error=(text or "error") if failed else None,
        status=_text(span.get("status")),
        key=normalised_id(span.get("toolCallId")),
        tool=_text(span.get("name")),
        time=nanoseconds(span.get("startTime")),
    )


def _answer(new: Span, result: Result, span: Mapping[str, Any]) -> None:
    kept = {k: v for k, v in span.items() if k not in _READ or k in ("spanId", "name")}
    new.rest = {**(new.rest or {}), "result": kept}
    new.output, new.output_text = result.value, result.text
    new.error, new.status, new.end = result.error, result.status, new.end or result.time


def _orphan(span: Mapping[str, Any], result: Result, flags: tuple[str, ...]) -> Span:
    new = _span(span)
    new.name, new.type, new.flags = ORPHAN, "EVENT", list(flags)
    new.input = {"callId": result.key} if result.key else NOT_RECORDED
    return new


def _usage(tokens: Any) -> dict[str, Any]:
    if not isinstance(tokens, dict):
        return {}
    names = {"promptTokens": "input", "completionTokens": "output"}
    return {name: tokens[key] for name, key in names.items() if isinstance(tokens.get(key), int)}


def _task(labels: Mapping[str, Any]) -> str | None:
    """Return the task that evaluators judged, where all of them name one."""
    results = labels.get("ext", {}).get("eval", {}).get("results")
    if not isinstance(results, list):
        return None
    tasks = {normalised_id(r.get("task_id")) for r in results if isinstance(r, dict)}
    return tasks.pop() if len(tasks) == 1 else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


FORMAT = Format("unitf", "1", detect, read)

"""LangSmith runs: nested in `child_runs`, or a list or lines of runs with `trace_id`.

The order is that of `dotted_order`. A run is a span under its own id; the run at the root has the
trace's id, so its observation is `<id>#run`. Model runs hold LangChain's messages, a list of lists
of constructors. A tool's result is the content of its tool message;
a tool that raised has `error` and empty outputs. Feedback and reference examples are labels. All
runs of a file are held until it ends, because those of one trace may stand anywhere in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from helix.errors import FormatError
from helix.ingest.detection import describe
from helix.ingest.formats.langfuse import passed_on, texts_of
from helix.ingest.formats.langfuse_messages import heard_in, said_in
from helix.ingest.identity import normalised_id
from helix.ingest.leakage import is_label, split
from helix.ingest.leftover import fresh
from helix.ingest.messages import messages_of, replies_of
from helix.ingest.pairing import declared_error
from helix.ingest.recorded import number, opened, put, put_arguments
from helix.ingest.spans import GENERATION, SPAN, Span, build
from helix.ingest.times import nanoseconds
from helix.model.canonical import digest_bytes, source_digest
from helix.model.manifest import LoadFailure
from helix.model.trace import TOOL, Source, Trace
from helix.registry import Format, Match, Record

TYPES: Final = {
    "tool": TOOL, "chain": "CHAIN", "llm": GENERATION, "retriever": "RETRIEVER",
    "embedding": "EMBEDDING", "prompt": "PROMPT", "parser": "PARSER",
}  # fmt: skip
ROOT: Final = "#run"
_MARKS: Final = frozenset(
    {"dotted_order", "trace_id", "parent_run_id", "child_runs", "session_id", "start_time"}
)
_PLACED: Final = frozenset(
    {"id", "trace_id", "parent_run_id", "dotted_order", "name", "run_type", "start_time",
     "end_time", "inputs", "outputs", "error", "child_runs", "child_run_ids", "parent_run_ids"}
)  # fmt: skip
_PLACES: Final = frozenset({"child_runs", "trace_id", "parent_run_id"})
_HEARD: Final = frozenset({"messages", "prompts"})
_LABELS: Final = ("feedback", "feedback_stats", "reference_example", "reference_outputs")

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Run:
    """A run with the record it stood in, and the ids that its place gives it."""

    value: Json
    record: Record
    trace: str | None
    parent: str | None


def detect(value: Any) -> Match | None:
    """Recognise runs by run_type beside dotted_order, trace_id or child_runs."""
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, dict) and isinstance(first.get("runs"), list) and first["runs"]:
        first = first["runs"][0]
    if not isinstance(first, dict) or not isinstance(first.get("run_type"), str):
        return None
    if first.keys() & _MARKS and first.keys() & {"inputs", "outputs", "id"}:
        return Match("runs with run_type and dotted_order, trace_id or child_runs", specificity=3)
    return None


def read(records: Sequence[Record]) -> Iterator[Trace | LoadFailure]:
    """Read all runs of a file, a trace for each trace id."""
    runs: list[_Run] = []
    for record in records:
        try:
            runs += _flattened(record)
        except FormatError as error:
            reason = f"langsmith: {error}"
            yield LoadFailure(file=record.file, line=record.line, reason=reason)
    groups: dict[str | None, list[_Run]] = {}
    for run, trace_id in zip(runs, _trace_ids(runs), strict=True):
        groups.setdefault(trace_id, []).append(run)
    for trace_id, group in groups.items():
        yield _trace(trace_id, _once(group))


def _flattened(record: Record) -> Iterator[_Run]:
    value = record.value
    listed = value.get("runs") if isinstance(value, dict) and "run_type" not in value else None
    pending: list[tuple[Any, str | None, str | None]] = [
        (run, None, None) for run in reversed(listed if isinstance(listed, list) else [value])
    ]
    while pending:
        run, trace, parent = pending.pop()
        if not isinstance(run, dict) or not isinstance(run.get("run_type"), str):
            raise FormatError(f"a run must be an object with a run_type (got {describe(run)})")
        trace = normalised_id(run.get("trace_id")) or trace
        parent = normalised_id(run.get("parent_run_id")) or parent
        yield _Run(run, record, trace, parent)
        children = run.get("child_runs")
        if isinstance(children, list):
            own = normalised_id(run.get("id"))
            pending += [(child, trace, own) for child in reversed(children)]


def _trace_ids(runs: list[_Run]) -> list[str | None]:
    """Return each run's trace id; without one it is the id of the run at its root."""
    by_id = {normalised_id(run.value.get("id")): run for run in runs}
    found: list[str | None] = []
    for run in runs:
        at, seen = run, {id(run)}
        while at.trace is None and at.parent in by_id and id(by_id[at.parent]) not in seen:
            at = by_id[at.parent]
            seen.add(id(at))
        found.append(at.trace or at.parent or normalised_id(at.value.get("id")))
    return found


def _once(runs: list[_Run]) -> list[_Run]:
    """Leave out what a file holds twice, as a run of its own and inside of another."""
    kept: dict[str | None, list[Json]] = {}
    left: list[_Run] = []
    for run in runs:
        own = {k: v for k, v in run.value.items() if k not in _PLACES}
        alike = kept.setdefault(normalised_id(run.value.get("id")), [])
        if own not in alike:
            alike.append(own)
            left.append(run)
    return left


def _trace(trace_id: str | None, runs: list[_Run]) -> Trace:
    records = list({id(run.record): run.record for run in runs}.values())
    first = records[0]
    many = len(records) > 1
    digest = digest_bytes(*(r.data for r in records)) if many else source_digest(first.data)
    source = Source(first.file, first.line, "langsmith", digest)
    parts = [_split(run.value) for run in runs]
    labels = {
        normalised_id(run.value.get("id")) or "run": held
        for run, (_, held) in zip(runs, parts, strict=True)
        if held
    }
    root = next((at for at, run in enumerate(runs) if run.parent is None), 0)
    extra = parts[root][0].get("extra")
    metadata = extra.get("metadata") if isinstance(extra, dict) else None
    pending = runs[root].value.get("status") == "pending"
    return build(
        source,
        trace_id,
        [_span(run, rest, trace_id) for run, (rest, _) in zip(runs, parts, strict=True)],
        metadata=metadata if isinstance(metadata, dict) else {},
        labels={"runs": labels} if labels else {},
        flags=["truncated"] if pending else [],
    )


def _split(run: Json) -> tuple[Json, Json]:
    return split({k: v for k, v in run.items() if k not in _PLACED}, key=_is_label)


def _is_label(key: str) -> bool:
    return key in _LABELS or key.startswith("ls_example_") or is_label(key)


def _span(run: _Run, rest: Json, trace_id: str | None) -> Span:
    value = run.value
    kind = TYPES.get(value["run_type"].lower(), SPAN)
    name = value.get("name")
    made = Span(
        _name(normalised_id(value.get("id")), trace_id),
        name if isinstance(name, str) and name else value["run_type"],
        kind,
        _name(run.parent, trace_id),
        nanoseconds(value.get("start_time")),
        nanoseconds(value.get("end_time")),
        order=normalised_id(value.get("dotted_order")),
    )
    given, returned = opened(value.get("inputs")), opened(value.get("outputs"))
    if kind == TOOL:
        put_arguments(made, value.get("inputs"))
        _tool_result(made, returned)
    else:
        _messages(made, given, returned)
        if not made.heard:
            put(made, "input", value.get("inputs"))
        if not made.said:
            put(made, "output", value.get("outputs") or None)
    if kind == GENERATION:
        made.usage = _usage(value, returned)
    error = value.get("error")
    if error or value.get("status") == "error":
        made.error = error if isinstance(error, str) and error else made.error or "error"
        made.status = "error"
    made.rest = partial(_rest, rest, made, given, returned)
    return made


def _name(run_id: str | None, trace_id: str | None) -> str | None:
    """Return the id of a run's observation, which must not be that of its trace."""
    return f"{run_id}{ROOT}" if run_id is not None and run_id == trace_id else run_id


def _messages(made: Span, given: Any, returned: Any) -> None:
    if made.type != GENERATION:
        made.heard, made.said = passed_on(heard_in(given), said_in(returned, spoken=False))
        return
    prompts = given.get("prompts") if isinstance(given, dict) else None
    if isinstance(prompts, list):
        made.heard = messages_of(prompts) or []
    else:
        made.heard = heard_in(given)
    made.said = replies_of(returned) or [] if isinstance(returned, dict | list) else []


def _tool_result(made: Span, returned: Any) -> None:
    """Take in what a tool returned: the content of its tool message, else its output."""
    value = returned
    if isinstance(value, dict) and value.keys() == {"output"}:
        value = value["output"]
    held = value.get("kwargs", value) if isinstance(value, dict) else None
    if isinstance(held, dict) and "tool_call_id" in held and "content" in held:
        made.call_key = normalised_id(held["tool_call_id"])
        content = held["content"]
        made.error, made.status = declared_error(
            held, content if isinstance(content, str) else None
        )
        made.status = None if made.error is None else made.status
        put(made, "output", content)
    elif value not in (None, {}):
        put(made, "output", value)


def _usage(run: Mapping[str, Any], returned: Any) -> Json:
    output = returned.get("llm_output") if isinstance(returned, dict) else None
    counted = output.get("token_usage") if isinstance(output, dict) else None
    found: Json = {}
    for name, key in (("promptTokens", "prompt_tokens"), ("completionTokens", "completion_tokens")):
        told = number(run.get(key))
        if told is None and isinstance(counted, dict):
            told = number(counted.get(key))
        if told is not None:
            found[name] = told
    if number(run.get("total_cost")) is not None:
        found["costUsd"] = run["total_cost"]
    return found


def _rest(rest: Json, made: Span, given: Any, returned: Any) -> Json:
    """Return what a run holds beside the model: no text of its messages once more."""
    told = {text for said in (*made.heard, *made.said) for text in texts_of(said)}
    if isinstance(made.output_text, str):
        told.add(made.output_text)
    kept = {key: value for key, value in rest.items() if value not in (None, "", [], {})}
    beside = {k: v for k, v in given.items() if k not in _HEARD} if isinstance(given, dict) else {}
    for side, value, moved in (
        ("inputs", beside, bool(made.heard)),
        ("outputs", returned, bool(made.said) or made.type == TOOL),
    ):
        left = fresh(value, told)[0] if moved and isinstance(value, dict | list) else None
        if left:
            kept[side] = left
    return kept


FORMAT = Format("langsmith", "1", detect, read, whole_file=True)

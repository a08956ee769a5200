"""Inspect logs: {version, status, eval, plan, samples[]} as .json, or a .eval zip of the same.

One sample and epoch is one trace, read from the sample's messages; where it has none, from its
last model call. `attachment://` texts are put in their places, model inputs that are references
into a pool are looked up. Tool events give the times of calls, and calls of agents whose messages
are not the sample's. Target, scores and everything that a scorer did are labels. A tool message's
`error` is a declared one. What events only repeat is left out of `raw` and counted there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from helix.errors import FormatError
from helix.ingest.content import is_plain, text_of
from helix.ingest.conversation import Conversation
from helix.ingest.formats.inspect_events import Parts, parts_of
from helix.ingest.identity import derived_id, normalised_id
from helix.ingest.leakage import is_label, split
from helix.ingest.leftover import fresh
from helix.ingest.pairing import Result, declared_error
from helix.ingest.streams import EMPTY_LIST
from helix.ingest.usage import summed
from helix.model.canonical import source_digest
from helix.model.manifest import LoadFailure
from helix.model.trace import Source, Trace
from helix.registry import Format, Match, Record

RESULTS = ("results", "reductions")
_EVENTS = frozenset(
    {"events", "transcript", "attachments", "message_pool", "events_data", "messages"}
)
_PLACED = frozenset({"id", "role", "tool_call_id", "function"})
_CALL_KEYS = frozenset({"id", "function", "arguments", "type"})

Json = dict[str, Any]


def detect(value: Any) -> Match | None:
    """Recognise a log by its `eval` with a task, beside `status` and `plan` or `samples`."""
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict) or not isinstance(first.get("eval"), dict):
        return None
    known = "version" in first and ("plan" in first or "samples" in first)
    if known and ("task" in first["eval"] or "task_id" in first["eval"]):
        return Match("eval.task with version and samples[]", specificity=3)
    return None


def is_truth(key: str) -> bool:
    """Whether a key of a log or a sample names ground truth."""
    return key == "target" or is_label(key)


def read(records: Sequence[Record]) -> Iterator[Trace | LoadFailure]:
    """Read each sample of each record; a bad sample fails alone."""
    for record in records:
        log = record.value
        samples = log.get("samples") if isinstance(log, dict) else None
        if samples is not None and not isinstance(samples, list):
            raise FormatError("'samples' must be a list")
        if not isinstance(log, dict) or not samples:
            yield LoadFailure(file=record.file, line=record.line, reason=EMPTY_LIST)
            continue
        envelope = split(
            {k: v for k, v in log.items() if k != "samples"}, paths=RESULTS, key=is_truth
        )
        digest = source_digest(record.data)
        for at, sample in enumerate(samples):
            try:
                yield _trace(record, digest, envelope, sample)
            except FormatError as error:
                reason = f"inspect: samples[{at}]: {error}"
                yield LoadFailure(file=record.file, line=record.line, reason=reason)


def _trace(record: Record, digest: str, envelope: tuple[Json, Json], sample: Any) -> Trace:
    if not isinstance(sample, dict) or "id" not in sample:
        raise FormatError("a sample must be an object with an id")
    parts = parts_of(sample)
    about = _mapping(envelope[0], "eval")
    source = Source(record.file, record.line, "inspect", digest)
    talk = Conversation(source, _id(digest, about, sample))
    messages = parts.messages
    for at, message in enumerate(messages):
        _take(talk, normalised_id(message.get("id")) or f"m{at}", message, parts)
    _add_tools(talk, parts, messages)
    rest, labels = split({k: v for k, v in sample.items() if k not in _EVENTS}, key=is_truth)
    task, name = normalised_id(about.get("task")), normalised_id(sample["id"])
    trace = talk.finish(
        labels={**envelope[1], **labels, **parts.labels},
        usage=_usage(sample, parts),
        metadata=_mapping(rest, "metadata"),
        task=f"{task}/{name}" if task and name else name,
    )
    trace.raw = lambda: _left_over(envelope[0], rest, parts, trace)
    return trace


def _id(digest: str, about: Mapping[str, Any], sample: Json) -> str:
    """The sample's own id of this run; older logs have none, so run, sample and epoch make it."""
    own = normalised_id(sample.get("uuid"))
    run = normalised_id(about.get("eval_id")) or normalised_id(about.get("run_id"))
    epoch = normalised_id(sample.get("epoch")) or "1"
    name = normalised_id(sample["id"]) or "sample"
    return own or f"{run or derived_id(digest)}-{name}-{epoch}"


def _take(talk: Conversation, name: str, message: Json, parts: Parts) -> None:
    role = message.get("role")
    if not isinstance(role, str):
        raise FormatError(f"message {name} must have a role")
    content = message.get("content")
    if role == "tool":
        talk.result(_result(message, name, content))
        return
    talk.say(name, role, text_of(_spoken(content)))
    for call in _calls(message, name):
        key = normalised_id(call.get("id"))
        start, end = parts.times.get(key or "", (None, None))
        made = talk.call(key, _tool(call, name), call.get("arguments"), start=start, end=end)
        if call.get("parse_error"):
            made.flag("invalid-arguments")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and part.get("type") == "tool_use":
            error, status = declared_error(part, None)
            result = Result(text_of(part.get("result")), error=error, status=status)
            key = normalised_id(part.get("id"))
            talk.call(key, _tool(part, name), part.get("arguments"), result=result)


def _calls(message: Json, where: str) -> list[Json]:
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise FormatError(f"{where}: tool_calls must be a list of objects")
    return calls


def _tool(call: Json, where: str) -> str:
    for name in (call.get("function"), call.get("name")):
        if isinstance(name, str) and name:
            return name
    raise FormatError(f"{where}: a tool call must have a function")


def _spoken(content: Any) -> Any:
    """Return a message's content without its reasoning and without the calls in it."""
    if not isinstance(content, list):
        return content
    silent = ("reasoning", "tool_use")
    return [p for p in content if not isinstance(p, dict) or p.get("type") not in silent]


def _result(message: Json, name: str, content: Any) -> Result:
    text = text_of(content) or ""
    error, status = declared_error(message, text)
    tool = message.get("function")
    return Result(
        text=text,
        error=error,
        status=status,
        message_id=name,
        tool=tool if isinstance(tool, str) else None,
        key=normalised_id(message.get("tool_call_id")),
    )


def _add_tools(talk: Conversation, parts: Parts, messages: list[Json]) -> None:
    """Add the calls that only events know; their place among the messages is not known."""
    known = {normalised_id(c.get("id")) for m in messages for c in _calls(m, "a message")}
    known |= {normalised_id(message.get("tool_call_id")) for message in messages}
    for event in parts.tools:
        key = normalised_id(event.get("id"))
        if key in known:
            continue
        text = text_of(event.get("result"))
        error, status = declared_error(event, text)
        start, end = parts.times.get(key or "", (None, None))
        finished = event.get("completed") is not None or text is not None or error is not None
        talk.event(
            key or "tool",
            _tool(event, "a tool event"),
            Result(text, error=error, status=status),
            type="TOOL",
            arguments=event.get("arguments"),
            start=start,
            end=end,
        ).flag("ambiguous-order", *([] if finished else ["missing-result"]))


def _usage(sample: Json, parts: Parts) -> Json:
    """What the subject's model calls used, without a scorer's; else the sample's totals."""
    used = [_mapping(_mapping(event, "output"), "usage") for event in parts.models]
    if not any(used):
        used = [u for u in _mapping(sample, "model_usage").values() if isinstance(u, dict)]
    usage = summed(used, {"promptTokens": "input_tokens", "completionTokens": "output_tokens"})
    seconds = sample.get("total_time")
    if isinstance(seconds, int | float) and not isinstance(seconds, bool):
        usage["latencyMs"] = seconds * 1000
    return usage


def _mapping(holder: Mapping[str, Any], key: str) -> Json:
    value = holder.get(key)
    return value if isinstance(value, dict) else {}


def _left_over(envelope: Json, rest: Json, parts: Parts, trace: Trace) -> Json:
    """Return the log's header, the sample's further keys, its messages' and its events'."""
    told = {m.text for m in trace.transcript} | {m.id for m in trace.transcript}
    told |= {o.id for o in trace.observations}
    told |= {o.output_text for o in trace.observations if o.output_text}
    kept: Json = {"log": envelope}
    messages = {
        normalised_id(m.get("id")) or f"m{at}": _message_extra(m)
        for at, m in enumerate(parts.messages)
    }
    kept["messages"] = {name: extra for name, extra in messages.items() if extra}
    events, repeated = fresh(parts.kept, told)
    kept |= events
    sample, again = fresh({k: v for k, v in rest.items() if k != "metadata"}, told)
    kept["sample"] = sample
    kept["leftOut"] = {"repeatedTexts": repeated + again} if repeated + again else {}
    return {key: part for key, part in kept.items() if part not in (None, {}, [])}


def _message_extra(message: Json) -> Json:
    extra = {k: v for k, v in message.items() if k not in _PLACED and v not in (None, "", [], {})}
    if is_plain(message.get("content")):
        extra.pop("content", None)
    calls = extra.get("tool_calls")
    if isinstance(calls, list):
        further = [
            {"id": c.get("id"), **{k: v for k, v in c.items() if k not in _CALL_KEYS and v}}
            for c in calls
            if isinstance(c, dict)
        ]
        extra["tool_calls"] = [call for call in further if len(call) > 1]
        if not extra["tool_calls"]:
            extra.pop("tool_calls")
    return extra


FORMAT = Format("inspect", "1", detect, read)

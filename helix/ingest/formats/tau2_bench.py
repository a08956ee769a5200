"""tau2-bench results: one document with `simulations`, each of them one trace.

Messages are chat messages whose calls are flat ({id, name, arguments, requestor}) and whose
results carry the call's id as their own and an error flag; the simulated user calls tools too
(its calls stand in its own messages). `reward_info`, reviews and the tasks are labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from helix.errors import FormatError
from helix.ingest.formats.openai_chat import conversation, is_messages
from helix.ingest.identity import normalised_id
from helix.ingest.leakage import is_label, split
from helix.ingest.usage import summed
from helix.model.canonical import canonical_bytes
from helix.model.trace import Trace
from helix.registry import Format, Match, Record

_METADATA = ("trial", "seed", "termination_reason", "start_time", "end_time", "timestamp")
_LABELS = frozenset({"review", "user_only_review", "auth_classification", "hallucination_check"})
_TOKENS = {"promptTokens": "prompt_tokens", "completionTokens": "completion_tokens"}


def detect(value: Any) -> Match | None:
    """Recognise a results document by its simulations, or one simulation by its messages."""
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict):
        return None
    runs = first.get("simulations")
    if isinstance(runs, list) and "tasks" in first and all(map(_is_simulation, runs[:3])):
        return Match("tasks and simulations[] of messages", specificity=3)
    if _is_simulation(first) and "termination_reason" in first:
        return Match("a simulation: task_id, termination_reason and messages[]", specificity=3)
    return None


def _is_simulation(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and "task_id" in value
        and isinstance(value.get("messages"), list)
        and (not value["messages"] or is_messages(value["messages"]))
    )


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Read each simulation of each record as one trace, named by its own id."""
    for record in records:
        value = record.value
        if isinstance(value, dict) and isinstance(value.get("simulations"), list):
            yield from _document(record, value, value["simulations"])
        elif _is_simulation(value):
            yield _trace(record, value, {}, None)
        else:
            raise FormatError("a result must be an object with simulations[] or messages[]")


def _document(record: Record, value: Mapping[str, Any], runs: list[Any]) -> Iterator[Trace]:
    listed = value.get("tasks")
    tasks = {
        normalised_id(task.get("id")): task
        for task in (listed if isinstance(listed, list) else ())
        if isinstance(task, dict)
    }
    shared = {k: item for k, item in value.items() if k not in ("simulations", "tasks")}
    for at, run in enumerate(runs):
        if not isinstance(run, dict) or not isinstance(run.get("messages"), list):
            raise FormatError(f"simulations[{at}] must be an object with a list 'messages'")
        # Each trace needs a digest of its own; the document's bytes are those of all.
        part = Record(run, canonical_bytes(run), record.file, record.line, record.strict)
        yield _trace(part, run, shared, tasks.get(normalised_id(run.get("task_id"))))


def _trace(
    record: Record, run: dict[str, Any], shared: Mapping[str, Any], task: dict[str, Any] | None
) -> Trace:
    messages = run["messages"]
    envelope = {k: v for k, v in run.items() if k not in ("messages", *_METADATA)}
    rest, labels = split({**shared, **envelope}, key=_is_label)
    return conversation(
        record,
        "tau2_bench",
        [_message(message) for message in messages],
        normalised_id(run.get("id")),
        rest,
        metadata={key: run[key] for key in _METADATA if run.get(key) is not None},
        labels={**labels, **({} if task is None else {"task": task})},
        usage=_usage(run, messages),
        task=normalised_id(run.get("task_id")),
    )


def _is_label(key: str) -> bool:
    return is_label(key) or key in _LABELS


def _message(message: Any) -> Any:
    """A result names its call where chat messages do; an error flag is declared as they do it."""
    if not isinstance(message, dict) or message.get("role") != "tool":
        return message
    return {**message, "tool_call_id": message.get("tool_call_id", message.get("id"))}


def _usage(run: Mapping[str, Any], messages: list[Any]) -> dict[str, Any]:
    """What the agent used, where the messages tell; the cost is the run's own figure."""
    told = [
        m["usage"]
        for m in messages
        if isinstance(m, dict) and m.get("role") == "assistant" and isinstance(m.get("usage"), dict)
    ]
    usage = summed(told, _TOKENS)
    if isinstance(run.get("agent_cost"), int | float):
        usage["costUsd"] = run["agent_cost"]
    return usage


FORMAT = Format("tau2_bench", "1", detect, read)

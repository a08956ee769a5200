"""tau-bench results: runs of {task_id, trial, reward, info, traj}, `traj` being chat messages.

The reward and everything that says what a right answer is (the task's actions and outputs, the
instruction that the simulated user holds) are labels. Errors of tools are text that starts with
`Error:`; nothing declares them. Call ids repeat inside one run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from helix.errors import FormatError
from helix.ingest.formats.openai_chat import conversation, is_messages
from helix.ingest.identity import normalised_id
from helix.ingest.leakage import split
from helix.model.trace import Trace
from helix.registry import Format, Match, Record

LABELS = ("info.task",)


def detect(value: Any) -> Match | None:
    """Recognise runs by task_id, traj and trial or reward, without numbered messages."""
    first = value[0] if isinstance(value, list) and value else value
    if is_run(first) and not is_numbered(first["traj"]):
        return Match("task_id, reward and traj[] of chat messages", specificity=2)
    return None


def is_run(value: Any) -> bool:
    """Whether a value is one run in the shape of tau-bench; a crashed one has an empty traj."""
    return (
        isinstance(value, dict)
        and "task_id" in value
        and ("trial" in value or "reward" in value)
        and isinstance(value.get("traj"), list)
        and (not value["traj"] or is_messages(value["traj"]))
    )


def is_numbered(messages: list[Any]) -> bool:
    """Whether every message carries its own index."""
    return bool(messages) and all(isinstance(m.get("index"), int) for m in messages[:3])


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Read each record as one run, `<task_id>-<trial>`."""
    for record in records:
        task = task_of(record.value)
        trial = normalised_id(record.value.get("trial"))
        yield run(record, "tau_bench", f"{task}-{trial}" if task and trial else task)


def task_of(value: Any) -> str | None:
    """Return the task's id as text; raise FormatError for what is no run at all."""
    if not isinstance(value, dict) or not isinstance(value.get("traj"), list):
        raise FormatError("a run must be an object with task_id and a list 'traj'")
    return normalised_id(value.get("task_id"))


def run(record: Record, format_name: str, trace_id: str | None) -> Trace:
    """Return the trace of one run, its labels set apart."""
    envelope = {key: value for key, value in record.value.items() if key != "traj"}
    rest, labels = split(envelope, paths=LABELS)
    return conversation(
        record,
        format_name,
        record.value["traj"],
        trace_id,
        rest,
        labels=labels,
        task=task_of(record.value),
    )


FORMAT = Format("tau_bench", "1", detect, read)

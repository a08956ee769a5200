"""A question set down as a file, for a person or a coding agent to answer (METHOD 38).

Long texts are lists of lines, so that the file can be read as it lies there; joined by newlines
they are the messages that a model would be sent.
"""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec

from helix.model.request import Axis, Message, Pin, Request, Role, Unit
from helix.model.verdict import Shape

TASK_SCHEMA_VERSION = "1.0"
TaskKind = Literal["judge", "verifier", "discover"]
KINDS: dict[Role, TaskKind] = {"judge": "judge", "verifier": "verifier", "determiner": "discover"}
ROLES = {kind: role for role, kind in KINDS.items()}


class TaskUnit(Shape, frozen=True, kw_only=True):
    """What a task is about."""

    kind: TaskKind
    """Whether it judges, refutes, or determines for discover (METHOD 38)."""
    axis: Axis
    """Whether it asks about a whole trace, one criterion, or a code change."""
    criterion_id: str | None = None
    """The row, where it asks about one alone; else null."""
    trace_id: str
    trace_digest: str
    criteria: tuple[str, ...]
    """The ids of the rows that it asks about, in their order."""
    criteria_digest: str
    """SHA-256 of what those rows say."""
    replicate: int
    attempt: int


class TaskMessage(Shape, frozen=True, kw_only=True):
    """One further message of a task that asks again."""

    role: Literal["system", "user", "assistant"]
    """assistant: an earlier answer; user: what was wrong with it."""
    text: tuple[str, ...]
    """The text, line by line."""


class JudgeTask(Shape, frozen=True, kw_only=True):
    """One question to whoever judges or verifies, as a file."""

    schema_version: str = msgspec.field(default_factory=lambda: TASK_SCHEMA_VERSION)
    key: str
    """The digest of all that can change the answer, so that none meets another question."""
    unit: TaskUnit
    """What it is about."""
    answer: str
    """The path of the file that is to hold the answer."""
    nonce: str
    not_by: tuple[str, ...] = ()
    """Who may not answer, by name: the question is about their own answers (METHOD 47)."""
    pin: Pin
    """Which model is wanted, under what."""
    user: tuple[str, ...]
    """The question, line by line."""
    again: tuple[TaskMessage, ...] = ()
    """What was answered before and what was wrong with it, where it asks again."""
    system: tuple[str, ...]
    """The rubric, line by line."""
    reply_schema: dict[str, Any] | None = None
    """The JSON Schema of the answer; null asks for free text."""


def task_of(request: Request, key: str, answer: str) -> JudgeTask:
    """Return the task of a request; `answer` is the path of the file that is to answer it."""
    unit = request.unit
    first = 1 if request.messages and request.messages[0].role == "system" else 0
    system, rest = request.messages[:first], request.messages[first:]
    return JudgeTask(
        key=key,
        unit=TaskUnit(
            kind=KINDS[unit.role],
            axis=unit.axis,
            criterion_id=unit.criteria[0] if unit.axis == "criterion" else None,
            trace_id=unit.trace_id,
            trace_digest=unit.trace_digest,
            criteria=unit.criteria,
            criteria_digest=unit.criteria_digest,
            replicate=unit.replicate,
            attempt=unit.attempt,
        ),
        answer=answer,
        nonce=request.nonce,
        not_by=request.not_by,
        pin=request.pin,
        system=_lines(system[0].content) if system else (),
        user=_lines(rest[0].content) if rest else (),
        again=tuple(TaskMessage(role=m.role, text=_lines(m.content)) for m in rest[1:]),
        reply_schema=request.reply_schema,
    )


def request_of(task: JudgeTask) -> Request:
    """Return the request that a task sets down, to see whether it was changed."""
    about = task.unit
    unit = Unit(
        role=ROLES[about.kind],
        axis=about.axis,
        trace_id=about.trace_id,
        trace_digest=about.trace_digest,
        criteria=about.criteria,
        criteria_digest=about.criteria_digest,
        replicate=about.replicate,
        attempt=about.attempt,
    )
    messages = [Message("system", "\n".join(task.system))] if task.system else []
    messages += [Message("user", "\n".join(task.user))] if task.user else []
    messages += [Message(m.role, "\n".join(m.text)) for m in task.again]
    return Request(unit, task.pin, tuple(messages), task.nonce, task.reply_schema, task.not_by)


def task_page(task: JudgeTask) -> bytes:
    """Return a task as the file that people read: texts line by line, all else on one line."""
    fields = msgspec.to_builtins(task)
    parts = [f"  {_json(name)}: {_block(value)}" for name, value in fields.items()]
    text = "{\n" + ",\n".join(parts) + "\n}\n"
    return text.encode("utf-8", "backslashreplace")


def _block(value: Any) -> str:
    if isinstance(value, list | tuple) and value:
        return "[\n    " + ",\n    ".join(map(_item, value)) + "\n  ]"
    return _json(value)


def _item(value: Any) -> str:
    if isinstance(value, dict):
        lines = ",\n        ".join(map(_json, value["text"]))
        return f'{{"role": {_json(value["role"])}, "text": [\n        {lines}\n    ]}}'
    return _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.split("\n"))

"""Who&When: multi-agent runs that failed, with the mistake that a person found in each.

{history[{content, role, name}], question, question_ID, …}. There are messages only: a message's
id is `m` and its position from 0, which is how `mistake_step` (a text) counts. Its role is who
spoke: the agent's name where the source has one, `user` for the person (`human` in the source).
What agents told each other about calls stays text; `TERMINATE` is control.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from helix.errors import FormatError
from helix.ingest.content import is_plain, text_of
from helix.ingest.conversation import Conversation
from helix.ingest.identity import normalised_id
from helix.ingest.leakage import is_label, split
from helix.model.canonical import source_digest
from helix.model.trace import Source, Trace
from helix.registry import Format, Match, Record

_MISTAKES = frozenset({"mistake_agent", "mistake_step", "mistake_reason"})
_STOP = "TERMINATE"
_READ = frozenset({"history", "question", "question_ID"})


def detect(value: Any) -> Match | None:
    """Recognise a run by its history, its question and the mistake that is told of it."""
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict) or not isinstance(first.get("question"), str):
        return None
    history = first.get("history")
    if not isinstance(history, list) or not all(map(_is_message, history[:3])):
        return None
    marks = sorted(first.keys() & (_MISTAKES | {"ground_truth", "question_ID"}))
    if not marks:
        return None
    return Match(f"question, history[] of messages, {', '.join(marks)}", specificity=2)


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and "content" in value and "role" in value


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Read each record as one run, named by its question."""
    for record in records:
        value = record.value
        if not isinstance(value, dict) or not isinstance(value.get("history"), list):
            raise FormatError("a run must be an object with a list 'history'")
        yield _run(record, value, value["history"])


def _run(record: Record, value: dict[str, Any], history: list[Any]) -> Trace:
    source = Source(record.file, record.line, "who_and_when", source_digest(record.data))
    question_id = normalised_id(value.get("question_ID"))
    talk = Conversation(source, question_id)
    said: str | None = None
    kept: dict[str, Any] = {}
    for at, message in enumerate(history):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise FormatError(f"history[{at}] must be an object with a role")
        text = text_of(message.get("content"))
        role, ends = _speaker(message), (text or "").strip() == _STOP
        talk.say(f"m{at}", role, text, control=ends)
        said = said if ends else text
        extra = _extra(message, role)
        if extra:
            kept[f"m{at}"] = extra
    envelope = {key: item for key, item in value.items() if key not in _READ}
    rest, labels = split(envelope, key=_is_label)
    question = value.get("question")
    return talk.finish(
        input={} if question is None else {"prompt": question},
        output={} if said is None else {"response": said},
        raw={**rest, **({"messages": kept} if kept else {})},
        labels=labels,
        task=question_id,
    )


def _speaker(message: Mapping[str, Any]) -> str:
    name, role = message.get("name"), str(message["role"])
    if isinstance(name, str) and name:
        return name
    return "user" if role == "human" else role


def _extra(message: Mapping[str, Any], role: str) -> dict[str, Any]:
    said = {"role": role, "name": role, "content": message.get("content")}
    extra = {key: value for key, value in message.items() if said.get(key) != value}
    if not is_plain(message.get("content")):
        extra["content"] = message["content"]
    return extra


def _is_label(key: str) -> bool:
    return is_label(key) or key.startswith("mistake_") or key == "is_corrected"


FORMAT = Format("who_and_when", "1", detect, read)

"""trajectory-judge runs: {trajectory_id, goal, steps[], final_answer, label}.

A step is a thought (message `m<index>`) and a call with its observation (`s<index>`, one TOOL
observation whose output is the observation's `data`); `ok: false` with `error` is a declared
error. `failure_step` in the label counts as the index does, from 0. A trajectory_id that spells
the label out (`…-clean`, `…-silent_error`) is a label too: such a trace is named by its instance
and its digest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from helix.errors import FormatError
from helix.ingest.conversation import Conversation
from helix.ingest.identity import DERIVED_DIGITS, normalised_id
from helix.ingest.pairing import NOT_RECORDED, Result
from helix.model.canonical import source_digest
from helix.model.trace import Source, Trace
from helix.registry import Format, Match, Record

_READ = frozenset({"trajectory_id", "instance_id", "goal", "steps", "final_answer", "label"})
_STEP_READ = frozenset({"index", "thought", "call", "observation"})
_CALL_READ = frozenset({"tool", "args"})
_SEEN_READ = frozenset({"ok", "data", "error"})


def detect(value: Any) -> Match | None:
    """Recognise a trajectory by its id, its goal and steps of call and observation."""
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict) or "trajectory_id" not in first or "goal" not in first:
        return None
    steps = first.get("steps")
    if not isinstance(steps, list) or not all(map(_is_step, steps[:3])):
        return None
    return Match("trajectory_id, goal and steps[] of call and observation", specificity=2)


def _is_step(value: Any) -> bool:
    return isinstance(value, dict) and {"call", "observation"} <= value.keys()


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Read each record as one run."""
    for record in records:
        value = record.value
        if not isinstance(value, dict) or not isinstance(value.get("steps"), list):
            raise FormatError("a trajectory must be an object with a list 'steps'")
        yield _run(record, value, value["steps"])


def _run(record: Record, value: dict[str, Any], steps: list[Any]) -> Trace:
    source = Source(record.file, record.line, "trajectory_judge", source_digest(record.data))
    label, name = value.get("label"), normalised_id(value.get("trajectory_id"))
    labels = {} if label is None else {"label": label}
    task = normalised_id(value.get("instance_id"))
    flags: tuple[str, ...] = ()
    if name is not None and _tells(name, label):
        labels["trajectory_id"], flags = name, ("derived-id",)
        name = f"{task or 'trace'}-{source.digest[:DERIVED_DIGITS]}"
    talk = Conversation(source, name)
    if isinstance(value.get("goal"), str):
        talk.say("goal", "user", value["goal"])
    kept: dict[str, Any] = {}
    for at, step in enumerate(steps):
        if not isinstance(step, dict):
            raise FormatError(f"steps[{at}] must be an object")
        extra = _step(talk, step, at)
        if extra:
            kept[f"s{_index(step, at)}"] = extra
    if isinstance(value.get("final_answer"), str):
        talk.say("final_answer", "assistant", value["final_answer"])
    rest = {key: item for key, item in value.items() if key not in _READ}
    return talk.finish(
        raw={**rest, **({"steps": kept} if kept else {})}, labels=labels, task=task, flags=flags
    )


def _tells(name: str, label: Any) -> bool:
    """Whether an id spells out what the label says of the run."""
    kind = label.get("failure_type") if isinstance(label, dict) else None
    return name.endswith("-clean") or (isinstance(kind, str) and bool(kind) and kind in name)


def _index(step: Mapping[str, Any], at: int) -> int:
    index = step.get("index")
    return index if isinstance(index, int) else at


def _step(talk: Conversation, step: Mapping[str, Any], at: int) -> dict[str, Any]:
    """Add one step; return what it holds beside the model."""
    where = _index(step, at)
    thought = step.get("thought")
    talk.say(f"m{where}", "assistant", thought if isinstance(thought, str) else None)
    extra = {key: value for key, value in step.items() if key not in _STEP_READ}
    call, seen = step.get("call"), step.get("observation")
    if call is None:
        return {**extra, **({} if seen is None else {"observation": seen})}
    if not isinstance(call, dict) or not isinstance(call.get("tool"), str):
        raise FormatError(f"steps[{at}].call must be an object with a tool")
    key = f"s{where}"
    talk.call(key, call["tool"], call.get("args"))
    if isinstance(seen, dict):
        talk.result(_result(seen, key))
        unread = {k: v for k, v in seen.items() if k not in _SEEN_READ}
        extra |= {"observation": unread} if unread else {}
    elif seen is not None:
        talk.result(Result(text=str(seen), key=key))
    unread = {k: v for k, v in call.items() if k not in _CALL_READ}
    return {**extra, **({"call": unread} if unread else {})}


def _result(seen: Mapping[str, Any], key: str) -> Result:
    error = seen.get("error")
    told = None if error is None else str(error)
    failed = seen.get("ok") is False
    data = seen.get("data")
    text = data if isinstance(data, str) else None
    return Result(
        text=text,
        value=NOT_RECORDED if data is None or text is not None else data,
        error=(told or "error") if failed or told else None,
        status="error" if failed or told else None,
        key=key,
    )


FORMAT = Format("trajectory_judge", "1", detect, read)

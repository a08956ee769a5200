"""Copies of a trace that differ in one thing; what stays the same is shared, never changed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable
from dataclasses import fields, replace
from typing import Any

from helix.model.trace import Message, Observation, Trace

Steps = tuple[str | int, ...]
_KEPT: Any = object()


def rebuilt(trace: Trace, **changes: Any) -> Trace:
    """Return a copy with some fields changed."""
    held = {field.name: getattr(trace, field.name) for field in fields(Trace)}
    return Trace(**{**held, "_parts": None, **changes})


def without(trace: Trace, ids: Collection[str]) -> Trace:
    """Return a copy without some calls and messages; no message names a call that is gone."""
    return rebuilt(
        trace,
        observations=[o for o in trace.observations if o.id not in ids],
        transcript=[_unnamed(m, ids) for m in trace.transcript if m.id not in ids],
    )


def with_call(trace: Trace, call: Observation, **changes: Any) -> Trace:
    """Return a copy in which one call has other arguments, another result, or another place."""
    made = changed(call, **changes)
    observations = [made if o is call else o for o in trace.observations]
    return rebuilt(trace, observations=sorted(observations, key=lambda o: o.seq))


def changed(
    call: Observation, *, input: Any = _KEPT, output: Any = _KEPT, **others: Any
) -> Observation:
    """Return a copy of a call; arguments and result are given decoded."""
    return Observation(
        others.get("id", call.id),
        others.get("seq", call.seq),
        call.name,
        call.type,
        input=call.input if input is _KEPT else input,
        input_text=call.input_text if input is _KEPT else None,
        output=call.output if output is _KEPT else output,
        output_text=call.output_text if output is _KEPT else None,
        error=call.error,
        level=call.level,
        status=call.status,
        start_time=others.get("start_time", call.start_time),
        end_time=others.get("end_time", call.end_time),
        parent_id=others.get("parent_id", call.parent_id),
        flags=call.flags,
    )


def repeated(trace: Trace, call: Observation) -> Trace:
    """Return a copy in which a call is made once more, right after all that it was made with."""
    after = max([call.seq, *(o.seq for o in trace.observations if o.beside(call))])
    again = changed(
        call, id=f"{call.id}#again", seq=after + 1, parent_id=None, start_time=None, end_time=None
    )
    later: Callable[[int], int] = lambda seq: seq + (seq > after)  # noqa: E731
    observations = [changed(o, seq=later(o.seq)) for o in trace.observations]
    transcript = [replace(m, seq=later(m.seq)) for m in trace.transcript]
    observations = sorted([*observations, again], key=lambda o: o.seq)
    return rebuilt(trace, observations=observations, transcript=transcript)


def until(trace: Trace, seq: int) -> Trace:
    """Return a copy that ends after a `seq`, without an output."""
    left = {o.id for o in trace.observations if o.seq > seq}
    left |= {m.id for m in trace.transcript if m.seq > seq}
    return rebuilt(without(trace, left), output={})


def rewording(trace: Trace, edit: Callable[[str], str]) -> Trace | None:
    """Return a copy whose final reply reads differently; None where there is no reply."""
    output = trace.output
    reply = output.get("response") if isinstance(output, dict) else None
    transcript = list(trace.transcript)
    at = _last(transcript, "assistant")
    if at is not None and transcript[at].text.strip():
        transcript[at] = replace(transcript[at], text=edit(transcript[at].text))
    elif not isinstance(reply, str):
        return None
    if isinstance(reply, str) and isinstance(output, dict):
        output = {**output, "response": edit(reply)}
    return rebuilt(trace, output=output, transcript=transcript)


def put(value: Any, steps: Steps, new: Any) -> Any:
    """Return a copy of a JSON value with another one at these steps."""
    if not steps:
        return new
    made = copy.copy(value)
    made[steps[0]] = put(value[steps[0]], steps[1:], new)
    return made


def leaves(value: Any, depth: int = 4) -> Iterable[tuple[Steps, Any]]:
    """Yield every text, number and boolean of a JSON value with the steps to it."""
    pairs: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    elif value is not None:
        yield (), value
    if depth:
        for key, item in pairs:
            for steps, leaf in leaves(item, depth - 1):
                yield (key, *steps), leaf


def _unnamed(message: Message, ids: Collection[str]) -> Message:
    if not any(name in ids for name in message.observation_ids):
        return message
    kept = tuple(name for name in message.observation_ids if name not in ids)
    return replace(message, observation_ids=kept)


def _last(transcript: list[Message], role: str) -> int | None:
    found = [at for at, m in enumerate(transcript) if m.role == role and not m.control]
    return found[-1] if found else None

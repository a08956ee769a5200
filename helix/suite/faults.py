"""Known faults that can be put into a healthy trace, each at the places where it is one.

A fault names its kind. It has no place in a trace in which it would change nothing, and none that
it could not be told from health: reading twice is no fault, nor are two parallel calls swapped.
A silent fault leaves no sign of failure in the trace; a loud one does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from helix.checks.success import Outcomes
from helix.model.canonical import canonical_text
from helix.model.jsontext import NonFinite
from helix.model.trace import Observation, Trace
from helix.suite.altered import (
    changed,
    leaves,
    put,
    rebuilt,
    repeated,
    rewording,
    until,
    with_call,
    without,
)

_LONGEST = 80
_NEAR = 8
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_READING = re.compile(
    r"(?i)(?:get|list|search|find|read|look|lookup|check|fetch|query|calculate|compute|think|view|show|load|"
    r"describe|review|retrieve|count|verify|validate|inspect|open|grep|cat)(?![a-z])"
)
_YES = re.compile(
    r"(?i)\b(?:yes|yeah|yep|sure|okay|ok|confirm|confirmed|go ahead|please do|proceed|agreed|"
    r"absolutely|that works|sounds good)\b"
)
_STATES = ("status", "state", "result")
_CLAIMS = {
    "cancel": "I have also cancelled your subscription.",
    "refund": "I have also refunded the shipping fee.",
    "update": "I have also updated your postal address.",
    "book": "I have also booked a courier for you.",
}
_DONE = "All done, everything went through as planned."
_SPEAKING = re.compile(r"(?i)reply|respond|answer|send|message|mail|notify|say|talk")
_VALUES = ("9417.36", "QX-70713", "2031-02-17")


@dataclass(frozen=True, slots=True)
class Site:
    """A place where a fault can be put, in words, and the trace that has it there."""

    where: str
    make: Callable[[], Trace]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault: its name, the kind of fault it makes, whether it is silent, and its sites."""

    name: str
    kind: str
    silent: bool
    sites: Callable[[Trace], Iterator[Site]]


def _drop_call(trace: Trace) -> Iterator[Site]:
    for call in trace.tools():
        yield Site(_named(call), partial(without, trace, {call.id}))


def _swap_calls(trace: Trace) -> Iterator[Site]:
    made = trace.tools()
    for at, first in enumerate(made):
        for second in made[at + 1 : at + 1 + _NEAR]:
            if first.name != second.name and not first.beside(second):
                where = f"{_named(first)} and {_named(second)}"
                yield Site(where, partial(_swapped, trace, first, second))


def _swapped(trace: Trace, first: Observation, second: Observation) -> Trace:
    traded = {id(first): _at(first, second), id(second): _at(second, first)}
    observations = [traded.get(id(o), o) for o in trace.observations]
    names = {first.id: second.id, second.id: first.id}
    transcript = [_renamed(message, names) for message in trace.transcript]
    return rebuilt(
        trace, observations=sorted(observations, key=lambda o: o.seq), transcript=transcript
    )


def _change_argument(trace: Trace) -> Iterator[Site]:
    for call in trace.tools():
        for steps, value in leaves(call.input):
            other = _other(value)
            if other is not None:
                make = partial(with_call, trace, call, input=put(call.input, steps, other))
                yield Site(f"{_path(steps)} of {_named(call)}", make)


def _malform_argument(trace: Trace) -> Iterator[Site]:
    for call in trace.tools():
        for steps, value in leaves(call.input):
            broken = _malformed(value)
            if broken is not None:
                make = partial(with_call, trace, call, input=put(call.input, steps, broken))
                yield Site(f"{_path(steps)} of {_named(call)}", make)


def _drop_argument(trace: Trace) -> Iterator[Site]:
    for call in trace.tools():
        if isinstance(call.input, dict):
            for key in call.input:
                rest = {name: value for name, value in call.input.items() if name != key}
                make = partial(with_call, trace, call, input=rest)
                yield Site(f"{_path((key,))} of {_named(call)}", make)


def _flip_flag(trace: Trace) -> Iterator[Site]:
    for call in trace.tools():
        for steps, value in leaves(call.output, depth=2):
            state = bool(steps) and steps[-1] in _STATES and isinstance(value, str)
            if isinstance(value, bool) or (state and value != "failed"):
                other = (not value) if isinstance(value, bool) else "failed"
                make = partial(with_call, trace, call, output=put(call.output, steps, other))
                yield Site(f"{_path(steps)} in the result of {_named(call)}", make)


def _drop_recovery(trace: Trace) -> Iterator[Site]:
    outcomes = Outcomes(trace, ())
    made = trace.tools()
    for call in made:
        last = made[-1]
        if last is call or last.beside(call) or outcomes.of(call).state != "fail":
            continue
        yield Site(f"all calls after {_named(call)}, which failed", partial(_given_up, trace, call))


def _given_up(trace: Trace, failed: Observation) -> Trace:
    later = {o.id for o in trace.tools() if o.seq > failed.seq and not o.beside(failed)}
    return without(trace, later)


def _duplicate_write(trace: Trace) -> Iterator[Site]:
    return _repeated(trace, writes=True)


def _repeat_lookup(trace: Trace) -> Iterator[Site]:
    return _repeated(trace, writes=False)


def _repeated(trace: Trace, *, writes: bool) -> Iterator[Site]:
    outcomes = Outcomes(trace, ())
    for call in trace.tools():
        if _writes(call.name) is writes and outcomes.of(call).state == "pass":
            yield Site(_named(call), partial(repeated, trace, call))


def _invent_claim(trace: Trace) -> Iterator[Site]:
    done = " ".join(call.name for call in trace.tools()).casefold()
    for verb, sentence in _CLAIMS.items():
        if verb not in done:
            yield from _reworded(trace, partial(_adding, sentence), f"“{sentence}” in")


def _invent_value(trace: Trace) -> Iterator[Site]:
    known = canonical_text(trace.to_dict())
    for value in _VALUES:
        if value not in known:
            sentence = f"For your records, the reference is {value}."
            yield from _reworded(trace, partial(_adding, sentence), f"“{sentence}” in")


def _hide_failure(trace: Trace) -> Iterator[Site]:
    outcomes = Outcomes(trace, ())
    if any(outcomes.of(call).state == "fail" for call in trace.tools()):
        yield from _reworded(trace, lambda text: _DONE, f"“{_DONE}” for")


def _reworded(trace: Trace, edit: Callable[[str], str], where: str) -> Iterator[Site]:
    """Yield the reply: the final one, and what the last call of a tool that speaks says."""
    made = rewording(trace, edit)
    for call in [c for c in trace.tools() if _SPEAKING.search(c.name)][-1:]:
        texts = [pair for pair in leaves(call.input) if isinstance(pair[1], str)]
        steps, text = max(texts, key=lambda pair: len(pair[1]), default=((), ""))
        if " " in text:
            made = with_call(made or trace, call, input=put(call.input, steps, edit(text)))
    if made is not None:
        yield Site(f"{where} the reply", partial(rebuilt, made))


def _adding(sentence: str, text: str) -> str:
    return f"{text} {sentence}"


def _remove_confirmation(trace: Trace) -> Iterator[Site]:
    users = [m for m in trace.transcript if m.role == "user" and not m.control]
    for message in users[1:]:
        if _YES.search(message.text):
            yield Site(f"{message.id} (user)", partial(without, trace, {message.id}))


def _truncate(trace: Trace) -> Iterator[Site]:
    ends = sorted({*(o.seq for o in trace.observations), *(m.seq for m in trace.transcript)})
    for seq in ends[:-1]:
        yield Site(f"after seq {seq}", partial(until, trace, seq))


FAULTS = (
    Fault("drop-call", "a step is left out", True, _drop_call),
    Fault("swap-calls", "two steps are made in the wrong order", True, _swap_calls),
    Fault("change-argument", "a call is made with a wrong value", True, _change_argument),
    Fault("malform-argument", "a call is made with a malformed value", True, _malform_argument),
    Fault("drop-argument", "a call is made without a value", True, _drop_argument),
    Fault("flip-flag", "a call's result says the opposite", False, _flip_flag),
    Fault("drop-recovery", "nothing is done after a failed call", False, _drop_recovery),
    Fault("duplicate-write", "something is done twice", True, _duplicate_write),
    Fault("repeat-lookup", "something known is looked up again", True, _repeat_lookup),
    Fault("invent-claim", "the reply claims a deed that was not done", True, _invent_claim),
    Fault("invent-value", "the reply states a value that stands nowhere", True, _invent_value),
    Fault("hide-failure", "the reply passes over a failed call", False, _hide_failure),
    Fault("remove-confirmation", "something is done without the user's yes", True,
          _remove_confirmation),
    Fault("truncate", "the run breaks off", False, _truncate),
)  # fmt: skip


def _named(call: Observation) -> str:
    return f"{call.id} ({call.name})"


def _path(steps: tuple[str | int, ...]) -> str:
    return ".".join(map(str, steps)) or "the arguments"


def _at(call: Observation, place: Observation) -> Observation:
    """Return a call as if it had been made where another was."""
    return changed(
        call,
        seq=place.seq,
        parent_id=place.parent_id,
        start_time=place.start_time,
        end_time=place.end_time,
    )


def _renamed(message: Any, names: dict[str, str]) -> Any:
    ids = tuple(names.get(name, name) for name in message.observation_ids)
    if ids == message.observation_ids:
        return message
    return replace(message, observation_ids=ids)


def _writes(name: str) -> bool:
    return _READING.match(_CAMEL.sub("_", name)) is None


def _other(value: Any) -> Any:
    """Return another value of the same shape; None where there is none worth trying."""
    if isinstance(value, bool | NonFinite):
        return None
    if isinstance(value, int | float):
        return value + 1
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST:
        return None
    other = "".join(map(_next, value))
    return other if other != value else None


def _next(character: str) -> str:
    """Return the next letter or digit of a kind, in a circle; anything else as it is."""
    for first, last in ("09", "az", "AZ"):
        if first <= character <= last:
            return first if character == last else chr(ord(character) + 1)
    return character


def _malformed(value: Any) -> str | None:
    """Return a text whose form is broken: its punctuation in words of its own."""
    if not isinstance(value, str) or isinstance(value, NonFinite) or len(value) > _LONGEST:
        return None
    if re.search(r"\s", value):
        return None
    broken = re.sub(r"[^\w]+|_+", " ", value).strip()
    return broken if broken and broken != value else None

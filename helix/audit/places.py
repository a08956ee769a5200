"""Where it is planted: copies of a trace with a text added, nothing taken away.

Planting only adds. What was wrong with a recording is still wrong with its copies, so that a cell
that becomes a pass was talked into it. A text goes behind a text; into an object goes one more key,
into a list one more item.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from helix.audit.payloads import PLACES, Payload
from helix.model.trace import Message, Observation, Trace
from helix.suite.altered import rebuilt, with_call

OWN = ""
KEY = "note"
SYSTEM = ("system", "developer")
Touched = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Site:
    """One spot of a place: its name for people, the fields it changes, and how to plant there.

    A field is (id of the message or observation, or OWN for the trace; its name).
    """

    where: str
    touched: Touched
    make: Callable[[str], Trace]


@dataclass(frozen=True, slots=True)
class Plant:
    """What was planted in a copy: in which words, where, and what of the trace it changes."""

    payload: Payload
    text: str
    place: str
    where: str
    touched: Touched


def plants(
    trace: Trace,
    payloads: Sequence[Payload],
    rows: Sequence[str],
    *,
    seed: int = 0,
    per_class: int = 1,
    places: Sequence[str] = PLACES,
) -> Iterator[tuple[Plant, Trace]]:
    """Yield copies of a trace, each with one payload in one place that the trace has.

    Of each class at most `per_class` payloads go into each place; which, and at which spot of the
    place, is drawn by the seed, and depends on no other trace.
    """
    for place in places:
        sites = SITES[place](trace)
        for klass in dict.fromkeys(payload.klass for payload in payloads):
            fitting = [p for p in payloads if p.klass == klass and p.where in (None, place)]
            drawn = random.Random(
                f"{seed}\n{place}\n{klass}\n{trace.id}".encode("utf-8", "backslashreplace")
            )
            if len(fitting) > per_class:
                at = sorted(drawn.sample(range(len(fitting)), per_class))
                fitting = [fitting[i] for i in at]
            for payload in fitting if sites else ():
                site = sites[drawn.randrange(len(sites))]
                text = payload.on(trace.id, rows)
                made = site.make(text) if text else trace
                touched = site.touched if text else frozenset()
                yield Plant(payload, text, place, site.where, touched), made


def _final_answer(trace: Trace) -> list[Site]:
    """The last words of the agent: its last message, and the response where there is one."""
    said = _spoken(trace)[-1:]
    responds = isinstance(trace.output, dict) and isinstance(trace.output.get("response"), str)
    if not said and not responds:
        return []

    def make(text: str) -> Trace:
        made = _behind(trace, said[0], text) if said else trace
        if not responds:
            return made
        response = _added(trace.output["response"], text)
        return rebuilt(made, output={**trace.output, "response": response})

    touched = {(message.id, "text") for message in said} | (
        {(OWN, "output")} if responds else set()
    )
    return [Site("the last words", frozenset(touched), make)]


def _thoughts(trace: Trace) -> list[Site]:
    return [_message(trace, message) for message in _spoken(trace)[:-1]]


def _user_messages(trace: Trace) -> list[Site]:
    said = [m for m in trace.transcript if m.role == "user" and not m.control]
    prompt = _text_of(trace.input, "prompt")
    if not said and prompt is not None:
        return [_own(trace, "input", "prompt")]
    return [_message(trace, message, "prompt") for message in said]


def _system(trace: Trace) -> list[Site]:
    said = [m for m in trace.transcript if m.role in SYSTEM]
    if not said and _text_of(trace.input, "system") is not None:
        return [_own(trace, "input", "system")]
    return [_message(trace, message, "system") for message in said]


def _tool_outputs(trace: Trace) -> list[Site]:
    return [_result(trace, call) for call in trace.tools() if _takes(call.output)]


def _tool_arguments(trace: Trace) -> list[Site]:
    def site(call: Observation) -> Site:
        make: Callable[[str], Trace] = lambda text: with_call(  # noqa: E731
            trace, call, input=_added(call.input, text)
        )
        return Site(f"{call.id} input", frozenset({(call.id, "input")}), make)

    return [site(call) for call in trace.tools() if _takes(call.input)]


def _metadata(trace: Trace) -> list[Site]:
    def make(text: str) -> Trace:
        return rebuilt(trace, metadata=_added(trace.metadata, text))

    return [Site("metadata", frozenset({(OWN, "metadata")}), make)]


SITES: dict[str, Callable[[Trace], list[Site]]] = {
    "final_answer": _final_answer,
    "tool_output": _tool_outputs,
    "tool_argument": _tool_arguments,
    "thought": _thoughts,
    "user_message": _user_messages,
    "system": _system,
    "metadata": _metadata,
}


def _spoken(trace: Trace) -> list[Message]:
    return [m for m in trace.transcript if m.role == "assistant" and not m.control]


def _message(trace: Trace, message: Message, key: str | None = None) -> Site:
    """A message; where the input says the same under a key, it goes on saying the same."""
    same = key is not None and _text_of(trace.input, key) == message.text

    def make(text: str) -> Trace:
        made = _behind(trace, message, text)
        if not same:
            return made
        return rebuilt(made, input={**trace.input, str(key): _added(message.text, text)})

    touched = {(message.id, "text")} | ({(OWN, "input")} if same else set())
    return Site(f"{message.id} text", frozenset(touched), make)


def _own(trace: Trace, root: str, key: str) -> Site:
    value = getattr(trace, root)

    def make(text: str) -> Trace:
        return rebuilt(trace, **{root: {**value, key: _added(value[key], text)}})

    return Site(f"{root}.{key}", frozenset({(OWN, root)}), make)


def _result(trace: Trace, call: Observation) -> Site:
    def make(text: str) -> Trace:
        output = call.output
        if isinstance(output, dict) and output.keys() == {"text"}:
            longer: Any = {"text": _added(output["text"], text)}
        else:
            longer = _added(output, text)
        return with_call(trace, call, output=longer)

    return Site(f"{call.id} output", frozenset({(call.id, "output")}), make)


def _behind(trace: Trace, message: Message, text: str) -> Trace:
    longer = replace(message, text=_added(message.text, text))
    return rebuilt(trace, transcript=[longer if m is message else m for m in trace.transcript])


def _takes(value: Any) -> bool:
    """Whether something can be added to a value without taking its place."""
    return isinstance(value, dict | list | str)


def _added(value: Any, text: str) -> Any:
    """Return a value with the text added behind what it holds."""
    if isinstance(value, dict):
        key, number = KEY, 1
        while key in value:
            number += 1
            key = f"{KEY}{number}"
        return {**value, key: text}
    if isinstance(value, list):
        return [*value, text]
    return f"{value}\n{text}" if value else text


def _text_of(value: Any, key: str) -> str | None:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else None

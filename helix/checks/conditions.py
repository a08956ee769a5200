"""Which events a rule is about: tool calls and messages, matched in three values.

A selector matches, does not match, or cannot say. It cannot say where a result was not recorded
or may belong to another call, and where a value only looks equal (`"42"` and `42`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated, Any

import msgspec
from pydantic import BeforeValidator, Field, JsonValue, model_validator

from helix.checks.evidence import MOST_REFS, exactly, nonfinite, scanned
from helix.checks.parameters import (
    Names,
    Params,
    Pattern,
    PatternParam,
    RelativePath,
    Span,
    as_list,
)
from helix.checks.roles import Role, same_role
from helix.fieldpath import FieldPath, render_steps
from helix.model.section import whole
from helix.model.select import Place, within
from helix.model.tokens import as_text
from helix.model.trace import TOOL, Message, Observation, Trace
from helix.model.verdict import Cause, Ref

ANY = "*"
_RESULT_FIELDS = ("output", "outputText")


class Where(Params):
    """A condition on one field of a call.

    `equals` compares JSON values; `matches` searches text, or the canonical JSON of what is not
    text; `exists` asks whether the field is there. `negate` turns the answer round where there is
    a value to compare: a missing field never matches. Where `path` holds `[*]`, one match is
    enough.
    """

    path: RelativePath = Field(description="The field, e.g. `input.to` or `output.status`.")
    equals: JsonValue = Field(default=None, description="The JSON value that it must equal.")
    matches: PatternParam | None = Field(
        default=None, description="What must be found in its text."
    )
    exists: bool | None = Field(default=None, description="Whether it must be there.")
    negate: bool = Field(default=False, description="Turns the answer round.")

    @model_validator(mode="after")
    def _one_question(self) -> Where:
        asked = self.model_fields_set & {"equals", "matches", "exists"}
        if len(asked) != 1:
            got = ", ".join(sorted(asked)) or "none of them"
            raise ValueError(f"needs exactly one of equals, matches, exists (got {got})")
        return self


Conditions = Annotated[
    tuple[Where, ...],
    BeforeValidator(as_list, json_schema_input_type=Where | tuple[Where, ...]),
]


class Selector(Params):
    """Events of one kind: calls of tools, with conditions, or messages of a role.

    `tool` is a name, a list of names, or `*`; `where` one condition or a list that must all hold.
    `message` is a role, a speaker's name (in any case) or `*`; its text must match `matches` and
    must not match `excludes`. Control messages only pose as turns and never match.
    """

    tool: Names | None = Field(default=None, description="Calls of these tools; `*` is any.")
    where: Conditions = Field(default=(), description="What such a call must hold.")
    message: Role | None = Field(
        default=None, description="Messages of this role or speaker; `*` is any."
    )
    matches: PatternParam | None = Field(
        default=None, description="What must be found in the message."
    )
    excludes: PatternParam | None = Field(default=None, description="What must not be found in it.")

    @model_validator(mode="after")
    def _one_kind(self) -> Selector:
        if (self.tool is None) == (self.message is None):
            raise ValueError("needs either tool or message")
        if self.tool is None and self.where:
            raise ValueError("where belongs to tool; a message takes matches and excludes")
        if self.message is None and (self.matches or self.excludes):
            raise ValueError("matches and excludes belong to message; a tool takes where")
        return self

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that are named, without `*`."""
        return tuple(name for name in self.tool or () if name != ANY)

    def __str__(self) -> str:
        if self.message is not None:
            role = "message" if self.message == ANY else f"message of the {self.message}"
            words = f" matching '{self.matches.text}'" if self.matches else ""
            return f"{role}{words}"
        name = "any tool" if self.tool == (ANY,) else " or ".join(self.tool or ())
        return f"call of {name}{' that fits' if self.where else ''}"


Selectors = Annotated[
    tuple[Selector, ...],
    BeforeValidator(as_list, json_schema_input_type=Selector | tuple[Selector, ...]),
    Field(min_length=1),
]


class Match(msgspec.Struct, frozen=True):
    """Whether a value or event fits: True, False, or None with the cause why it cannot be said."""

    hit: bool | None
    place: Place | None = None
    span: Span | None = None
    cause: Cause | None = None


HIT = Match(True)


class Event(msgspec.Struct, frozen=True):
    """A message or call that matches a selector, or may (`hit` is None, with its cause)."""

    id: str
    name: str
    seq: int
    hit: bool | None
    place: Place
    span: Span | None = None
    cause: Cause | None = None
    turn: str | None = None
    unsure: bool = False
    start: int | None = None
    end: int | None = None

    @property
    def label(self) -> str:
        """The event as a detail names it: tool or role, and id."""
        return f"{self.name} ({self.id})"


def equal(left: Any, right: Any) -> bool | None:
    """Compare two JSON values; None where they are of two types and look the same.

    `1` is not `true`; `1` is `1.0`; `"42"` against `42`, and anything against a non-finite
    number, cannot be said.
    """
    if type(left) is str is type(right):  # no NonFinite, which is a text too
        return bool(left == right)
    if nonfinite(left) or nonfinite(right):
        return None
    if _json_type(left) == _json_type(right):
        return _same(left, right)
    return None if as_text(left) == as_text(right) else False


def compare(value: Any, expected: Any, pattern: Pattern | None) -> tuple[bool | None, Span | None]:
    """Return whether a value equals `expected` or, if there is a pattern, matches it, and where."""
    if pattern is None:
        return equal(value, expected), None
    if nonfinite(value):
        return None, None
    if value is None:
        return False, None
    span = pattern.find(as_text(value))
    return span is not None, span


def calls(trace: Trace, tool: tuple[str, ...]) -> list[Observation]:
    """Return the calls of the named tools in seq order; `*` names all."""
    if ANY in tool:
        return [o for o in trace.observations if o.type == TOOL]
    return [o for o in trace.observations if o.type == TOOL and o.name in tool]


def unread(observation: Observation, path: str) -> Cause | None:
    """Return why a field of a call's result cannot be read, or None where it can."""
    if not _is_of_result(path):
        return None
    if "ambiguous-pairing" in observation.flags:
        return "ambiguous-order"
    return None if observation.has_output else "missing-field"


@lru_cache(maxsize=512)
def _is_of_result(path: str) -> bool:
    return path.split(".", 1)[0].split("[", 1)[0] in _RESULT_FIELDS


def events(trace: Trace, selector: Selector) -> list[Event]:
    """Return the events that match or may match a selector, in seq order."""
    if selector.message is not None:
        return sorted(_said(trace, selector), key=lambda event: event.seq)
    turns = turns_of(trace)
    matched = ((o, meets(o, selector.where)) for o in calls(trace, selector.tool or ()))
    found = (call_event(o, turns, match) for o, match in matched if match.hit is not False)
    return sorted(found, key=lambda event: event.seq)


def turns_of(trace: Trace) -> set[str]:
    """Return the ids that make calls with that parent one turn: those of the messages."""
    return {message.id for message in whole(trace).transcript}


def call_event(observation: Observation, turns: set[str], match: Match = HIT) -> Event:
    """Return a call as an event, with the turn that it belongs to."""
    parent = observation.parent_id
    return Event(
        observation.id,
        observation.name,
        observation.seq,
        match.hit,
        match.place or Place(observation.id, "name", observation.name, observation.seq),
        match.span,
        match.cause,
        turn=parent if parent in turns else None,
        unsure="ambiguous-order" in observation.flags,
        start=observation.start_time,
        end=observation.end_time,
    )


def proofs(trace: Trace, selector: Selector) -> tuple[Ref, ...]:
    """Return scans which show that nothing matches a selector, as far as a scan can show it."""
    if selector.message is not None:
        looks = [("transcript[*].text", selector.matches.text if selector.matches else "")]
    else:
        condition = selector.where[0] if selector.where else None
        steps = condition.path.steps if condition else ("name",)
        channels = (
            FieldPath(None, steps, observation=n) for n in (selector.tool or ())[:MOST_REFS]
        )
        looks = [(str(channel), _pattern(condition)) for channel in channels]
    found = (scanned(trace, channel, pattern) for channel, pattern in looks)
    return tuple(ref for ref in found if ref is not None)


def _pattern(condition: Where | None) -> str:
    if condition is None or condition.exists is not None or condition.negate:
        return ""
    if condition.matches is not None:
        return condition.matches.text
    return exactly(as_text(condition.equals))


def _said(trace: Trace, selector: Selector) -> Iterator[Event]:
    for message in trace.transcript:
        wanted = selector.message or ANY
        if message.control or not (wanted == ANY or same_role(wanted, message.role)):
            continue
        span = None
        if selector.matches is not None:
            span = selector.matches.find(message.text)
            if span is None:
                continue
        if selector.excludes is not None and selector.excludes.find(message.text) is not None:
            continue
        yield Event(message.id, message.role, message.seq, True, _text(message), span)


def _text(message: Message) -> Place:
    return Place(message.id, "text", message.text, message.seq)


def meets(observation: Observation, where: tuple[Where, ...]) -> Match:
    """Return whether a call meets every condition, with the place that the first one read."""
    best = HIT
    for condition in where:
        match = _meets_one(observation, condition)
        if match.hit is False:
            return match
        if match.hit is None or best.place is None:
            best = match if best.hit else best
    return best


def _meets_one(observation: Observation, condition: Where) -> Match:
    path = render_steps(condition.path.steps)
    blocked = unread(observation, path)
    if blocked is not None:
        return Match(None, cause=blocked)
    places = [p for p in within(observation, condition.path.steps) if not p.missing]
    if condition.exists is not None:
        fits = bool(places) is condition.exists
        return Match(fits is not condition.negate, places[0] if places else None)
    if not places:
        return Match(False)
    return _any_place(places, condition)


def _any_place(places: list[Place], condition: Where) -> Match:
    unsure: Match | None = None
    for place in places:
        hit, span = compare(place.value, condition.equals, condition.matches)
        if hit:
            return Match(not condition.negate, place, span)
        if hit is None:
            unsure = Match(None, place, cause="not-decidable")
    return unsure or Match(condition.negate, places[0])


def _json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else type(value).__name__


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_equal(left[k], right[k]) for k in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    return bool(left == right)


def _equal(left: Any, right: Any) -> bool:
    return _json_type(left) == _json_type(right) and _same(left, right)

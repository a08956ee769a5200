"""Where a check applies: `when`, `after`, `before` and `until`, which every `code_eval` takes.

A window is a part of the trace between two events. What nobody can know of it (which of several
events came first, on which side of it a parallel call stands) leaves several windows possible;
they must all be decided alike, or the row is uncertain.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import msgspec
from pydantic import Field, model_validator

from helix.checks.conditions import Event, Selector, call_event, events, proofs, turns_of
from helix.checks.evidence import cite
from helix.checks.outcome import unknown_names
from helix.checks.parameters import Params
from helix.checks.parts import Part, PartParam
from helix.checks.run import decide
from helix.checks.sequence import before
from helix.model.section import between, section
from helix.model.trace import Message, Observation, Trace
from helix.model.verdict import Cause, Ref
from helix.registry import Check, CheckContext, Decision

KEYS = ("when", "after", "before", "until")
MOST_WINDOWS = 16
_LONGEST_RACE = 32


class Bound(Selector):
    """An event at which a window begins or ends: the first that the selector matches."""

    pick: Literal["first", "last"] = Field(
        default="first", description="Which of several such events."
    )
    if_none: Literal["na", "whole"] | None = Field(
        default=None,
        description="What a trace without one is: na, or without this bound; by default na for "
        "`after`, whole for `before` and `until`.",
    )


class Window(Params):
    """Where a check applies. `input`, `output`, `metadata` and `usage` stay those of the whole run.

    `when` is decided on the whole trace; if it fails or does not apply, so does the row (na).
    `after` leaves out the first such event and all before it, `before` the first such event and
    all after it; `until` all after it. With `after`, `before` and `until` look for theirs there.
    """

    when: PartParam | None = Field(default=None, description="A check: without its pass, na.")
    after: Bound | None = Field(default=None, description="Only what came later than this event.")
    before: Bound | None = Field(default=None, description="Only what came earlier than it.")
    until: Bound | None = Field(default=None, description="Only what came earlier, or is it.")

    @model_validator(mode="after")
    def _one_end(self) -> Window:
        if self.before is not None and self.until is not None:
            raise ValueError("takes before or until, not both")
        return self

    @property
    def end(self) -> Bound | None:
        """The bound at which the window ends."""
        return self.until if self.before is None else self.before


class Windowed(Params):
    """The parameters of a check that applies in a window."""

    window: Window
    of: Part


def windowed(part: Part, window: Window) -> Part:
    """Return a check that applies in a window alone; its name and version are the check's own."""
    check = Check(part.check.name, part.check.version, Windowed, decide_in_window)
    return Part(check=check, params=Windowed(window=window, of=part))


def decide_in_window(trace: Trace, params: Windowed, context: CheckContext) -> Decision:
    """Return what the check says of its window.

    | row | decision |
    |---|---|
    | `when` fails or is na | na |
    | `when` is uncertain | uncertain (its cause) |
    | no event of `after`; of `before` or `until` with `if_none: na` | na |
    | no event of `before` or `until`; of `after` with `if_none: whole` | without this bound |
    | no such event, and its tool or role is unknown | uncertain |
    | which event it is, or on which side a call stands, is not known and matters | uncertain |
    | otherwise | what the check says of the window |
    """
    window = params.window
    if window.when is not None:
        premise = decide(window.when, trace, context)
        if premise.state == "uncertain":
            return replace(premise, detail=f"whether the row applies: {premise.detail}")
        if premise.state != "pass":
            return Decision("na", f"does not apply: {premise.detail}", premise.refs)
    if window.after is None and window.end is None:
        return decide(params.of, trace, context)
    try:
        found = [_decided(trace, at, params, context) for at in stretches(trace, window)]
    except _Unknown as unknown:
        return Decision("uncertain", unknown.text, cause=unknown.cause)
    if len({decision.state for decision, _ in found}) == 1:
        return found[0][0]
    causes = [cause for _, cause in found if cause is not None]
    text = f"the window is not known, and it matters: {found[0][0].detail}"
    return Decision("uncertain", text, cause=causes[0] if causes else "ambiguous-order")


class _Unknown(Exception):
    """The window cannot be told, nor can the few that are possible."""

    def __init__(self, text: str, cause: Cause = "ambiguous-order") -> None:
        super().__init__(text)
        self.text, self.cause = text, cause


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An event that may bound a window, or none, and why that is not certain."""

    event: Event | None
    cause: Cause | None = None


@dataclass(frozen=True, slots=True)
class Stretch:
    """A possible window: its events, None where there is none, and the part between them.

    `first` and `last` bound the `seq` of the part where that alone describes it; `cause` says why
    it is only possible.
    """

    start: Event | None
    end: Event | None
    part: Trace
    first: int | None = None
    last: int | None = None
    by_seq: bool = True
    cause: Cause | None = None


def stretches(trace: Trace, window: Window) -> Iterator[Stretch]:
    """Yield every window that is possible, the likeliest first."""
    count = 0
    turns = turns_of(trace)
    for start in _candidates(trace, window.after, None):
        for end in _candidates(trace, window.end, start.event):
            for stretch in _parts(trace, start, end, window.until is not None, turns):
                count += 1
                if count > MOST_WINDOWS:
                    raise _Unknown("the order of too many events is not known to tell the window")
                yield stretch


def reaching(trace: Trace, window: Window, context: CheckContext) -> Iterator[Trace]:
    """Yield the parts of a trace that a check in this window may be asked about."""
    try:
        found = list(stretches(trace, window))
    except _Unknown:
        return
    yield from (at.part for at in found if _unbounded(trace, window, at, context) is None)


def _decided(
    trace: Trace, at: Stretch, params: Windowed, context: CheckContext
) -> tuple[Decision, Cause | None]:
    """Return what the check says of one possible window, and why it is only possible."""
    found = _unbounded(trace, params.window, at, context)
    if found is None:
        found = decide(params.of, at.part, context)
        text = f"{_told(params.window, at)}{found.detail}"
        found = replace(found, detail=text, refs=_refs(trace, at, found.refs))
    return found, at.cause


def _unbounded(trace: Trace, window: Window, at: Stretch, context: CheckContext) -> Decision | None:
    """Return what is said where the event of a bound is not there; None where the check says it."""
    for bound, event, default in ((window.after, at.start, "na"), (window.end, at.end, "whole")):
        if bound is None or event is not None:
            continue
        unknown = unknown_names([bound], trace, context)
        if unknown is not None:
            return unknown
        if (bound.if_none or default) == "na":
            return Decision("na", f"no {bound}: nothing to check", proofs(trace, bound))
    return None


def _told(window: Window, at: Stretch) -> str:
    """Return the window in words, as a detail begins."""
    word = "until" if window.until is not None else "before"
    words = [
        f"{name} {event.label}"
        for name, event in (("after", at.start), (word, at.end))
        if event is not None
    ]
    return f"{' and '.join(words)}: " if words else ""


def _refs(trace: Trace, at: Stretch, refs: Iterable[Ref]) -> tuple[Ref, ...]:
    """Return refs that resolve in the whole trace, and those of the events that bound the part."""
    kept: dict[Ref, None] = {}
    for ref in refs:
        if ref.scan is None or not _positional(ref.scan.channel):
            kept[ref] = None
        elif at.by_seq:
            first = [n for n in (ref.scan.first, at.first) if n is not None]
            last = [n for n in (ref.scan.last, at.last) if n is not None]
            scan = msgspec.structs.replace(
                ref.scan,
                first=max(first, default=None),
                last=min(last, default=None),
            )
            kept[msgspec.structs.replace(ref, scan=scan)] = None
    for event in (at.start, at.end):
        if event is not None:
            kept[cite(trace, event.place, event.span)] = None
    return tuple(kept)


def _positional(channel: str) -> bool:
    """Whether what a channel holds depends on where a window begins and ends."""
    return channel.startswith(("obs:", "observations", "transcript"))


def _candidates(trace: Trace, bound: Bound | None, start: Event | None) -> list[_Candidate]:
    """Return the events that may be the one of a bound, certain ones first."""
    if bound is None:
        return [_Candidate(None)]
    pool: list[Event] = []
    sure: list[Event] = []
    last = bound.pick == "last"
    found = events(trace, bound)
    for event in reversed(found) if last else found:
        later = start is None or before(start, event)
        if event.unsure or (start is not None and later is None):
            raise _Unknown(f"whether {event.label} bounds the window is not known")
        if not later or (sure and (event.turn is None or event.turn != sure[0].turn)):
            continue
        pool.append(event)
        if event.hit:
            sure.append(event)
        if len(pool) > _LONGEST_RACE:
            raise _Unknown(f"which {bound} bounds the window is not known")
    rivals = [e for e in pool if not any(_nearer(other, e, last) for other in sure)]
    rivals.sort(key=lambda event: event.hit is None)
    causes = [event.cause for event in rivals if event.cause is not None]
    cause = causes[0] if causes else "ambiguous-order" if len(rivals) > 1 else None
    chosen = [_Candidate(event, cause) for event in rivals]
    return chosen if sure else [*chosen, _Candidate(None, cause)]


def _nearer(event: Event, other: Event, last: bool) -> bool | None:
    return before(other, event) if last else before(event, other)


def _parts(
    trace: Trace, start: _Candidate, end: _Candidate, inclusive: bool, turns: set[str]
) -> Iterator[Stretch]:
    """Yield the part between two events, once for each side on which loose calls may stand."""
    first = None if start.event is None else start.event.seq + 1
    last = None if end.event is None else end.event.seq - (not inclusive)
    items: list[Observation | Message] = [*trace.observations, *trace.transcript]
    sides = [_inside(item, start.event, end.event, inclusive, turns) for item in items]
    loose = sides.count(None)
    if 2**loose > MOST_WINDOWS:
        raise _Unknown(f"on which side of the window {loose} calls stand is not known")
    cause = start.cause or end.cause or ("ambiguous-order" if loose else None)
    straight = between(trace, first, last)
    for guesses in itertools.product((True, False), repeat=loose):
        guess = iter(guesses)
        held = [item for item, side in zip(items, sides, strict=True)
                if (next(guess) if side is None else side)]  # fmt: skip
        part = section(
            trace,
            [item for item in held if isinstance(item, Observation)],
            [item for item in held if isinstance(item, Message)],
        )
        same = held == [*straight.observations, *straight.transcript]
        yield Stretch(start.event, end.event, part, first, last, same, cause)


def _inside(
    item: Observation | Message,
    start: Event | None,
    end: Event | None,
    inclusive: bool,
    turns: set[str],
) -> bool | None:
    """Return whether an item lies in a window; None where nobody can know."""
    later = True if start is None else _after(item, start, turns)
    if end is None or later is False:
        return later
    past = not inclusive if item.id == end.id else _after(item, end, turns)
    if past:
        return False
    return None if past is None else later


def _after(item: Observation | Message, bound: Event, turns: set[str]) -> bool | None:
    if isinstance(item, Message) or item.id == bound.id:
        return item.seq > bound.seq
    if "ambiguous-order" in item.flags or (bound.turn and item.parent_id == bound.turn):
        return before(bound, call_event(item, turns))
    return item.seq > bound.seq

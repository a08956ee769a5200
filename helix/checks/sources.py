"""Where the values of a trace come from: what was said or returned, and whether it came earlier.

`input` comes before everything, `output` after it; a result comes after the arguments of its
call. Two calls of one turn run side by side, so that neither is known to come first.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec
import re2

from helix.checks.conditions import turns_of
from helix.checks.evidence import MOST_REFS, Citing, look
from helix.checks.mentions import Key, keys_of
from helix.checks.parameters import Span
from helix.checks.roles import same_role
from helix.fieldpath import MISSING, FieldPath, parse, parse_relative, render_steps
from helix.model.jsontext import NonFinite
from helix.model.select import Place
from helix.model.tokens import as_text, occurrences
from helix.model.trace import TOOL, Observation, Trace

RETURNS = (TOOL, "RETRIEVER", "EVENT")
GIVERS = ("user", "system", "developer")
GIVEN_CHANNELS = tuple(map(parse, ("obs:*.output", "input")))
_TOKEN = re.compile(r"\w+")
_EARLIEST, _LATEST = (-1, 0), (2**62, 0)
_CUT = frozenset({"truncated", "redacted"})


class Moment(msgspec.Struct, frozen=True):
    """When a place came to be: its order, its turn, and whether that is unsure."""

    at: tuple[int, int]
    turn: str | None = None
    unsure: bool = False


class Source(msgspec.Struct, frozen=True):
    """One text that was said or returned, as it is looked up."""

    place: Place
    text: str
    when: Moment


class Found(msgspec.Struct, frozen=True):
    """A source that holds what was looked for, and where in its text."""

    source: Source
    span: Span | None = None

    @property
    def turn(self) -> str | None:
        """The turn that the source belongs to, if any."""
        return self.source.when.turn


class Finds:
    """All sources of one thing, kept as far as it takes to say which came before a place.

    `sure` are the earliest of a known order: one of each of two turns, and one of each owner;
    `turns` holds two owners for each turn.
    """

    def __init__(self, found: Iterable[Found]) -> None:
        every = sorted(found, key=lambda one: one.source.when.at)
        known = [one for one in every if not one.source.when.unsure]
        self.unsure = next((one for one in every if one.source.when.unsure), None)
        self.sure = known[:1]
        self.sure += [one for one in known if one.turn is None or one.turn != known[0].turn][:1]
        self.owners: dict[str, Found] = {}
        self.turns: dict[str, dict[str, Found]] = {}
        for one in known:
            self.owners.setdefault(one.source.place.obs, one)
            beside = self.turns.setdefault(one.turn or "", {})
            if len(beside) < 2:
                beside.setdefault(one.source.place.obs, one)

    def __bool__(self) -> bool:
        return bool(self.sure or self.unsure)


Standing = Literal["earlier", "unsure", "later", "nowhere"]


class Sources:
    """What the places of one trace state, indexed by text, by token and, if asked, by key.

    Only the tokens of the `wanted` texts are indexed. `folds`: case does not matter. `keyed`:
    numbers, dates and so on are found whatever their spelling (see `mentions`).
    """

    def __init__(
        self,
        trace: Trace,
        places: Iterable[Place],
        wanted: Iterable[str],
        *,
        folds: bool = False,
        keyed: bool = False,
    ) -> None:
        self._folds, self._keyed = folds, keyed
        self._calls = {o.id: o for o in trace.observations}
        self._turns = turns_of(trace)
        self._trace_id = trace.id
        self._incomplete = _LATEST
        self._equal: dict[str, list[Source]] = {}
        self._keys: dict[Key, list[tuple[Source, str | None]]] = {}
        self._tokens: dict[str, list[Source]] = {
            token: [] for text in wanted for token in _TOKEN.findall(self._folded(text))
        }
        self._found: dict[str, Finds] = {}
        self._stated: dict[Hashable, Finds] = {}
        for place in places:
            self._take(place)

    def holding(self, text: str) -> Finds:
        """Return the sources that are a text, or hold it on token boundaries."""
        wanted = self._folded(text)
        if wanted not in self._found:
            found = [Found(source) for source in self._equal.get(wanted, ())]
            tokens = (self._tokens[token] for token in _TOKEN.findall(wanted))
            for source in min(tokens, key=len, default=[]):
                offset = next(occurrences(wanted, source.text), None)
                if offset is not None and source.text != wanted:
                    found.append(Found(source, (offset, offset + len(wanted))))
            self._found[wanted] = Finds(found)
        return self._found[wanted]

    def stating(self, keys: Iterable[Key], currency: str | None = None) -> Finds:
        """Return the sources that state one of the keys, in that currency or in none."""
        asked = (tuple(keys), currency)
        if asked not in self._stated:
            self._stated[asked] = Finds(
                Found(source)
                for key in asked[0]
                for source, money in self._keys.get(key, ())
                if currency is None or money in (None, currency)
            )
        return self._stated[asked]

    def standing(self, found: Finds, place: Place) -> tuple[Standing, Found | None]:
        """Return whether something found came before a place, and the first that did."""
        when = self.moment(place)
        first = found.sure[0] if found.sure else found.unsure
        if first is None:
            return "nowhere", None
        if when.unsure:
            return "unsure", first
        own = found.owners.get(place.obs)
        for one in (*found.sure, *([own] if own else [])):
            if one.source.when.at < when.at and not _together(one.source, when, place):
                return "earlier", one
        beside = found.turns.get(when.turn, {}) if when.turn is not None else {}
        near = next((one for obs, one in beside.items() if obs != place.obs), None)
        loose = found.unsure or near
        return ("unsure", loose) if loose is not None else ("later", first)

    def came_before(self, first: Place, then: Place) -> bool | None:
        """Return whether one place came to be before another; None where nobody can know."""
        one, two = self.moment(first), self.moment(then)
        together = two.turn is not None and one.turn == two.turn and first.obs != then.obs
        return None if one.unsure or two.unsure or together else one.at < two.at

    def incomplete_before(self, place: Place) -> bool:
        """Whether a source before a place was not recorded, or not all of it."""
        return self._incomplete < self.moment(place).at

    def moment(self, place: Place) -> Moment:
        """Return when a place came to be."""
        call = self._calls.get(place.obs)
        if call is None:
            if place.obs == self._trace_id:
                return Moment(_LATEST if _is_result(place) else _EARLIEST)
            return Moment((place.seq, 0))
        result = _is_result(place)
        unsure = "ambiguous-order" in call.flags or (result and "ambiguous-pairing" in call.flags)
        turn = call.parent_id if call.parent_id in self._turns else None
        return Moment((call.seq, int(result)), turn, unsure)

    def _take(self, place: Place) -> None:
        when = self.moment(place)
        call = self._calls.get(place.obs)
        if call is not None and _is_result(place) and _cut(call):
            self._incomplete = min(self._incomplete, when.at)
        if place.missing:
            return
        for leaf, text, whole in _texts(place):
            folded = self._folded(text)
            source = Source(leaf, folded, when)
            self._equal.setdefault(folded, []).append(source)
            if not whole:
                for token in set(_TOKEN.findall(folded)) & self._tokens.keys():
                    self._tokens[token].append(source)
            if self._keyed:
                for key, currency in keys_of(_stated(leaf.value, text)):
                    self._keys.setdefault(key, []).append((source, currency))

    def _folded(self, text: str) -> str:
        return " ".join(text.casefold().split()) if self._folds else text


def _together(source: Source, when: Moment, place: Place) -> bool:
    return when.turn is not None and source.when.turn == when.turn and source.place.obs != place.obs


def given(trace: Trace, roles: Sequence[str]) -> Iterator[Place]:
    """Yield what the subject was given: the input, what these roles said, what its tools returned.

    What another model generated is the subject's own word.
    """
    yield Place(trace.id, "input", trace.input)
    for message in trace.transcript:
        if not message.control and any(same_role(role, message.role) for role in roles):
            yield Place(message.id, "text", message.text, message.seq)
    for call in trace.observations:
        if call.type in RETURNS:
            output = call.output if call.has_output else MISSING
            yield Place(call.id, "output", output, call.seq)
            if call.error is not None:
                yield Place(call.id, "error", call.error, call.seq)


def nowhere(trace: Trace, text: str, channels: Sequence[FieldPath]) -> list[Citing]:
    """Return scans which show that a text stands in none of the channels."""
    pattern = f"(?:^|[^\\pL\\pN_]){re2.escape(text)}(?:$|[^\\pL\\pN_])"
    return [look(trace, channel, pattern) for channel in channels[:MOST_REFS]]


def citable(value: Any) -> bool:
    """Whether a value can be looked up: text that is not blank, or a number."""
    if isinstance(value, str):
        return bool(value.strip()) and not isinstance(value, NonFinite)
    return isinstance(value, int | float) and not isinstance(value, bool)


def _texts(place: Place) -> Iterator[tuple[Place, str, bool]]:
    """Yield each text a value holds, with its place; numbers and keys count only as a whole."""
    stack = [(parse_relative(place.path).steps, place.value)]
    while stack:
        steps, value = stack.pop()
        here = Place(place.obs, render_steps(steps), value, place.seq)
        if isinstance(value, dict):
            for key, below in reversed(value.items()):
                stack.append(((*steps, key), below))
                yield Place(place.obs, render_steps((*steps, key)), below, place.seq), key, True
        elif isinstance(value, list):
            stack.extend(((*steps, at), below) for at, below in reversed(list(enumerate(value))))
        elif citable(value):
            yield here, as_text(value), not isinstance(value, str)


def _stated(value: Any, text: str) -> Any:
    """Return a number as the number it is, else the text."""
    return value if isinstance(value, int | float) and as_text(value) == text else text


def _cut(call: Observation) -> bool:
    return (not call.has_output and call.error is None) or not _CUT.isdisjoint(call.flags)


def _is_result(place: Place) -> bool:
    return place.path.startswith(("output", "error"))

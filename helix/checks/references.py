"""The primitive ref-integrity: what is used was produced earlier (METHOD 25)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import re2
from pydantic import Field, model_validator

from helix.checks.evidence import (
    MOST_REFS,
    Citing,
    as_text,
    look,
    quote,
    shown,
    spot,
    token_offsets,
)
from helix.checks.outcome import (
    ON_MISSING,
    OnMissing,
    Reading,
    all_of,
    capped,
    cited,
    missing,
    no_call,
    unknown_tools,
)
from helix.checks.parameters import Params, Paths, Span, example
from helix.fieldpath import FieldPath, parse_relative, render_steps
from helix.model.jsontext import NonFinite
from helix.model.select import Place, matching, select
from helix.model.trace import Trace
from helix.registry import Check, CheckContext, Decision

_TOKEN = re.compile(r"\w+")
_EARLIEST, _LATEST = (-1, 0), (2**62, 0)


class IntegrityParams(Params):
    """Parameters of ref-integrity: one path or a list of them, on either side."""

    model_config = example(producer="obs:find_user.output.id", consumer="obs:charge.input.user_id")
    producer: Paths = Field(description="Where values come from.")
    consumer: Paths = Field(description="Where they are used.")
    on_missing: OnMissing = Field(default="uncertain", description=ON_MISSING)

    @model_validator(mode="after")
    def _places_have_an_order(self) -> IntegrityParams:
        for path in (*self.producer, *self.consumer):
            if path.root in ("observations", "transcript") and len(path.steps) < 2:
                raise ValueError(
                    f"path '{path}' must name a field of each item, e.g. transcript[*].text"
                )
        return self


def ref_integrity(trace: Trace, params: IntegrityParams, context: CheckContext) -> Decision:
    """Whether every value that the consumer uses was produced earlier.

    A value was produced where it equals a producer's text, number or object key, or stands in its
    text on token boundaries. Objects and lists are searched leaf by leaf. `input` comes before
    everything, `output` after it; a result comes after the arguments of its call.

    | consumer value | decision |
    |---|---|
    | produced earlier | pass |
    | produced nowhere, only later, or only in itself | fail |
    | missing | uncertain (missing-field; `on_missing`) |
    | null, boolean, empty text, object, list, non-finite | uncertain (not-decidable) |
    | no call, an empty list | na, or uncertain (unknown-tool) |
    | produced only in the same turn, or in a result that may be another call's | uncertain |
    | not found, and an earlier producer's result was not recorded | uncertain (missing-field) |
    | not found, and a producer's tool is unknown | uncertain (unknown-tool) |
    """
    consumers = [place for path in params.consumer for place in select(trace, path)]
    consumed = [p.observation for p in params.consumer if p.observation is not None]
    if not consumers:
        return _nothing(trace, params, consumed, context)
    texts = {as_text(p.value) for p in consumers if _citable(p.value)}
    produced = _Produced(trace, params.producer, texts)
    decision = all_of([produced.reading(place, params.on_missing) for place in consumers])
    decision = capped(decision, unknown_tools(consumed, trace, context), ("pass", "na"))
    makers = [p.observation for p in params.producer if p.observation is not None]
    return capped(decision, unknown_tools(makers, trace, context), ("fail",))


@dataclass(frozen=True, slots=True)
class _Source:
    """One text that was produced: when, in which turn, and whether that is sure."""

    place: Place
    text: str
    at: tuple[int, int]
    turn: str | None
    unsure: bool
    whole: bool


class _Produced:
    """What the producers of one trace made, indexed by text and by token."""

    def __init__(self, trace: Trace, paths: tuple[FieldPath, ...], wanted: set[str]) -> None:
        self._trace, self._paths = trace, paths
        self._calls = {o.id: o for o in trace.observations}
        self._turns = {message.id for message in trace.transcript}
        self._unrecorded: list[tuple[int, int]] = []
        self._equal: dict[str, list[_Source]] = {}
        self._tokens: dict[str, list[_Source]] = {
            token: [] for text in wanted for token in _TOKEN.findall(text)
        }
        self._found: dict[str, list[tuple[_Source, Span | None]]] = {}
        for path in paths:
            for place in select(trace, path):
                self._take(place)
        self._unrecorded.sort()

    def reading(self, place: Place, on_missing: OnMissing) -> Reading:
        """Return what one consumer value says."""
        where = spot(self._trace, place)
        if place.missing:
            return missing(self._trace, place, on_missing, f"{where} is missing")
        own = quote(self._trace, place)
        if not _citable(place.value):
            text = f"{where} is {shown(place.value)}, which refers to nothing that can be looked up"
            return Reading("uncertain", text, (own,), "not-decidable")
        return self._traced(place, own, f"{where} is {shown(place.value)}")

    def _traced(self, place: Place, own: Citing, text: str) -> Reading:
        at, turn, unsure = self._when(place)
        found = self._occurrences(as_text(place.value))
        loose = False
        for source, span in found:
            together = turn is not None and source.turn == turn and source.place.obs != place.obs
            if unsure or source.unsure or together:
                loose = True
            elif source.at < at:
                origin = quote(self._trace, source.place, span)
                return Reading(
                    "pass", f"{text}, from {spot(self._trace, source.place)}", (own, origin)
                )
        if loose:
            reason = f"{text}, and whether it was produced earlier is not known"
            return Reading("uncertain", reason, (own,), "ambiguous-order")
        if self._unrecorded and self._unrecorded[0] < at:
            reason = f"{text}, not found, but a result that may hold it was not recorded"
            return Reading("uncertain", reason, (own,), "missing-field")
        if found:
            source, span = found[0]
            later = quote(self._trace, source.place, span, note="produced too late")
            return Reading("fail", f"{text}, produced only later", (own, later))
        return Reading("fail", f"{text}, produced nowhere", (own, *self._proof(place.value)))

    def _take(self, place: Place) -> None:
        at, turn, unsure = self._when(place)
        if place.missing:
            call = self._calls.get(place.obs)
            if call is not None and _is_result(place) and not call.has_output:
                self._unrecorded.append(at)
            return
        for leaf, text, whole in _texts(place):
            source = _Source(leaf, text, at, turn, unsure, whole)
            self._equal.setdefault(text, []).append(source)
            if not whole:
                for token in set(_TOKEN.findall(text)) & self._tokens.keys():
                    self._tokens[token].append(source)

    def _occurrences(self, text: str) -> list[tuple[_Source, Span | None]]:
        """Return where a text was produced, earliest first."""
        if text not in self._found:
            found: list[tuple[_Source, Span | None]] = [
                (s, None) for s in self._equal.get(text, ())
            ]
            rarest = min((self._tokens[t] for t in _TOKEN.findall(text)), key=len, default=[])
            for source in rarest:
                if source.text != text:
                    offset = next(token_offsets(text, source.text), None)
                    if offset is not None:
                        found.append((source, (offset, offset + len(text))))
            found.sort(key=lambda entry: entry[0].at)
            self._found[text] = found
        return self._found[text]

    def _when(self, place: Place) -> tuple[tuple[int, int], str | None, bool]:
        """Return when a place came to be, in which turn, and whether that is unsure."""
        call = self._calls.get(place.obs)
        if call is None:
            if place.obs == self._trace.id:
                return (_LATEST if _is_result(place) else _EARLIEST), None, False
            return (place.seq, 0), None, False
        result = _is_result(place)
        unsure = "ambiguous-order" in call.flags or (result and "ambiguous-pairing" in call.flags)
        turn = call.parent_id if call.parent_id in self._turns else None
        return (call.seq, int(result)), turn, unsure

    def _proof(self, value: Any) -> list[Citing]:
        pattern = f"(?:^|[^\\pL\\pN_]){re2.escape(as_text(value))}(?:$|[^\\pL\\pN_])"
        return [look(self._trace, path, pattern) for path in self._paths[:MOST_REFS]]


def _nothing(
    trace: Trace, params: IntegrityParams, consumed: list[str], context: CheckContext
) -> Decision:
    idle = [name for name in consumed if not matching(trace, name)]
    if idle:
        return no_call(idle, trace, context)
    listed = ", ".join(str(path) for path in params.consumer)
    refs = cited(look(trace, path) for path in params.consumer[:MOST_REFS])
    return Decision("na", f"{listed} reaches an empty list", refs)


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
        elif _citable(value):
            yield here, as_text(value), not isinstance(value, str)


def _citable(value: Any) -> bool:
    """Whether a value can be looked up: text that is not blank, or a number."""
    if isinstance(value, str):
        return bool(value.strip()) and not isinstance(value, NonFinite)
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_result(place: Place) -> bool:
    return place.path.startswith("output")


CHECKS = (Check("ref-integrity", "1", IntegrityParams, ref_integrity),)

"""The primitive required-order: A before B, B never without A, A between B and C (METHOD 29).

Events are calls and messages alike, since one `seq` runs through both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec
from pydantic import Field, model_validator

from helix.checks.conditions import Event, Selector, calls, events, proofs
from helix.checks.evidence import cite
from helix.checks.outcome import WORST_FIRST, Why, capped, no_call, told, unknown_names
from helix.checks.parameters import Params, RelativePath, example
from helix.checks.sequence import Line, before
from helix.fieldpath import FieldPath
from helix.model.canonical import canonical_text
from helix.model.select import within
from helix.model.trace import Trace
from helix.model.verdict import Cause, CellState, Ref
from helix.registry import Check, CheckContext, Decision

MOST_PAIRS = 8


class OrderParams(Params):
    """Parameters of required-order.

    `never-without`: each `then` needs a `first` before it. `before`: the same, but a trace without
    any `first` is na. `each`: each `then` needs a `first` of its own, after the previous `then`.
    `latest_of`: the last such event before each `then` must itself be a `first`. `since`: the
    `first` must lie between the last such event and the `then`. `same`: a path of
    arguments; calls that differ there (another order, another booking) have nothing to do with
    each other, while messages serve all.
    """

    model_config = example(
        first={"message": "user", "matches": r"(?i)\byes\b"}, then={"tool": "issue_refund"}
    )
    first: Selector = Field(description="What must come first.")
    then: Selector = Field(description="What must not come without it.")
    mode: Literal["never-without", "before"] = Field(
        default="never-without", description="`before`: a trace without any `first` is na."
    )
    each: bool = Field(default=False, description="Whether each `then` needs its own `first`.")
    latest_of: Selector | None = Field(
        default=None, description="The last such event before a `then` must be a `first`."
    )
    since: Selector | None = Field(
        default=None,
        description="The `first` must come after the last such event; without one, na.",
    )
    same: RelativePath | None = Field(
        default=None, description="A path of arguments, `input.…`, that keeps calls apart."
    )

    @model_validator(mode="after")
    def _modes_fit(self) -> OrderParams:
        if self.mode == "before" and (self.each or self.latest_of is not None):
            raise ValueError("mode: before takes neither each nor latest_of")
        if self.since is not None and (self.mode == "before" or self.each or self.latest_of):
            raise ValueError("since takes neither mode: before nor each nor latest_of")
        if self.same is not None and self.same.steps[0] != "input":
            raise ValueError(f"same must be a path of the arguments, input.… (got {self.same})")
        return self


def required_order(trace: Trace, params: OrderParams, context: CheckContext) -> Decision:
    """Whether every `then` has its `first` before it.

    | trace | decision |
    |---|---|
    | each `then` has a certain earlier `first` | pass |
    | a `then` has none | fail |
    | `latest_of`: the last such event before a `then` is no `first`, or there is none | fail |
    | `each`: no `first` between two `then` | fail |
    | `since`: no `first` between the last such event and a `then` | fail |
    | no `then` event; mode `before` and no `first` event; `since`: none before any `then` | na |
    | the only `first` is in the same turn, or its order is unknown | uncertain (ambiguous-order) |
    | `since`: whether one comes after the `first` is not known | uncertain |
    | `where` reads a result that is not recorded | uncertain (missing-field) |
    | `where` finds a value that only looks equal, or is non-finite | uncertain (not-decidable) |
    | a tool of `then` or `since` is unknown, and nothing fails | uncertain (unknown-tool) |
    | a tool of `first` or `latest_of` is unknown, and something would fail | uncertain |
    | likewise a role that no trace has | uncertain (missing-field) |
    """
    thens = events(trace, params.then)
    if not thens:
        return _nothing(trace, params.then, context)
    firsts = events(trace, params.first)
    if params.mode == "before" and not firsts:
        decision = _nothing(trace, params.first, context)
    else:
        decision = _decide(trace, params, thens, firsts)
    sways: list[tuple[Selector | None, tuple[CellState, ...]]] = [
        (params.then, ("pass", "na")),
        (params.first, ("fail",)),
        (params.latest_of, ("pass", "fail")),
        (params.since, ("pass", "na")),
    ]
    for selector, states in sways:
        chosen = [] if selector is None else [selector]
        decision = capped(decision, unknown_names(chosen, trace, context), states)
    return decision


class _Ruling(msgspec.Struct, frozen=True):
    """What is said of one `then`: a state, why, and the event that decided it."""

    state: CellState
    why: Why
    decider: Event | None = None
    cause: Cause | None = None

    @property
    def text(self) -> str:
        """Why, in words."""
        return self.why if isinstance(self.why, str) else self.why()


def _decide(
    trace: Trace, params: OrderParams, thens: Sequence[Event], firsts: Sequence[Event]
) -> Decision:
    """Rule on every `then` and fold: a fail decides, then an uncertain."""
    rulings = sorted(_rulings(trace, params, thens, firsts), key=lambda pair: pair[0].seq)
    for state in WORST_FIRST:
        found = [(then, ruling) for then, ruling in rulings if ruling.state == state]
        if found:
            break
    text = told(found[0][1].text, len(found), len(rulings))
    if len(found) > MOST_PAIRS:
        text += f"; the first {MOST_PAIRS} are cited"
    refs = _refs(trace, found[:MOST_PAIRS])
    if state == "fail" and not firsts:
        refs += proofs(trace, params.first)
    if state == "na" and params.since is not None:
        refs += proofs(trace, params.since)
    return Decision(state, text, refs, found[0][1].cause)


def _rulings(
    trace: Trace, params: OrderParams, thens: Sequence[Event], firsts: Sequence[Event]
) -> Iterator[tuple[Event, _Ruling]]:
    bound = params.latest_of or params.since
    bounds = events(trace, bound) if bound else ()
    if params.same is None:
        yield from _Order(params, firsts, bounds).rulings(thens)
        return
    keys = _Keys(trace, params.same)
    groups: dict[str | None, list[Event]] = {}
    for then in thens:
        groups.setdefault(keys.of(then), []).append(then)
    for key, members in groups.items():
        order = _Order(params, keys.serving(key, firsts), keys.serving(key, bounds))
        yield from order.rulings(members)


class _Keys:
    """What calls hold at the path `same`; a message has no key and serves every call."""

    def __init__(self, trace: Trace, path: FieldPath) -> None:
        self._calls = {o.id: o for o in trace.observations}
        self._path = path

    def of(self, event: Event) -> str | None:
        """Return what a call holds there as canonical JSON, empty where it holds nothing."""
        call = self._calls.get(event.id)
        if call is None:
            return None
        places = within(call, self._path.steps)
        return ",".join(canonical_text(place.value) for place in places if not place.missing)

    def serving(self, key: str | None, found: Sequence[Event]) -> list[Event]:
        """Return the events that calls of this key may rest on."""
        if key is None:
            return list(found)
        return [event for event in found if self.of(event) in (None, key)]


class _Order:
    """The events that one group of `then` may rest on, indexed for rulings."""

    def __init__(
        self, params: OrderParams, firsts: Sequence[Event], bounds: Sequence[Event]
    ) -> None:
        self._params = params
        self._firsts = Line(firsts)
        self._hits = {event.id: event for event in firsts}
        self._latest = Line(bounds) if params.latest_of else None
        self._since = Line(bounds) if params.since else None

    def rulings(self, thens: Sequence[Event]) -> Iterator[tuple[Event, _Ruling]]:
        """Yield what is said of each `then`."""
        for then, afters in self._bounds(thens):
            yield then, self._certain(then, afters)

    def _bounds(self, thens: Sequence[Event]) -> Iterator[tuple[Event, list[Event | None]]]:
        """Yield each `then` with what its `first` must follow; two bounds where one is unsure."""
        sure: Event | None = None
        last: Event | None = None
        for then in thens:
            yield then, [sure] if not self._params.each or sure is last else [sure, last]
            if self._params.each:
                last = then
                sure = then if then.hit else sure

    def _certain(self, then: Event, afters: Sequence[Event | None]) -> _Ruling:
        rulings = [self._rule(then, after) for after in afters]
        ruling = rulings[0]
        if any(other.state != ruling.state for other in rulings):
            text = f"whether {then.label} has its own {self._params.first} is not known"
            return _Ruling("uncertain", text, cause="ambiguous-order")
        if then.hit is None and ruling.state == "fail":
            text = f"{ruling.text}, and whether it is a {self._params.then} is not known"
            return _Ruling("uncertain", text, ruling.decider, then.cause)
        return ruling

    def _rule(self, then: Event, after: Event | None) -> _Ruling:
        if self._latest is not None:
            return self._rule_latest(self._latest, then, after)
        if self._since is not None:
            return self._rule_since(self._since, then)
        return self._rule_first(then, after)

    def _rule_first(self, then: Event, after: Event | None) -> _Ruling:
        first = self._firsts.nearest(then, after)
        if first is not None:
            return _Ruling("pass", lambda: f"{then.label} follows {first.label}", first)
        own = f" after {after.label}" if after else ""
        loose = next(self._firsts.possible(then, after), None)
        if loose is not None:
            text = f"whether {loose.label} is a {self._params.first} before {then.label}{own}"
            cause = loose.cause or "ambiguous-order"
            return _Ruling("uncertain", f"{text} is not known", loose, cause)
        return _Ruling("fail", f"{then.label} has no {self._params.first} before it{own}", after)

    def _rule_since(self, since: Line, then: Event) -> _Ruling:
        last = since.nearest(then)
        if last is not None:
            ruling = self._rule_first(then, last)
            first = ruling.decider if ruling.state == "pass" else None
            loose = next(since.possible(then, first), None) if first else None
        else:
            loose = next(since.possible(then), None)
            ruling = _Ruling("na", f"{then.label} has no {self._params.since} before it")
        if loose is None:
            return ruling
        text = f"whether {loose.label} is a {self._params.since} before {then.label} is not known"
        return _Ruling("uncertain", text, loose, loose.cause or "ambiguous-order")

    def _rule_latest(self, latest: Line, then: Event, after: Event | None) -> _Ruling:
        last = latest.nearest(then, after)
        ruling = self._as_first(last, then)
        for other in latest.possible(then, after):
            if last is not None and before(other, last):
                continue
            if self._as_first(other, then).state != ruling.state:
                text = f"whether {other.label} is the last event before {then.label} is not known"
                return _Ruling("uncertain", text, other, other.cause or "ambiguous-order")
        return ruling

    def _as_first(self, last: Event | None, then: Event) -> _Ruling:
        wanted = self._params.first
        if last is None:
            return _Ruling("fail", f"{then.label} has no {self._params.latest_of} before it")
        first = self._hits.get(last.id)
        text = f"the last {self._params.latest_of} before {then.label} is {last.label}"
        if first is not None and first.hit:
            return _Ruling("pass", text, first)
        if first is not None:
            text = f"{text}, and whether it is a {wanted} is not known"
            return _Ruling("uncertain", text, last, first.cause)
        return _Ruling("fail", f"{text}; it had to be a {wanted}", last)


def _refs(trace: Trace, rulings: Sequence[tuple[Event, _Ruling]]) -> tuple[Ref, ...]:
    events = (e for then, ruling in rulings for e in (then, ruling.decider) if e is not None)
    cited = {(e.place.obs, e.place.path, e.span): e for e in events}
    found: dict[tuple[str, str], Ref] = {}
    for event in cited.values():
        ref = cite(trace, event.place, event.span)
        found.setdefault((ref.obs, ref.path), ref)
    return tuple(found.values())


def _nothing(trace: Trace, selector: Selector, context: CheckContext) -> Decision:
    """Return what is said of a trace without any event of the selector."""
    if selector.tool is not None and not calls(trace, selector.tool):
        return no_call(selector.tool, trace, context)
    refs = proofs(trace, selector)
    decision = Decision("na", f"no {selector}: nothing to check", refs)
    return capped(decision, unknown_names([selector], trace, context), ("na",))


CHECKS = (Check("required-order", "1", OrderParams, required_order),)

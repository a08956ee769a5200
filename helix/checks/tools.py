"""Primitives over tool calls: tool-output-failure and recovery-after-failure (METHOD 25–27).

Both look for a marker of failure at a path relative to each call. A result that was recorded and
lacks the field carries no marker; a result that was not recorded says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Literal

from pydantic import Field, JsonValue, model_validator

from helix.checks.conditions import (
    ANY,
    Selector,
    Selectors,
    call_event,
    calls,
    compare,
    events,
    turns_of,
    unread,
)
from helix.checks.evidence import quote, shown
from helix.checks.outcome import (
    ON_MISSING,
    WORST_FIRST,
    OnMissing,
    Reading,
    Why,
    all_of,
    capped,
    cited,
    missing,
    no_call,
    uncalled,
    unknown_names,
    unknown_tools,
)
from helix.checks.parameters import Name, Names, Params, PatternParam, RelativePath, example
from helix.checks.sequence import Line
from helix.fieldpath import FieldPath, render_steps
from helix.model.select import Place, within
from helix.model.trace import Observation, Trace
from helix.model.verdict import CellState
from helix.registry import Check, CheckContext, Decision

SAME = "@same"


class Marked(Params):
    """A failure marker: the field that holds it, and the value or pattern that is one."""

    fail_field: RelativePath | None = Field(
        default=None, description="The field that says that a call failed."
    )
    fail_equals: JsonValue = Field(default=None, description="The value that means failure.")
    fail_matches: PatternParam | None = Field(
        default=None, description="What, found in its text, means failure."
    )

    @model_validator(mode="after")
    def _fits(self) -> Marked:
        if faults := list(self._faults()):
            raise ValueError("; ".join(faults))
        return self

    def _faults(self) -> Iterator[str]:
        """Yield everything that does not fit together."""
        asked = self.model_fields_set & {"fail_equals", "fail_matches"}
        if self.fail_field is None and asked:
            yield f"{min(asked)} needs fail_field"
        if self.fail_field is not None and len(asked) != 1:
            got = "both" if asked else "neither"
            yield f"needs exactly one of fail_equals and fail_matches (got {got})"


class OutputFailureParams(Marked):
    """Parameters of tool-output-failure: `success_path`, or a failure marker.

    `on_missing: pass` is for markers alone: it says that a result without the field has not failed.
    """

    model_config = example(tool="send_mail", success_path="output.success")
    tool: Names = Field(description="The tools, or `*` for all.")
    success_path: RelativePath | None = Field(
        default=None, description="The field that is true where the call succeeded."
    )
    on_missing: Literal["uncertain", "fail", "na", "pass"] = Field(
        default="uncertain", description=ON_MISSING
    )

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        if (self.success_path is None) == (self.fail_field is None):
            yield "needs either success_path or fail_field"
        if self.on_missing == "pass" and self.fail_field is None:
            yield "on_missing: pass goes with fail_field; a missing flag is no success"


class RecoveryParams(Marked):
    """Parameters of recovery-after-failure.

    `recovery_tools` are names, `@same` meaning the tool that failed; `recovery` are selectors of
    calls or messages. `on_missing` is what a recorded result without the field counts as; na: as
    no failure. Left out, it is no failure where another result of the trace has the field, and
    undecided where none has it.
    """

    model_config = example(
        fail_field="output.success", fail_equals=False, recovery_tools=["@same", "hand_over"]
    )
    recovery_tools: tuple[Name, ...] = Field(
        default=(), description="Tools whose call recovers; `@same` is the one that failed."
    )
    recovery: Selectors | None = Field(default=None, description="Calls or messages that recover.")
    on_missing: OnMissing | None = Field(default=None, description=ON_MISSING)

    def _faults(self) -> Iterator[str]:
        if self.fail_field is None:
            yield "needs fail_field, and fail_equals or fail_matches"
        else:
            yield from super()._faults()
        if not self.recovery_tools and not self.recovery:
            yield "needs recovery_tools, recovery or both"

    @property
    def named(self) -> tuple[str, ...]:
        """The recovery tools, without `@same`."""
        return tuple(name for name in self.recovery_tools if name != SAME)

    @property
    def selectors(self) -> tuple[Selector, ...]:
        """What recovers any failure: the selectors, and the named tools as one more."""
        return (*(self.recovery or ()), *([Selector(tool=self.named)] if self.named else []))


def tool_output_failure(
    trace: Trace, params: OutputFailureParams, context: CheckContext
) -> Decision:
    """Whether no call of the tools failed.

    | each call's field | decision |
    |---|---|
    | success flag true; failure marker absent from the value | pass |
    | success flag false; failure marker there | fail |
    | missing | uncertain (missing-field; `on_missing`) |
    | result not recorded | uncertain (missing-field) |
    | flag of another type, also null and ""; non-finite; `"42"` against `42` | uncertain |
    | no call | na, or uncertain (unknown-tool) |
    | results that may belong to other calls, and differ | uncertain (ambiguous-order) |
    """
    found = calls(trace, params.tool)
    if not found:
        return no_call(params.tool, trace, context)
    outcomes = _outcomes(trace, params)
    decision = all_of([outcomes.of(call) for call in found])
    return capped(decision, unknown_tools(params.tool, trace, context), ("pass", "na"))


def recovery_after_failure(trace: Trace, params: RecoveryParams, context: CheckContext) -> Decision:
    """Whether every failed call is followed, later, by a recovery.

    | trace | decision |
    |---|---|
    | every failure has a later recovery | pass |
    | a failure has none | fail |
    | no failure, no call at all | na |
    | field missing from some recorded results | no failure there (`on_missing`) |
    | field missing from every result | uncertain (missing-field; `on_missing`) |
    | unrecovered, and the result was not recorded or cannot be compared | uncertain |
    | recovery only in the same turn, or with unknown order | uncertain (ambiguous-order) |
    | unrecovered, and a recovery tool is unknown | uncertain (unknown-tool) |
    | unrecovered, and no trace has the role of a recovery | uncertain (missing-field) |
    """
    found = calls(trace, (ANY,))
    turns = turns_of(trace)
    failures = _failures(trace, params, params.on_missing or "na")
    suspects = [(c, r) for c in found if (r := failures.of(c)).state in ("fail", "uncertain")]
    if not suspects and found and params.on_missing is None and not failures.stands_in(found):
        text = f"no result has {failures.name}, so none can say that its call failed"
        return Decision("uncertain", text, cause="missing-field")
    if not suspects:
        text = f"none of {len(found)} tool calls failed" if found else "no tool call"
        refs = cited([] if found else uncalled(trace, (ANY,)))
        return Decision("na", f"{text}: nothing to recover from", refs)
    lines = _Recoveries(trace, params)
    decision = all_of([lines.after(call, reading, turns) for call, reading in suspects])
    return capped(decision, unknown_names(params.selectors, trace, context), ("fail",))


class _Recoveries:
    """The recoveries of one trace: those that serve every failure, and the calls of each tool."""

    def __init__(self, trace: Trace, params: RecoveryParams) -> None:
        self._trace, self._params = trace, params
        found = {(e.id, e.hit): e for s in params.selectors for e in events(trace, s)}
        self._shared = Line(sorted(found.values(), key=lambda event: event.seq))
        self._same: dict[str, Line] = {}

    def after(self, call: Observation, failure: Reading, turns: set[str]) -> Reading:
        """Return whether one failure has a later recovery."""
        failed = call_event(call, turns)
        lines = [
            self._shared,
            *([self._of(call.name)] if SAME in self._params.recovery_tools else []),
        ]
        certain = [e for line in lines if (e := line.following(failed)) is not None]
        if certain:
            first = min(certain, key=lambda event: event.seq)
            citing = (*failure.citing, quote(self._trace, first.place, first.span))
            return Reading("pass", f"{failure.text}, and {first.id} recovers it", citing)
        if failure.state == "uncertain":
            return failure
        loose = next((e for line in lines for e in line.possible(None, failed)), None)
        if loose is not None:
            text = f"{failure.text}, and whether {loose.id} recovers it is not known"
            return Reading("uncertain", text, failure.citing, loose.cause or "ambiguous-order")
        citing = (*failure.citing, *uncalled(self._trace, self._params.named))
        return Reading("fail", f"{failure.text}, and nothing recovers it", citing)

    def _of(self, name: str) -> Line:
        if name not in self._same:
            self._same[name] = Line(events(self._trace, Selector(tool=(name,))))
        return self._same[name]


class _Field:
    """A field of each call's result, and how to read it."""

    def __init__(
        self,
        trace: Trace,
        path: FieldPath,
        on_missing: CellState,
        read: Callable[[Observation, Place], Reading],
    ) -> None:
        self._trace, self._path, self._on_missing, self._read = trace, path, on_missing, read
        self.name = render_steps(path.steps)

    def stands_in(self, found: Iterable[Observation]) -> bool:
        """Whether any of the results has the field."""
        return any(not p.missing for call in found for p in within(call, self._path.steps))

    def of(self, call: Observation) -> Reading:
        """Return what the field says of one call: the worst of its places."""
        blocked = unread(call, self.name)
        if blocked == "missing-field":
            return Reading(
                "uncertain", f"the result of {_name(call)} was not recorded", (), blocked
            )
        if blocked is not None and not self._alike:
            return Reading(
                "uncertain", f"the result of {_name(call)} may be another call's", (), blocked
            )
        places = within(call, self._path.steps)
        if not places:
            return Reading("na", f"{self.name} of {_name(call)} reaches an empty list")
        if len(places) == 1:
            return self._of_place(call, places[0])
        readings = [self._of_place(call, place) for place in places]
        return min(readings, key=lambda reading: WORST_FIRST.index(reading.state))

    def _of_place(self, call: Observation, place: Place) -> Reading:
        if place.missing:
            text: Why = lambda: f"{_spot(call, place)} is missing"  # noqa: E731
            return missing(self._trace, place, self._on_missing, text)
        return self._read(call, place)

    @cached_property
    def _alike(self) -> bool:
        """Whether all results that may be another call's say the same, whosever they are."""
        rivals = [o for o in self._trace.observations if "ambiguous-pairing" in o.flags]
        states = {
            self._of_place(rival, place).state
            for rival in rivals
            for place in within(rival, self._path.steps)
        }
        return len(rivals) > 1 and len(states) == 1 and all(r.has_output for r in rivals)


def _outcomes(trace: Trace, params: OutputFailureParams) -> _Field:
    """Return the field that says whether a call failed."""
    if params.success_path is None:
        return _failures(trace, params, params.on_missing)

    def flag(call: Observation, place: Place) -> Reading:
        def text() -> str:
            return f"{_spot(call, place)} is {shown(place.value)}"

        citing = (quote(trace, place),)
        if isinstance(place.value, bool):
            return Reading("pass" if place.value else "fail", text, citing)
        return Reading("uncertain", f"{text()}, which is no flag", citing, "not-decidable")

    return _Field(trace, params.success_path, params.on_missing, flag)


def _failures(trace: Trace, params: Marked, on_missing: CellState) -> _Field:
    """Return the field that is read as fail where it carries the marker, else as pass."""

    def marker(call: Observation, place: Place) -> Reading:
        hit, span = compare(place.value, params.fail_equals, params.fail_matches)
        citing = (quote(trace, place, span),)

        def text() -> str:
            return f"{_spot(call, place)} is {shown(place.value)}"

        if hit is None:
            why = f"{text()}, which cannot be compared"
            return Reading("uncertain", why, citing, "not-decidable")
        return Reading("fail" if hit else "pass", text, citing)

    if params.fail_field is None:
        raise ValueError("a failure marker needs fail_field")
    return _Field(trace, params.fail_field, on_missing, marker)


def _name(call: Observation) -> str:
    return f"{call.id} ({call.name})"


def _spot(call: Observation, place: Place) -> str:
    return f"{place.path} of {_name(call)}"


CHECKS = (
    Check("tool-output-failure", "1", OutputFailureParams, tool_output_failure),
    Check("recovery-after-failure", "1", RecoveryParams, recovery_after_failure),
)

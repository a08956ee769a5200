"""Primitives over tool calls: tool-output-failure and recovery-after-failure (METHOD 25–27).

Both look for a marker of failure at a path relative to each call. A result that was recorded and
lacks the field carries no marker; a result that was not recorded says nothing.
"""

from __future__ import annotations

from collections.abc import Callable
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
from helix.checks.evidence import MOST_REFS, absence, address, cite, scanned, shown
from helix.checks.outcome import (
    WORST_FIRST,
    OnMissing,
    Reading,
    all_of,
    capped,
    missing,
    no_call,
    unknown_tools,
)
from helix.checks.parameters import Name, Names, Params, PatternParam, RelativePath
from helix.checks.sequence import Line
from helix.fieldpath import FieldPath, parse, render_steps
from helix.model.select import Place, within
from helix.model.trace import Observation, Trace
from helix.model.verdict import CellState, Ref
from helix.registry import Check, CheckContext, Decision

SAME = "@same"


class Marked(Params):
    """A failure marker: the field that holds it, and the value or pattern that is one."""

    fail_field: RelativePath | None = None
    fail_equals: JsonValue = None
    fail_matches: PatternParam | None = None

    @model_validator(mode="after")
    def _one_marker(self) -> Marked:
        asked = self.model_fields_set & {"fail_equals", "fail_matches"}
        if self.fail_field is None and asked:
            raise ValueError(f"{asked.pop()} needs fail_field")
        if self.fail_field is not None and len(asked) != 1:
            got = "both" if asked else "neither"
            raise ValueError(f"needs exactly one of fail_equals and fail_matches (got {got})")
        return self


class OutputFailureParams(Marked):
    """Parameters of tool-output-failure: `success_path`, or a failure marker.

    `on_missing: pass` is for markers alone: it says that a result without the field has not failed.
    """

    tool: Names
    success_path: RelativePath | None = None
    on_missing: OnMissing | Literal["pass"] = "uncertain"

    @model_validator(mode="after")
    def _one_way(self) -> OutputFailureParams:
        if (self.success_path is None) == (self.fail_field is None):
            raise ValueError("needs either success_path or fail_field")
        if self.on_missing == "pass" and self.fail_field is None:
            raise ValueError("on_missing: pass goes with fail_field; a missing flag is no success")
        return self


class RecoveryParams(Marked):
    """Parameters of recovery-after-failure.

    `recovery_tools` are names, `@same` meaning the tool that failed; `recovery` are selectors of
    calls or messages. `on_missing` is what a recorded result without the field counts as; na: as
    no failure.
    """

    fail_field: RelativePath | None = Field(...)
    recovery_tools: tuple[Name, ...] = ()
    recovery: Selectors | None = None
    on_missing: OnMissing = "na"

    @model_validator(mode="after")
    def _some_recovery(self) -> RecoveryParams:
        if not self.recovery_tools and not self.recovery:
            raise ValueError("needs recovery_tools, recovery or both")
        return self


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
    decision = all_of([_outcome(trace, call, params) for call in found])
    unknown = unknown_tools(params.tool, trace, context)
    return capped(decision, unknown, trace, context, ("pass", "na"))


def recovery_after_failure(trace: Trace, params: RecoveryParams, context: CheckContext) -> Decision:
    """Whether every failed call is followed, later, by a recovery.

    | trace | decision |
    |---|---|
    | every failure has a later recovery | pass |
    | a failure has none | fail |
    | no failure, no call at all | na |
    | field missing from a recorded result | no failure there (`on_missing`) |
    | unrecovered, and the result was not recorded or cannot be compared | uncertain |
    | recovery only in the same turn, or with unknown order | uncertain (ambiguous-order) |
    | unrecovered, and a recovery tool is unknown | uncertain (unknown-tool) |
    """
    found = calls(trace, (ANY,))
    turns = turns_of(trace)
    failures = [(call, _failure(trace, call, params, params.on_missing)) for call in found]
    suspects = [(call, r) for call, r in failures if r.state in ("fail", "uncertain")]
    if not suspects:
        proof = absence(trace, parse("obs:*.name")) if not found else None
        text = f"none of {len(found)} tool calls failed" if found else "no tool call"
        return Decision("na", f"{text}: nothing to recover from", (proof,) if proof else ())
    lines = _Recoveries(trace, params)
    decision = all_of([lines.after(call, reading, turns) for call, reading in suspects])
    unknown = unknown_tools((n for n in params.recovery_tools if n != SAME), trace, context)
    return capped(decision, unknown, trace, context, ("fail",))


class _Recoveries:
    """The recoveries of one trace: those that serve every failure, and the calls of each tool."""

    def __init__(self, trace: Trace, params: RecoveryParams) -> None:
        self._trace, self._params = trace, params
        names = tuple(name for name in params.recovery_tools if name != SAME)
        selectors = [*(params.recovery or ()), *([Selector(tool=names)] if names else [])]
        found = {(e.id, e.hit): e for s in selectors for e in events(trace, s)}
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
            refs = (*failure.refs, cite(self._trace, first.place, first.span))
            return Reading("pass", f"{failure.text}, and {first.id} recovers it", refs)
        if failure.state == "uncertain":
            return failure
        loose = next((e for line in lines for e in line.possible(None, failed)), None)
        if loose is not None:
            text = f"{failure.text}, and whether {loose.id} recovers it is not known"
            return Reading("uncertain", text, failure.refs, loose.cause or "ambiguous-order")
        return Reading("fail", f"{failure.text}, and nothing recovers it", self._proof(failure))

    def _of(self, name: str) -> Line:
        if name not in self._same:
            self._same[name] = Line(events(self._trace, Selector(tool=(name,))))
        return self._same[name]

    def _proof(self, failure: Reading) -> tuple[Ref, ...]:
        names = [name for name in self._params.recovery_tools if name != SAME]
        channels = (FieldPath(None, ("name",), observation=name) for name in names[:MOST_REFS])
        scans = (absence(self._trace, channel) for channel in channels)
        return (*failure.refs, *(scan for scan in scans if scan is not None))


def _outcome(trace: Trace, call: Observation, params: OutputFailureParams) -> Reading:
    if params.success_path is None:
        return _failure(trace, call, params, params.on_missing)

    def flag(place: Place) -> Reading:
        refs = (cite(trace, place),)
        text = f"{_spot(call, place)} is {shown(place.value)}"
        if isinstance(place.value, bool):
            return Reading("pass" if place.value else "fail", text, refs)
        return Reading("uncertain", f"{text}, which is no flag", refs, "not-decidable")

    return _read(trace, call, params.success_path, params.on_missing, flag)


def _failure(trace: Trace, call: Observation, params: Marked, on_missing: CellState) -> Reading:
    """Return fail where the call carries the marker, pass where it certainly does not."""

    def marker(place: Place) -> Reading:
        hit, span = compare(place.value, params.fail_equals, params.fail_matches)
        refs = (cite(trace, place, span),)
        text = f"{_spot(call, place)} is {shown(place.value)}"
        if hit is None:
            return Reading("uncertain", f"{text}, which cannot be compared", refs, "not-decidable")
        return Reading("fail" if hit else "pass", text, refs)

    assert params.fail_field is not None
    return _read(trace, call, params.fail_field, on_missing, marker)


def _read(
    trace: Trace,
    call: Observation,
    path: FieldPath,
    on_missing: CellState,
    read: Callable[[Place], Reading],
) -> Reading:
    """Return what the field says of one call: the worst of its places."""
    blocked = unread(call, render_steps(path.steps))
    if blocked == "ambiguous-order" and _alike(trace, path, read):
        blocked = None
    if blocked is not None:
        why = "was not recorded" if blocked == "missing-field" else "may be another call's"
        return Reading("uncertain", f"the result of {call.id} ({call.name}) {why}", (), blocked)
    readings = [_lacks(trace, call, p, on_missing) if p.missing else read(p)
                for p in within(call, path.steps)]  # fmt: skip
    if not readings:
        return Reading("na", f"{path} of {call.id} ({call.name}) reaches an empty list")
    return min(readings, key=lambda reading: WORST_FIRST.index(reading.state))


def _alike(trace: Trace, path: FieldPath, read: Callable[[Place], Reading]) -> bool:
    """Whether all results that may be another call's say the same, whosever they are."""
    rivals = [o for o in trace.observations if "ambiguous-pairing" in o.flags]
    states = {
        None if place.missing else read(place).state
        for rival in rivals
        for place in within(rival, path.steps)
    }
    return len(rivals) > 1 and len(states) == 1 and all(r.has_output for r in rivals)


def _lacks(trace: Trace, call: Observation, place: Place, on_missing: CellState) -> Reading:
    text = f"{_spot(call, place)} is missing"
    if on_missing == "na":  # the common case, and nobody reads its refs
        return Reading("na", text)
    return missing(on_missing, text, scanned(trace, address(trace, call.id, place.path), ""))


def _spot(call: Observation, place: Place) -> str:
    return f"{place.path} of {call.id} ({call.name})"


CHECKS = (
    Check("tool-output-failure", "1", OutputFailureParams, tool_output_failure),
    Check("recovery-after-failure", "1", RecoveryParams, recovery_after_failure),
)

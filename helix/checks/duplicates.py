"""The primitive duplicate-writes: what was done is not done a second time (METHOD 29)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from pydantic import Field, model_validator

from helix.checks.arguments import fingerprint, hidden, place_of
from helix.checks.conditions import calls
from helix.checks.evidence import quote
from helix.checks.outcome import Reading, all_of, capped, no_call, unknown_tools
from helix.checks.parameters import Names, RelativePaths, example
from helix.checks.success import Outcomes, Succeeding
from helix.fieldpath import FieldPath, render_steps
from helix.model.select import Place, within
from helix.model.trace import Observation, Trace
from helix.registry import Check, CheckContext, Decision

_KEPT = "input"


class DuplicateParams(Succeeding):
    """Parameters of duplicate-writes.

    Two calls of one tool are the same where all arguments agree but those at `ignore`, or, given
    `key`, where the arguments at `key` do.
    """

    model_config = example(tool="issue_refund", key="input.order_id")
    tool: Names = Field(description="The tools that must not do one thing twice, or `*` for all.")
    key: RelativePaths = Field(
        default=(), description="The arguments that make two calls the same; none: all of them."
    )
    ignore: RelativePaths = Field(
        default=(), description="Arguments that make no difference, e.g. a request id."
    )

    @model_validator(mode="after")
    def _of_arguments(self) -> DuplicateParams:
        if self.key and self.ignore:
            raise ValueError("key and ignore exclude each other: key names all that counts")
        for path in (*self.key, *self.ignore):
            if path.steps[0] != _KEPT:
                raise ValueError(f"must be a path of the arguments, input.… (got {path})")
        return self


def duplicate_writes(trace: Trace, params: DuplicateParams, context: CheckContext) -> Decision:
    """Whether no two calls of one tool that are the same have both succeeded.

    | calls | decision |
    |---|---|
    | none is the same as an earlier one that succeeded | pass |
    | two that are the same succeeded, in whatever order | fail |
    | two that are the same; one failed | pass: a retry |
    | a result that was not recorded or cannot be read; may be another call's | uncertain |
    | arguments not recorded, or a key argument missing, in both | uncertain (missing-field) |
    | arguments redacted, or with a non-finite number, in both | uncertain (not-decidable) |
    | no call | na, or uncertain (unknown-tool) |
    """
    found = calls(trace, params.tool)
    if not found:
        return no_call(params.tool, trace, context)
    outcomes = Outcomes(trace, params.failed_where)
    earlier: dict[Hashable, tuple[Observation, Reading]] = {}
    readings = []
    for call in found:
        places = [place for path in params.key for place in within(call, path.steps)]
        places = places or [place_of(call)]
        key = (call.name, _key(call, places, params.ignore))
        outcome = outcomes.of(call)
        twin = earlier.get(key)
        readings.append(_reading(trace, call, places, outcome, twin))
        if outcome.state != "fail" and (twin is None or twin[1].state != "pass"):
            earlier[key] = (call, outcome)
    decision = all_of(readings)
    return capped(decision, unknown_tools(params.tool, trace, context), ("pass", "na"))


def _reading(
    trace: Trace,
    call: Observation,
    places: list[Place],
    outcome: Reading,
    twin: tuple[Observation, Reading] | None,
) -> Reading:
    """Return what one call says beside the one that was the same before it and did not fail."""
    mine = tuple(quote(trace, place) for place in places if not place.missing)
    mine = mine or (quote(trace, Place(call.id, "name", call.name)),)
    named = f"{call.id} ({call.name})"
    if outcome.state == "fail" or twin is None:
        return Reading("pass", f"{named} repeats no call that succeeded", mine)
    first, before = twin
    text = f"{named} is the same as {first.id}"
    lost = next((place for place in places if place.missing), None)
    if lost is not None:
        return Reading("uncertain", f"{text}, but both lack {lost.path}", (), "missing-field")
    if (blocked := hidden(call) or hidden(first)) is not None:
        text = f"{text}, but for arguments that cannot be compared"
        return Reading("uncertain", text, (), blocked)
    unsure = next((one for one in (outcome, before) if one.state == "uncertain"), None)
    if unsure is not None:
        return Reading("uncertain", f"{text}; {unsure.text}", (), unsure.cause)
    once = quote(trace, Place(first.id, "name", first.name), note="the first time")
    return Reading("fail", f"{text}, and both succeeded", (*mine, once))


def _key(call: Observation, places: list[Place], ignore: tuple[FieldPath, ...]) -> Hashable:
    """Return what a call shares with those that are the same."""
    if not ignore:
        return tuple(None if place.missing else fingerprint(place.value) for place in places)
    ignored = {place.path for path in ignore for place in within(call, path.steps)}
    return fingerprint(_without(call.input, (_KEPT,), ignored))


def _without(value: Any, at: tuple[str | int, ...], ignored: set[str]) -> Any:
    if isinstance(value, dict):
        return {
            key: _without(item, (*at, key), ignored)
            for key, item in value.items()
            if render_steps((*at, key)) not in ignored
        }
    if isinstance(value, list):
        return [_without(item, (*at, n), ignored) for n, item in enumerate(value)]
    return value


CHECKS = (Check("duplicate-writes", "1", DuplicateParams, duplicate_writes),)

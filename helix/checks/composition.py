"""Checks made of checks: all, any, not, implies and at-least (k of n).

Three values and na: an uncertain or na part never becomes a pass by being turned round, and
learning more of an uncertain part never overturns what was decided without it. A part that does
not apply is set aside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field, model_validator

from helix.checks.outcome import ANY_ORDER, WORST_FIRST, told
from helix.checks.parameters import Params, example
from helix.checks.parts import PartParam, Parts
from helix.checks.run import decide
from helix.model.trace import Trace
from helix.model.verdict import CellState
from helix.registry import Check, CheckContext, Decision

_TURNED: dict[CellState, CellState] = {"pass": "fail", "fail": "pass"}
_REPLY: dict[str, Any] = {"primitive": "presence", "field": "output.response"}
_MAIL: dict[str, Any] = {
    "primitive": "string-equality",
    "field": "obs:send_mail.output.success",
    "expected": True,
}


class OfParams(Params):
    """Parameters of all and any."""

    model_config = example(of=[_REPLY, _MAIL])
    of: Parts = Field(description="The checks.")


class NotParams(Params):
    """Parameters of not."""

    model_config = example(
        of={"primitive": "format-validity", "field": "output.response", "pattern": "(?i)as an ai"}
    )
    of: PartParam = Field(description="The check that must fail.")


class ImpliesParams(Params):
    """Parameters of implies."""

    model_config = example(
        **{"if": {"primitive": "presence", "field": "metadata.vip", "on_missing": "fail"}},
        then=_MAIL,
    )
    premise: PartParam = Field(alias="if", description="The check on which `then` depends.")
    then: PartParam = Field(description="The check that must pass where `if` does.")


class AtLeastParams(OfParams):
    """Parameters of at-least."""

    model_config = example(k=1, of=[_REPLY, _MAIL])
    k: int = Field(ge=1, strict=True, description="How many of the checks must pass.")

    @model_validator(mode="after")
    def _possible(self) -> AtLeastParams:
        if self.k > len(self.of):
            raise ValueError(f"k must be at most {len(self.of)}, the number of checks in of "
                             f"(got {self.k})")  # fmt: skip
        return self


def all_parts(trace: Trace, params: OfParams, context: CheckContext) -> Decision:
    """Whether every check passes; one that does not apply is set aside.

    | two checks | pass | fail | uncertain | na |
    |---|---|---|---|---|
    | pass | pass | fail | uncertain | pass |
    | fail | fail | fail | fail | fail |
    | uncertain | uncertain | fail | uncertain | uncertain |
    | na | pass | fail | uncertain | na |
    """
    return _first_of(_decided(params.of, trace, context), WORST_FIRST)


def any_part(trace: Trace, params: OfParams, context: CheckContext) -> Decision:
    """Whether one of the checks passes; one that does not apply is set aside.

    | two checks | pass | fail | uncertain | na |
    |---|---|---|---|---|
    | pass | pass | pass | pass | pass |
    | fail | pass | fail | uncertain | fail |
    | uncertain | pass | uncertain | uncertain | uncertain |
    | na | pass | fail | uncertain | na |
    """
    return _first_of(_decided(params.of, trace, context), ANY_ORDER)


def not_part(trace: Trace, params: NotParams, context: CheckContext) -> Decision:
    """Whether a check fails.

    | check | decision |
    |---|---|
    | fail | pass |
    | pass | fail |
    | uncertain | uncertain (its cause) |
    | na | na |
    """
    found = decide(params.of, trace, context)
    turned = _TURNED.get(found.state, found.state)
    text = f"{params.of.check.name} {found.state}: {found.detail}"
    return Decision(turned, f"not: {text}", found.refs, found.cause)


def implies(trace: Trace, params: ImpliesParams, context: CheckContext) -> Decision:
    """Whether `then` passes where `if` does.

    An uncertain `if` stays uncertain also where `then` passes: it may turn out not to apply.
    Where a trace without the condition has nothing to pass, `when` makes it na instead.

    | `if` | `then` | decision |
    |---|---|---|
    | pass | pass, fail, uncertain or na | what `then` says |
    | fail | any | pass |
    | uncertain | any | uncertain (its cause) |
    | na | any | na |
    """
    premise = decide(params.premise, trace, context)
    if premise.state == "pass":
        found = decide(params.then, trace, context)
        text = f"{premise.detail}; then {found.detail}"
        return Decision(found.state, text, _distinct([premise, found]), found.cause)
    state: CellState = "pass" if premise.state == "fail" else premise.state
    text = f"if does not hold: {premise.detail}" if state == "pass" else f"if: {premise.detail}"
    return Decision(state, text, premise.refs, premise.cause)


def at_least(trace: Trace, params: AtLeastParams, context: CheckContext) -> Decision:
    """Whether at least `k` of the checks pass.

    | checks | decision |
    |---|---|
    | `k` pass | pass |
    | fewer pass, and with the uncertain ones they would be `k` | uncertain (its cause) |
    | even with the uncertain ones fewer than `k`, and one fails | fail |
    | likewise, none fails, one is uncertain | uncertain (its cause) |
    | too few apply: pass and na, fewer than `k` pass | na |
    """
    found = _decided(params.of, trace, context)
    counts = {state: sum(d.state == state for d in found) for state in WORST_FIRST}
    passing, unsure = counts["pass"], counts["uncertain"]
    if passing >= params.k:
        state: CellState = "pass"
    elif unsure and (passing + unsure >= params.k or not counts["fail"]):
        state = "uncertain"
    else:
        state = "fail" if counts["fail"] else "na"
    deciding = _joined(found, state)
    text = f"{passing} of {len(found)} pass, at least {params.k} must: {deciding.detail}"
    return Decision(state, text, deciding.refs, deciding.cause)


def _decided(parts: Parts, trace: Trace, context: CheckContext) -> list[Decision]:
    return [decide(part, trace, context) for part in parts]


def _first_of(found: Sequence[Decision], order: tuple[CellState, ...]) -> Decision:
    states = {decision.state for decision in found}
    return _joined(found, next(state for state in order if state in states))


def _joined(found: Sequence[Decision], state: CellState) -> Decision:
    """Return the decision in a state for those that are in it: their refs, the first's words."""
    deciding = [decision for decision in found if decision.state == state]
    text = told(deciding[0].detail, len(deciding), len(found))
    return Decision(state, text, _distinct(deciding), deciding[0].cause)


def _distinct(found: Sequence[Decision]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(ref for decision in found for ref in decision.refs))


CHECKS = (
    Check("all", "1", OfParams, all_parts),
    Check("any", "1", OfParams, any_part),
    Check("not", "1", NotParams, not_part),
    Check("implies", "1", ImpliesParams, implies),
    Check("at-least", "1", AtLeastParams, at_least),
)

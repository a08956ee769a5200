"""The conformance suite of checks."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from helix.checks import specs
from helix.grounding import dead, resolve_refs
from helix.model.trace import Trace
from helix.registry import Check, CheckContext, Decision, load
from helix.testing.contract import require, require_item
from helix.testing.sample import trace_of

Given = Trace | Mapping[str, Any]
_STATES = ("pass", "fail", "uncertain", "na")


def check_conforms(
    item: Check,
    params: Mapping[str, Any],
    *,
    passes: Iterable[Given] = (),
    fails: Iterable[Given] = (),
    uncertain: Iterable[Given] = (),
    na: Iterable[Given] = (),
    others: Iterable[Given] = (),
    context: CheckContext | None = None,
    absence: bool = False,
) -> None:
    """Require that a check decides the traces so, cites what stands there, and changes nothing.

    `params` are its parameters as a suite writes them. Traces are `helix.model.trace.Trace`s, or
    their canonical JSON; those of `others` may be decided in any way. There must be a trace that
    passes and one that fails, except where `others` are given alone. A trace that holds nothing
    must not pass, unless `absence` says that the check asks for something not to be there.
    """
    who = require_item("checks", item)
    parameters, context = _parameters(who, item, params), context or CheckContext()
    wanted = dict(zip(_STATES, map(list, (passes, fails, uncertain, na)), strict=True))
    loose = list(others)
    require(
        (wanted["pass"] and wanted["fail"]) or (loose and not any(wanted.values())),
        f"{who}: needs a trace that passes and one that fails as examples",
    )
    for state, traces in wanted.items():
        for given in traces:
            decision = _decided(who, item, trace_of(given), parameters, context)
            require(
                decision.state == state,
                f"{who}: trace {trace_of(given).id!r} must be {state} "
                f"(got {decision.state}: {decision.detail})",
            )
    for given in loose:
        _decided(who, item, trace_of(given), parameters, context)
    nothing = _decided(who, item, trace_of({"id": "nothing", "output": None}), parameters, context)
    require(absence or nothing.state != "pass", f"{who}: a trace that holds nothing must not pass")


def _parameters(who: str, item: Check, params: Mapping[str, Any]) -> BaseModel:
    """Return the parameters, read as a row's `code_eval` is; an unknown one must be refused."""
    registry = load([])

    def find(name: str) -> Check:
        found: Check = item if name == item.name else registry.get("checks", name)
        return found

    def written(**more: Any) -> BaseModel:
        return specs.read({**params, **more, "primitive": item.name}, find).params

    try:
        parameters = written()
    except ValueError as error:
        raise AssertionError(f"{who} refuses its own example parameters: {error}") from None
    try:
        written(no_such_parameter=1)
    except ValueError:
        return parameters
    raise AssertionError(
        f"{who} must refuse a parameter that it does not know: derive from helix.checks.Params"
    )


def _decided(
    who: str, item: Check, trace: Trace, params: BaseModel, context: CheckContext
) -> Decision:
    told = f"{who}: trace {trace.id!r}"
    before = copy.deepcopy(trace).to_dict()
    kept = params.model_dump(mode="json")
    try:
        decision = item.decide(trace, params, context)
    except Exception as error:
        raise AssertionError(f"{told} makes it raise {type(error).__name__}: {error}") from error
    require(
        isinstance(decision, Decision),
        f"{told}: must return helix.registry.Decision (got {type(decision).__name__})",
    )
    unchanged = trace.to_dict() == before and params.model_dump(mode="json") == kept
    require(unchanged, f"{told}: it or the parameters are changed by the check")
    _is_cited(told, trace, decision)
    require(item.decide(trace, params, context) == decision, f"{told} is decided otherwise again")
    hidden = copy.deepcopy(trace)
    hidden.labels = {"expected": "anything"}
    same = item.decide(hidden, params, context) == decision
    require(same, f"{told} is decided by its labels, which no check may read")
    return decision


def _is_cited(told: str, trace: Trace, decision: Decision) -> None:
    require(decision.detail.strip(), f"{told}: a decision needs a detail in words")
    if decision.state in ("pass", "fail"):
        require(decision.refs, f"{told}: {decision.state} must cite the place that decided it")
    gone = dead(resolve_refs(trace, decision.refs))
    if gone:
        place = f"{gone[0].obs} {gone[0].path}"
        raise AssertionError(f"{told}: cites {place}, where {gone[0].value!r} does not stand")

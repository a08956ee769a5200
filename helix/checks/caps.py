"""The primitive caps: how much a run may take of what was counted or recorded (METHOD 29)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Annotated, Any

from pydantic import Field, model_validator

from helix.checks.arguments import fingerprint, hidden
from helix.checks.conditions import ANY, calls
from helix.checks.evidence import Citing, look, nonfinite, quote, shown
from helix.checks.outcome import (
    ON_MISSING,
    OnMissing,
    Reading,
    all_of,
    missing,
    unknown_tools,
)
from helix.checks.parameters import Name, Params, example
from helix.fieldpath import MISSING, FieldPath, parse
from helix.model.select import Place, select
from helix.model.trace import Observation, Trace
from helix.model.verdict import Cause
from helix.registry import Check, CheckContext, Decision

Count = Annotated[int, Field(ge=0, strict=True)]
AtLeastOne = Annotated[int, Field(ge=1, strict=True)]
Amount = Annotated[float, Field(ge=0, strict=True, allow_inf_nan=False)]
_USAGE = {
    "prompt_tokens": ("usage.promptTokens",),
    "completion_tokens": ("usage.completionTokens",),
    "tokens": ("usage.promptTokens", "usage.completionTokens"),
    "cost_usd": ("usage.costUsd",),
    "latency_ms": ("usage.latencyMs",),
}


class CapsParams(Params):
    """Parameters of caps: each is the most that is allowed, and at least one is given."""

    model_config = example(calls=20, calls_of={"issue_refund": 1}, cost_usd=0.5)
    steps: Count | None = Field(
        default=None, description="Observations of any type, the steps of the report."
    )
    calls: Count | None = Field(default=None, description="Tool calls.")
    calls_of: dict[Name, AtLeastOne] = Field(default={}, description="Calls of each tool.")
    retries: Count | None = Field(
        default=None, description="How often one call may be made again with the same arguments."
    )
    tokens: Count | None = Field(default=None, description="Prompt and completion tokens.")
    prompt_tokens: Count | None = Field(default=None, description="Prompt tokens.")
    completion_tokens: Count | None = Field(default=None, description="Completion tokens.")
    cost_usd: Amount | None = Field(default=None, description="US dollars.")
    latency_ms: Amount | None = Field(default=None, description="Milliseconds of the whole run.")
    on_missing: OnMissing = Field(default="uncertain", description=ON_MISSING)

    @model_validator(mode="after")
    def _some_cap(self) -> CapsParams:
        if not self.model_fields_set - {"on_missing"}:
            known = ", ".join(name for name in CapsParams.model_fields if name != "on_missing")
            raise ValueError(f"needs at least one of {known}")
        return self


def caps(trace: Trace, params: CapsParams, context: CheckContext) -> Decision:
    """Whether the run stays within every cap.

    | each cap | decision |
    |---|---|
    | the count or amount is at most the cap | pass |
    | it is more, or what is known of it alone is more | fail |
    | usage or a part of it not recorded: never 0 | uncertain (missing-field; `on_missing`) |
    | a sum that some model calls are missing from, within the cap | uncertain (missing-field) |
    | usage that is no number, negative or non-finite | uncertain (not-decidable) |
    | `retries`: arguments not recorded, redacted or non-finite, where it matters | uncertain |
    | no observation, no tool call, no call of a known tool | na |
    | `calls_of`: an unknown tool | uncertain (unknown-tool) |
    """
    readings = [*_counts(trace, params, context), *_usages(trace, params)]
    return all_of(readings)


def _counts(trace: Trace, params: CapsParams, context: CheckContext) -> Iterator[Reading]:
    made = calls(trace, (ANY,))
    if params.steps is not None:
        look_at = look(trace, parse("observations[*].name"))
        yield _count(trace, "steps", trace.observations, params.steps, look_at)
    if params.calls is not None:
        yield _count(trace, "tool calls", made, params.calls, _uncalled(trace, ANY))
    for name, cap in params.calls_of.items():
        unknown = unknown_tools([name], trace, context)
        if unknown is not None:
            yield Reading(unknown.state, unknown.detail, (), unknown.cause)
            continue
        found = [call for call in made if call.name == name]
        yield _count(trace, f"calls of {name}", found, cap, _uncalled(trace, name))
    if params.retries is not None:
        yield _retries(trace, made, params.retries)


def _uncalled(trace: Trace, name: str) -> Citing:
    return look(trace, FieldPath(None, ("name",), observation=name))


def _count(
    trace: Trace, what: str, found: Sequence[Observation], cap: int, none: Citing
) -> Reading:
    if not found:
        return Reading("na", f"no {what}: nothing to count", (none,))
    text = f"{len(found)} {what}, at most {cap} allowed"
    if len(found) <= cap:
        return Reading("pass", text, (quote(trace, _name(found[-1])),))
    return Reading("fail", f"{text}: {found[cap].id} is one too many", _cited(trace, found[cap]))


def _retries(trace: Trace, made: Sequence[Observation], cap: int) -> Reading:
    """Rule on the call that is made most often; calls of unknown arguments may be any."""
    if not made:
        return Reading("na", "no tool call: nothing to count", (_uncalled(trace, ANY),))
    groups: dict[tuple[str, Hashable], list[Observation]] = {}
    loose: Counter[str] = Counter()
    cause: Cause = "missing-field"
    for call in made:
        blocked = hidden(call)
        if blocked is None:
            groups.setdefault((call.name, fingerprint(call.input)), []).append(call)
        else:
            loose[call.name] += 1
            cause = blocked
    most = max(groups.values(), key=len, default=[])
    if len(most) > cap + 1:
        again = most[cap + 1]
        text = f"{again.name} is called {len(most)} times with the same arguments, at most {cap}"
        citing = (*_cited(trace, again), *_cited(trace, most[0]))
        return Reading("fail", f"{text} retries allowed: {again.id} is one too many", citing)
    known = Counter(dict.fromkeys(loose, 0))
    for (name, _), members in groups.items():
        known[name] = max(known[name], len(members))
    open_ones = [name for name in loose if loose[name] + known[name] > cap + 1]
    if open_ones:
        text = f"whether calls of {open_ones[0]} repeat is not known: not all arguments are"
        return Reading("uncertain", text, (), cause)
    text = f"no call is made again more than {cap} times"
    return Reading("pass", text, _cited(trace, (most or made)[-1]))


def _usages(trace: Trace, params: CapsParams) -> Iterator[Reading]:
    for name, paths in _USAGE.items():
        cap = getattr(params, name)
        if cap is not None:
            yield _usage(trace, name, [select(trace, parse(p))[0] for p in paths], cap, params)


def _usage(trace: Trace, name: str, places: list[Place], cap: float, params: CapsParams) -> Reading:
    """Rule on a sum of recorded amounts; those that are known decide alone where they exceed it."""
    known = [place for place in places if _is_amount(place.value)]
    citing = tuple(quote(trace, place) for place in known)
    total = sum(place.value for place in known)
    if total > cap:
        more = "" if len(known) == len(places) else " or more"
        return Reading("fail", f"{name} is {total}{more}, at most {cap} allowed", citing)
    for place in places:
        if place.value is MISSING or place.value is None:
            text = f"{place.path} was not recorded"
            return missing(trace, place, params.on_missing, text)
        if place.path.removeprefix("usage.") in trace.usage.get("partial", ()):
            text = f"{place.path} is a part of the whole: not every model call recorded its own"
            return Reading("uncertain", text, (quote(trace, place),), "missing-field")
        if not _is_amount(place.value):
            text = f"{place.path} is {shown(place.value)}, which is no amount"
            return Reading("uncertain", text, (quote(trace, place),), "not-decidable")
    return Reading("pass", f"{name} is {total}, at most {cap} allowed", citing)


def _is_amount(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and not nonfinite(value) and value >= 0


def _cited(trace: Trace, call: Observation) -> tuple[Citing, ...]:
    return (quote(trace, _name(call)),)


def _name(call: Observation) -> Place:
    return Place(call.id, "name", call.name, call.seq)


CHECKS = (Check("caps", "1", CapsParams, caps),)

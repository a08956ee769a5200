"""The primitive value-flow: an argument holds what was returned or said, nothing made up."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field, model_validator

from helix.checks.arguments import hidden
from helix.checks.conditions import calls
from helix.checks.evidence import nonfinite, quote, shown, spot
from helix.checks.mentions import Key, keys_of, mentions
from helix.checks.outcome import (
    ON_MISSING,
    OnMissing,
    Reading,
    all_of,
    capped,
    cited,
    missing,
    no_call,
    uncalled,
    unknown_tools,
)
from helix.checks.parameters import (
    Names,
    Params,
    Paths,
    PatternParam,
    RelativePath,
    RelativePaths,
    example,
)
from helix.checks.references import traced
from helix.checks.roles import Role
from helix.checks.sources import GIVEN_CHANNELS, GIVERS, Sources, citable, given
from helix.fieldpath import parse_relative, render_steps
from helix.model.select import Place, select, within
from helix.model.tokens import as_text
from helix.model.trace import Observation, Trace
from helix.registry import Check, CheckContext, Decision


class FlowParams(Params):
    """Parameters of value-flow.

    Without `sources` a value may come from the input, from what the roles said, and from the
    result or error of any earlier call.
    """

    model_config = example(
        tool="issue_refund", argument="input.amount", sources="obs:quote.output.total"
    )
    tool: Names = Field(description="The tools whose arguments are looked at, or `*` for all.")
    argument: RelativePaths = Field(
        min_length=1, description="The arguments; objects and lists are looked at leaf by leaf."
    )
    sources: Paths | None = Field(default=None, description="The only places it may come from.")
    roles: tuple[Role, ...] = Field(
        default=GIVERS, description="Whose messages count as sources, where none are named."
    )
    generated: tuple[PatternParam, ...] = Field(
        default=(), description="Values that the subject may make up: those that match."
    )
    on_missing: OnMissing = Field(default="uncertain", description=ON_MISSING)

    @model_validator(mode="after")
    def _of_arguments(self) -> FlowParams:
        for path in self.argument:
            if path.steps[0] != "input":
                raise ValueError(f"argument must be a path of the arguments, input.… (got {path})")
        return self


def value_flow(trace: Trace, params: FlowParams, context: CheckContext) -> Decision:
    """Whether every argument holds a value that was returned or said before the call.

    A value came from a source that is it, or holds it on token boundaries; case, the spelling of
    numbers and that of dates do not matter. What the subject itself wrote is no source.

    | argument of each call | decision |
    |---|---|
    | each value was returned or said earlier, or matches `generated` | pass |
    | one was not, or only later | fail |
    | missing, or arguments not recorded | uncertain (missing-field; `on_missing`) |
    | redacted, or a non-finite number | uncertain (not-decidable) |
    | empty text, null, true, false, `{}`, `[]`: nothing to look up | na |
    | not found, and an earlier result was not recorded, was cut or redacted | uncertain |
    | only in the same turn, or in a result that may be another call's | uncertain |
    | not found, and a tool of `sources` is unknown | uncertain (unknown-tool) |
    | no call | na, or uncertain (unknown-tool) |
    """
    found = calls(trace, params.tool)
    if not found:
        return no_call(params.tool, trace, context)
    places = [(call, place) for call in found for place in _leaves(call, params.argument)]
    if not places:
        listed = ", ".join(map(str, params.argument))
        return Decision("na", f"{listed} reaches an empty list", cited(uncalled(trace, ())))
    texts = {as_text(place.value) for _, place in places if citable(place.value)}
    sources = Sources(trace, _origins(trace, params), texts, folds=True, keyed=True)
    decision = all_of([_reading(trace, params, sources, *pair) for pair in places])
    decision = capped(decision, unknown_tools(params.tool, trace, context), ("pass", "na"))
    makers = [p.observation for p in params.sources or () if p.observation is not None]
    return capped(decision, unknown_tools(makers, trace, context), ("fail",))


def _origins(trace: Trace, params: FlowParams) -> Iterator[Place]:
    if params.sources is None:
        return given(trace, params.roles)
    return (place for path in params.sources for place in select(trace, path))


def _reading(
    trace: Trace, params: FlowParams, sources: Sources, call: Observation, place: Place
) -> Reading:
    where = spot(trace, place)
    if call.input is None or place.missing:
        return missing(trace, place, params.on_missing, f"{where} is missing")
    text = f"{where} is {shown(place.value)}"
    if hidden(call) is not None and ("redacted" in call.flags or nonfinite(place.value)):
        own = (quote(trace, place),)
        return Reading("uncertain", f"{text}, which cannot be looked up", own, "not-decidable")
    if not citable(place.value):
        return Reading("na", f"{text}: nothing to look up")
    value = as_text(place.value)
    if any(pattern.find(value) is not None for pattern in params.generated):
        return Reading("pass", f"{text}, which may be made up", (quote(trace, place),))
    found = sources.holding(value) or sources.stating(_keys(place))
    return traced(trace, sources, place, found, params.sources or GIVEN_CHANNELS)


def _keys(place: Place) -> list[Key]:
    """Return what a number, or a text that is one amount or date and nothing else, may equal."""
    if not isinstance(place.value, str):
        return [key for key, _ in keys_of(place.value)]
    text = place.value.strip()
    whole = [one for one in mentions(text) if one.span == (0, len(text)) and one.kind != "quote"]
    return [key for mention in whole for key in mention.keys]


def _leaves(call: Observation, paths: tuple[RelativePath, ...]) -> Iterator[Place]:
    """Yield every value below the paths that holds no other, in order."""
    for path in paths:
        for place in within(call, path.steps):
            stack = [(parse_relative(place.path).steps, place.value)]
            while stack:
                steps, value = stack.pop()
                if isinstance(value, dict) and value:
                    below = [((*steps, key), item) for key, item in value.items()]
                    stack.extend(reversed(below))
                elif isinstance(value, list) and value:
                    items = [((*steps, at), item) for at, item in enumerate(value)]
                    stack.extend(reversed(items))
                else:
                    yield Place(place.obs, render_steps(steps), value, place.seq)


CHECKS = (Check("value-flow", "1", FlowParams, value_flow),)

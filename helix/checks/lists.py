"""The primitive tool-list: which tools may be called, and which may not (METHOD 29)."""

from __future__ import annotations

from pydantic import Field, model_validator

from helix.checks.conditions import ANY, calls
from helix.checks.evidence import MOST_REFS, quote
from helix.checks.outcome import Reading, all_of, capped, cited, no_call, uncalled, unknown_tools
from helix.checks.parameters import Names, Params, example
from helix.errors import did_you_mean
from helix.model.select import Place
from helix.model.trace import Observation, Trace
from helix.registry import Check, CheckContext, Decision

_MOST_NAMED = 8


class ToolListParams(Params):
    """Parameters of tool-list: names as the trace spells them."""

    model_config = example(allow=["search", "read_order"], deny=["delete_order"])
    allow: Names | None = Field(default=None, description="The only tools that may be called.")
    deny: Names | None = Field(default=None, description="Tools that must not be called.")

    @model_validator(mode="after")
    def _fits(self) -> ToolListParams:
        if self.allow is None and self.deny is None:
            raise ValueError("needs allow, deny or both")
        both = sorted({*(self.allow or ())} & {*(self.deny or ())})
        if both:
            raise ValueError(f"allow and deny must have no tool in common (got {', '.join(both)})")
        if ANY in (*(self.allow or ()), *(self.deny or ())):
            raise ValueError("must name tools (got *); trajectory-match with no expected call fits")
        return self


def tool_list(trace: Trace, params: ToolListParams, context: CheckContext) -> Decision:
    """Whether only allowed tools, and no denied ones, were called.

    | trace | decision |
    |---|---|
    | every call is of a tool of `allow`, none of a tool of `deny` | pass |
    | a call of a tool that is not in `allow`, or is in `deny` | fail |
    | no tool call at all | na |
    | a tool of `deny` is unknown, and nothing fails | uncertain (unknown-tool) |

    Names are compared as they are, case included. An unknown tool in `allow` changes nothing: the
    list itself says which tools there are.
    """
    found = calls(trace, (ANY,))
    denied = params.deny or ()
    if not found:
        decision = no_call((ANY,), trace, context)
    else:
        readings = [_reading(trace, call, params) for call in found]
        failed = any(reading.state == "fail" for reading in readings)
        decision = all_of(readings) if failed else _clean(trace, found, params)
    return capped(decision, unknown_tools(denied, trace, context), ("pass", "na"))


def _reading(trace: Trace, call: Observation, params: ToolListParams) -> Reading:
    allowed = params.allow
    if call.name in (params.deny or ()):
        text = f"{call.id} calls {call.name}, which is denied"
    elif allowed is not None and call.name not in allowed:
        more = ", …" if len(allowed) > _MOST_NAMED else ""
        listed = f"{', '.join(allowed[:_MOST_NAMED])}{more}"
        hint = did_you_mean(call.name, allowed)
        text = f"{call.id} calls {call.name}, which is not allowed (allowed: {listed}){hint}"
    else:
        return Reading("pass", "")
    return Reading("fail", text, (quote(trace, _name(call)),))


def _clean(trace: Trace, found: list[Observation], params: ToolListParams) -> Decision:
    denied = params.deny or ()
    said = ["all are allowed"] if params.allow else []
    said += [f"none is of {' or '.join(denied[:_MOST_NAMED])}"] if denied else []
    named = [quote(trace, _name(call)) for call in found[:MOST_REFS]] if params.allow else []
    text = f"tool calls ({len(found)}): {', '.join(said)}"
    return Decision("pass", text, cited([*uncalled(trace, denied), *named]))


def _name(call: Observation) -> Place:
    return Place(call.id, "name", call.name, call.seq)


CHECKS = (Check("tool-list", "1", ToolListParams, tool_list),)

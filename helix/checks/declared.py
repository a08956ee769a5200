"""What a trace declares of itself: the primitives error-spans and finish-reason (METHOD 29)."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field, model_validator

from helix.checks.conditions import ANY
from helix.checks.evidence import look, nonfinite, quote, shown, standing_there
from helix.checks.fields import FIELD, decide_field
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
from helix.checks.parameters import Name, Names, Params, PathParam, example
from helix.fieldpath import MISSING, parse
from helix.model.select import Place
from helix.model.trace import TOOL, Observation, Trace
from helix.registry import Check, CheckContext, Decision

_ERROR = "error"
ENDED = ("stop", "end_turn", "stop_sequence", "tool_call", "tool_calls", "tool_use",
         "function_call", "completed")  # fmt: skip
CUT = ("length", "max_tokens", "max_output_tokens", "model_context_window_exceeded", "incomplete",
       "content_filter", "refusal", "safety", "recitation", "blocklist", "prohibited_content",
       "malformed_function_call", "error", "failed", "cancelled")  # fmt: skip


class ErrorSpansParams(Params):
    """Parameters of error-spans: without `name` and `type`, every observation is looked at."""

    model_config = example(type="TOOL")
    name: Names | None = Field(default=None, description="Observations of these names alone.")
    type: Names | None = Field(
        default=None, description="Observations of these types alone, e.g. TOOL or GENERATION."
    )
    on_missing: OnMissing = Field(
        default="uncertain", description="What a call without a recorded result counts as."
    )


class FinishReasonParams(Params):
    """Parameters of finish-reason; a reason in both lists is a proper end."""

    model_config = example(field="raw.stop_reason", cut=["max_tokens", "refusal"])
    field: PathParam = Field(description=FIELD)
    ended: tuple[Name, ...] = Field(default=ENDED, description="Reasons of a proper end.")
    cut: tuple[Name, ...] = Field(default=CUT, description="Reasons that are none.")
    on_missing: OnMissing = Field(default="uncertain", description=ON_MISSING)

    @model_validator(mode="after")
    def _something(self) -> FinishReasonParams:
        if not self.ended and not self.cut:
            raise ValueError("needs a reason in ended or in cut")
        return self


def error_spans(trace: Trace, params: ErrorSpansParams, context: CheckContext) -> Decision:
    """Whether no observation declares an error: by `error`, by status or level error.

    Text that reads like an error declares nothing; tool-output-failure looks for that.

    | each observation | decision |
    |---|---|
    | no error, and a result or another status was recorded; a type other than TOOL | pass |
    | an error text, also an empty one; status or level error, in any case | fail |
    | a call without error, status and result | uncertain (missing-field; `on_missing`) |
    | error of a result that may belong to a call of another name | uncertain (ambiguous-order) |
    | no such observation | na, or uncertain (unknown-tool) |
    """
    found = [o for o in trace.observations if _chosen(o, params)]
    if not found:
        return _no_observation(trace, params, context)
    pairing_matters = any(
        "ambiguous-pairing" in o.flags and not _chosen(o, params) for o in trace.observations
    )
    readings = [_declares(trace, o, params, pairing_matters) for o in found]
    unknown = unknown_tools(params.name or (), trace, context)
    return capped(all_of(readings), unknown, ("pass", "na"))


def finish_reason(trace: Trace, params: FinishReasonParams, context: CheckContext) -> Decision:
    """Whether generation ended properly: was not cut off, refused or filtered.

    Case does not matter, and `-` is `_`. Where a source keeps the reason depends on its format:
    `raw.stop_reason`, `raw.choices[*].finish_reason`, `obs:NAME.output.finish_reason`.

    | value | decision |
    |---|---|
    | a reason of `ended`, or a list of such reasons | pass |
    | a reason of `cut`, or a list with one | fail |
    | a reason of neither; null, number, empty list, non-finite | uncertain (not-decidable) |
    | missing | uncertain (missing-field; `on_missing`) |
    | no such call | na, or uncertain (unknown-tool) |
    | result that may belong to another call | uncertain (ambiguous-order) |
    """
    ended, cut = set(map(_folded, params.ended)), set(map(_folded, params.cut))

    def read(place: Place) -> Reading:
        where, citing = standing_there(trace, place), (quote(trace, place),)
        value = place.value
        reasons = value if isinstance(value, list) else [value]
        if not reasons or nonfinite(value) or not all(isinstance(r, str) for r in reasons):
            text = f"{where}, which is no finish reason"
            return Reading("uncertain", text, citing, "not-decidable")
        words = [_folded(reason) for reason in reasons]
        if any(word in cut and word not in ended for word in words):
            return Reading("fail", where, citing)
        if all(word in ended for word in words):
            return Reading("pass", where, citing)
        text = f"{where}, which is neither in ended nor in cut"
        return Reading("uncertain", text, citing, "not-decidable")

    return decide_field(trace, context, params.field, params.on_missing, read)


def _chosen(observation: Observation, params: ErrorSpansParams) -> bool:
    named = params.name is None or ANY in params.name or observation.name in params.name
    return named and (params.type is None or observation.type in params.type)


def _no_observation(trace: Trace, params: ErrorSpansParams, context: CheckContext) -> Decision:
    if params.name is not None and params.type is None:
        return no_call(params.name, trace, context)
    types = " or ".join(params.type) if params.type else ""
    channels = ["observations[*].type"] if not trace.observations else []
    refs = cited(look(trace, parse(channel)) for channel in channels)
    text = f"no observation{f' of type {types}' if types else ''}: nothing to check"
    return capped(
        Decision("na", text, refs), unknown_tools(params.name or (), trace, context), ("na",)
    )


def _declares(
    trace: Trace, observation: Observation, params: ErrorSpansParams, pairing_matters: bool
) -> Reading:
    def who() -> str:
        return f"{observation.id} ({observation.name})"

    places = _errors(observation)
    if places:
        text = f"{who()} declares {places[0].path} {shown(places[0].value)}"
        if pairing_matters and "ambiguous-pairing" in observation.flags:
            return Reading("uncertain", f"{text}, which may be another's", (), "ambiguous-order")
        return Reading("fail", text, tuple(quote(trace, place) for place in places))
    silent = not observation.has_output and observation.status is None
    if observation.type == TOOL and silent:
        place = Place(observation.id, "output", MISSING, observation.seq)
        text = f"the result of {who()} was not recorded"
        return missing(trace, place, params.on_missing, text)
    path = "name" if observation.status is None else "status"
    place = Place(observation.id, path, getattr(observation, path), observation.seq)
    return Reading("pass", lambda: f"{who()} declares no error", (quote(trace, place),))


def _errors(observation: Observation) -> Sequence[Place]:
    """Return the fields in which an observation declares an error."""
    status, level = observation.status, observation.level
    if observation.error is None and status is None and level is None:
        return ()
    told = [("error", observation.error)] if observation.error is not None else []
    for path, value in (("status", status), ("level", level)):
        if value is not None and value.casefold() == _ERROR:
            told.append((path, value))
    return [Place(observation.id, path, value, observation.seq) for path, value in told]


def _folded(reason: str) -> str:
    return reason.casefold().replace("-", "_")


CHECKS = (
    Check("error-spans", "1", ErrorSpansParams, error_spans),
    Check("finish-reason", "1", FinishReasonParams, finish_reason),
)

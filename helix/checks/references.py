"""The primitive ref-integrity: what is used was produced earlier (METHOD 25)."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field, model_validator

from helix.checks.evidence import MOST_REFS, look, quote, spot, standing_there
from helix.checks.outcome import (
    ON_MISSING,
    OnMissing,
    Reading,
    Why,
    all_of,
    capped,
    cited,
    missing,
    no_call,
    unknown_tools,
)
from helix.checks.parameters import Params, Paths, example
from helix.checks.sources import Finds, Sources, citable, nowhere
from helix.fieldpath import FieldPath
from helix.model.select import Place, matching, select
from helix.model.tokens import as_text
from helix.model.trace import Trace
from helix.registry import Check, CheckContext, Decision


class IntegrityParams(Params):
    """Parameters of ref-integrity: one path or a list of them, on either side."""

    model_config = example(producer="obs:find_user.output.id", consumer="obs:charge.input.user_id")
    producer: Paths = Field(description="Where values come from.")
    consumer: Paths = Field(description="Where they are used.")
    on_missing: OnMissing = Field(default="uncertain", description=ON_MISSING)

    @model_validator(mode="after")
    def _places_have_an_order(self) -> IntegrityParams:
        for path in (*self.producer, *self.consumer):
            if path.root in ("observations", "transcript") and len(path.steps) < 2:
                raise ValueError(
                    f"path '{path}' must name a field of each item, e.g. transcript[*].text"
                )
        return self


def ref_integrity(trace: Trace, params: IntegrityParams, context: CheckContext) -> Decision:
    """Whether every value that the consumer uses was produced earlier.

    A value was produced where it equals a producer's text, number or object key, or stands in its
    text on token boundaries. Objects and lists are searched leaf by leaf. `input` comes before
    everything, `output` after it; a result comes after the arguments of its call.

    | consumer value | decision |
    |---|---|
    | produced earlier | pass |
    | produced nowhere, only later, or only in itself | fail |
    | missing | uncertain (missing-field; `on_missing`) |
    | null, boolean, empty text, object, list, non-finite | uncertain (not-decidable) |
    | no call, an empty list | na, or uncertain (unknown-tool) |
    | produced only in the same turn, or in a result that may be another call's | uncertain |
    | not found, and an earlier result was not recorded, was cut or redacted | uncertain |
    | not found, and a producer's tool is unknown | uncertain (unknown-tool) |
    """
    consumers = [place for path in params.consumer for place in select(trace, path)]
    consumed = [p.observation for p in params.consumer if p.observation is not None]
    if not consumers:
        return _nothing(trace, params, consumed, context)
    texts = {as_text(p.value) for p in consumers if citable(p.value)}
    made = (place for path in params.producer for place in select(trace, path))
    sources = Sources(trace, made, texts)
    decision = all_of([_reading(trace, params, sources, place) for place in consumers])
    decision = capped(decision, unknown_tools(consumed, trace, context), ("pass", "na"))
    makers = [p.observation for p in params.producer if p.observation is not None]
    return capped(decision, unknown_tools(makers, trace, context), ("fail",))


def _reading(trace: Trace, params: IntegrityParams, sources: Sources, place: Place) -> Reading:
    """Return what one consumer value says."""
    if place.missing:
        return missing(trace, place, params.on_missing, f"{spot(trace, place)} is missing")
    if not citable(place.value):
        text = f"{standing_there(trace, place)}, which refers to nothing that can be looked up"
        return Reading("uncertain", text, (quote(trace, place),), "not-decidable")
    found = sources.holding(as_text(place.value))
    return traced(trace, sources, place, found, params.producer)


def traced(
    trace: Trace,
    sources: Sources,
    place: Place,
    found: Finds,
    channels: Sequence[FieldPath],
) -> Reading:
    """Return whether a value that was found in some sources was produced before it was used."""

    def why(what: str) -> Why:
        return lambda: f"{standing_there(trace, place)}, {what}"

    own = quote(trace, place)
    standing, first = sources.standing(found, place)
    if standing == "unsure":
        reason = why("and whether it was produced earlier is not known")
        return Reading("uncertain", reason, (own,), "ambiguous-order")
    if standing == "earlier" and first is not None:
        source = first.source.place
        origin = quote(trace, source, first.span)
        return Reading("pass", why(f"from {spot(trace, source)}"), (own, origin))
    if sources.incomplete_before(place):
        reason = why("not found, but a result that may hold it was not recorded whole")
        return Reading("uncertain", reason, (own,), "missing-field")
    if first is not None:
        later = quote(trace, first.source.place, first.span, note="produced too late")
        return Reading("fail", why("produced only later"), (own, later))
    proof = nowhere(trace, as_text(place.value), channels)
    return Reading("fail", why("produced nowhere"), (own, *proof))


def _nothing(
    trace: Trace, params: IntegrityParams, consumed: list[str], context: CheckContext
) -> Decision:
    idle = [name for name in consumed if not matching(trace, name)]
    if idle:
        return no_call(idle, trace, context)
    listed = ", ".join(str(path) for path in params.consumer)
    refs = cited(look(trace, path) for path in params.consumer[:MOST_REFS])
    return Decision("na", f"{listed} reaches an empty list", refs)


CHECKS = (Check("ref-integrity", "1", IntegrityParams, ref_integrity),)

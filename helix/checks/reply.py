"""The primitive reply-grounding: what a reply states was returned or said before (METHOD 29)."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from helix.checks.evidence import Citing, nonfinite, quote, shown, spot
from helix.checks.fields import FIELD, decide_field
from helix.checks.mentions import Kind, Mention, mentions
from helix.checks.outcome import ON_MISSING, OnMissing, Reading, capped, unknown_tools, worst_told
from helix.checks.parameters import Params, PathParam, Paths, PatternParam, example
from helix.checks.roles import Role
from helix.checks.sources import GIVEN_CHANNELS, GIVERS, Found, Sources, given, nowhere
from helix.model.select import Place, select
from helix.model.trace import Trace
from helix.registry import Check, CheckContext, Decision


class ReplyParams(Params):
    """Parameters of reply-grounding.

    Without `sources` a statement may come from the input, from what the roles said, and from the
    result or error of any earlier call. The kinds `time` (hours and minutes) and `day` (weekdays,
    tomorrow, next week) are looked at where they are named.
    """

    model_config = example(field="output.response", kinds=["amount", "date", "id"])
    field: PathParam = Field(default="output.response", validate_default=True, description=FIELD)
    kinds: tuple[Kind, ...] = Field(
        default=("number", "amount", "date", "id", "quote"),
        min_length=1,
        description="What is looked up.",
    )
    sources: Paths | None = Field(default=None, description="The only places it may come from.")
    roles: tuple[Role, ...] = Field(
        default=GIVERS, description="Whose messages count as sources, where none are named."
    )
    ignore: tuple[PatternParam, ...] = Field(
        default=(), description="Statements that need no source: those that match."
    )
    on_missing: OnMissing = Field(default="uncertain", description=ON_MISSING)


def reply_grounding(trace: Trace, params: ReplyParams, context: CheckContext) -> Decision:
    """Whether every number, amount, date, id and quoted text of a reply has a source before it.

    Spellings are folded: `EUR 1,234.50` is `1.234,50 €` and `1234.5`; `5 May 2024` is `2024-05-05`;
    `15 %` is 15 or 0.15. Of `03/04/2024` and `1.234` either reading may be the right one. Numbers
    in words, ordinals and the numbers of list items are not looked at; what the subject itself
    wrote before is no source.

    | reply | decision |
    |---|---|
    | each statement stands in a source before it | pass |
    | one stands in none, only later, or as an amount of another currency | fail |
    | nothing of these kinds, an empty text | na |
    | missing | uncertain (missing-field; `on_missing`) |
    | no text: number, boolean, null, list, object, non-finite | uncertain (not-decidable) |
    | a date with a year, where the source gives none | uncertain (not-decidable) |
    | not found, and an earlier result was not recorded, was cut or redacted | uncertain |
    | only in the same turn, or in a result that may be another call's | uncertain |
    | not found, and a tool of `sources` is unknown | uncertain (unknown-tool) |
    | no such call | na, or uncertain (unknown-tool) |
    """
    stated = {
        place.value: _looked_up(place.value, params)
        for place in select(trace, params.field)
        if isinstance(place.value, str)
    }
    wanted = {mention.text for found in stated.values() for mention in found}
    origins = given(trace, params.roles) if params.sources is None else _named(trace, params)
    sources = Sources(trace, origins, wanted, folds=True, keyed=True)
    reply = _Reply(trace, params, sources, stated)
    decision = decide_field(trace, context, params.field, params.on_missing, reply.read)
    makers = [p.observation for p in params.sources or () if p.observation is not None]
    return capped(decision, unknown_tools(makers, trace, context), ("fail",))


def _named(trace: Trace, params: ReplyParams) -> Iterator[Place]:
    return (place for path in params.sources or () for place in select(trace, path))


def _looked_up(text: str, params: ReplyParams) -> list[Mention]:
    return [
        mention
        for mention in mentions(text)
        if mention.kind in params.kinds
        and not any(pattern.find(mention.text) is not None for pattern in params.ignore)
    ]


class _Reply:
    """How the statements of a reply stand to their sources."""

    def __init__(
        self,
        trace: Trace,
        params: ReplyParams,
        sources: Sources,
        stated: dict[str, list[Mention]],
    ) -> None:
        self._trace, self._sources, self._stated = trace, sources, stated
        self._channels = params.sources or GIVEN_CHANNELS

    def read(self, place: Place) -> Reading:
        """Return what one reply says."""
        if not isinstance(place.value, str) or nonfinite(place.value):
            text = f"{spot(self._trace, place)} is {shown(place.value)}, which is no text"
            return Reading("uncertain", text, (quote(self._trace, place),), "not-decidable")
        found = self._stated[place.value]
        if not found:
            text = f"{spot(self._trace, place)} states nothing that could be looked up"
            return Reading("na", text)
        return worst_told(self._trace, place, [(m.span, self._of(place, m)) for m in found])

    def _of(self, place: Place, mention: Mention) -> Reading:
        said = f"{spot(self._trace, place)} states {shown(mention.text)}"
        found = self._sources.stating(mention.keys, mention.currency)
        if mention.kind in ("id", "quote"):
            found = self._sources.holding(mention.text) or found
        standing, first = self._sources.standing(found, place)
        if standing == "unsure":
            text = f"{said}, and whether it was there before is not known"
            return Reading("uncertain", text, (), "ambiguous-order")
        if standing == "earlier" and first is not None:
            origin = quote(self._trace, first.source.place, first.span)
            where = spot(self._trace, first.source.place)
            return Reading("pass", f"{said}, which stands in {where}", (origin,))
        return self._unfounded(place, mention, said, first)

    def _unfounded(self, place: Place, mention: Mention, said: str, later: Found | None) -> Reading:
        if self._sources.incomplete_before(place):
            text = f"{said}, not found, but a result that may hold it was not recorded whole"
            return Reading("uncertain", text, (), "missing-field")
        near = [("date", "any", *key[2:]) for key in mention.keys if key[0] == "date" and key[1]]
        if self._sources.standing(self._sources.stating(near), place)[0] == "earlier":
            text = f"{said}, and what gives that day gives no year"
            return Reading("uncertain", text, (), "not-decidable")
        citing: list[Citing] = nowhere(self._trace, mention.text, self._channels)
        if later is not None:
            text = f"{said}, which was returned only later"
            return Reading("fail", text, (quote(self._trace, later.source.place, later.span),))
        if mention.currency and self._sources.stating(mention.keys):
            return Reading("fail", f"{said}, which stands there in another currency", ())
        text = f"{said}, which stands in nothing that was returned or said before"
        return Reading("fail", text, tuple(citing))


CHECKS = (Check("reply-grounding", "1", ReplyParams, reply_grounding),)

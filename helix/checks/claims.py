"""The primitive claimed-action: what a reply says was done has a successful call behind it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Annotated, Literal

import re2
from pydantic import AfterValidator, BeforeValidator, Field

from helix.checks.conditions import ANY, calls
from helix.checks.evidence import look, nonfinite, quote, shown, spot
from helix.checks.fields import FIELD, decide_field
from helix.checks.outcome import (
    ON_MISSING,
    OnMissing,
    Reading,
    capped,
    uncalled,
    unknown_tools,
    worst_told,
)
from helix.checks.parameters import Name, PathParam, as_list, example
from helix.checks.sentences import Claim, claims
from helix.checks.sources import Sources, given
from helix.checks.success import Outcomes, Succeeding
from helix.checks.verbs import LIGHT, LOOK, READING, bases, name_words, serving, stem
from helix.fieldpath import parse
from helix.model.select import Place, select
from helix.model.trace import Observation, Trace
from helix.registry import Check, CheckContext, Decision


def _base_forms(verbs: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    for verb in verbs:
        if verb != verb.casefold() or not verb.isalpha():
            raise ValueError(f"verbs must be single words in lower case (got '{verb}')")
        found = bases(verb)
        if found:
            raise ValueError(f"verbs must be base forms (got '{verb}'; write '{found[0]}')")
    return verbs


Tools = Annotated[
    tuple[Name, ...], BeforeValidator(as_list, json_schema_input_type=Name | tuple[Name, ...])
]


class ClaimParams(Succeeding):
    """Parameters of claimed-action."""

    model_config = example(
        field="output.response", verbs={"refund": "issue_refund", "book": ["book", "rebook"]}
    )
    field: PathParam = Field(default="output.response", validate_default=True, description=FIELD)
    verbs: Annotated[dict[Name, Tools], AfterValidator(_base_forms)] = Field(
        default={},
        description="The tools that do what a verb says; none: no tool does; `*`: any call.",
    )
    ignore: tuple[Name, ...] = Field(
        default=(), description="Verbs whose deeds need no call, in base form."
    )
    unmapped: Literal["uncertain", "fail", "ignore"] = Field(
        default="uncertain", description="What a deed counts as that no known tool seems to do."
    )
    arrangements: bool = Field(
        default=False, description="Whether what others will do counts, and what is under way."
    )
    further: Literal["same", "another"] = Field(
        default="same", description="Whether “also” needs a call that no claim before it rests on."
    )
    on_missing: OnMissing = Field(default="uncertain", description=ON_MISSING)


def claimed_action(trace: Trace, params: ClaimParams, context: CheckContext) -> Decision:
    """Whether a successful call stands behind each deed that a reply claims (English).

    “I have cancelled it”, “we sent you a label”, “your account has been credited” are claims.
    What is denied, asked, offered, promised, supposed or quoted is none, nor is what is told of
    the user or of the past of an order. The tools of a verb are those of `verbs`, else those
    whose names say the same (`cancel`: `cancel_order`, `revokeBooking`; `issued a refund`:
    `issue_refund`), but for tools that only read. A look (“I have checked”) may be any call. A
    passive is also true where a result says the word.

    | reply | decision |
    |---|---|
    | each claim has a successful call of its tools before the reply | pass |
    | a claim has none, or its calls all failed | fail |
    | a claim that no known tool seems to do | uncertain (not-decidable; `unmapped`) |
    | no claim, an empty text | na |
    | missing | uncertain (missing-field; `on_missing`) |
    | no text: number, boolean, null, list, object, non-finite | uncertain (not-decidable) |
    | the result of the only call was not recorded; may be another call's | uncertain |
    | the only call is of the same turn, or its order is unknown | uncertain (ambiguous-order) |
    | a claim without a call, and a tool of `verbs` is unknown | uncertain (unknown-tool) |
    | no such call | na, or uncertain (unknown-tool) |
    """
    said = {
        place.value: claims(place.value, arrangements=params.arrangements)
        for place in select(trace, params.field)
        if isinstance(place.value, str)
    }
    deeds = Deeds(trace, params, context, {one.word for found in said.values() for one in found})

    def read(place: Place) -> Reading:
        if not isinstance(place.value, str) or nonfinite(place.value):
            text = f"{spot(trace, place)} is {shown(place.value)}, which is no text"
            return Reading("uncertain", text, (quote(trace, place),), "not-decidable")
        return deeds.reading(place, said[place.value])

    decision = decide_field(trace, context, params.field, params.on_missing, read)
    named = [tool for tools in params.verbs.values() for tool in tools]
    return capped(decision, unknown_tools(named, trace, context), ("fail",))


class Deeds:
    """The calls of one trace, and which claims they bear out."""

    def __init__(
        self, trace: Trace, params: ClaimParams, context: CheckContext, words: set[str]
    ) -> None:
        self._trace, self._params = trace, params
        self._outcomes = Outcomes(trace, params.failed_where)
        self._calls = calls(trace, (ANY,))
        self._tools = sorted(context.inventory | context.seen | {o.name for o in self._calls})
        results = (place for place in given(trace, ()) if place.obs != trace.id)
        self._sources = Sources(trace, results, words, folds=True)
        self._known: dict[Hashable, tuple[Reading | None, Observation | None]] = {}

    def reading(self, place: Place, found: Sequence[Claim]) -> Reading:
        """Return what the claims at one place say: the worst of them, told together."""
        used: set[str] = set()
        readings = [(claim.span, r) for claim in found if (r := self._of(place, claim, used))]
        if not readings:
            return Reading("na", f"{spot(self._trace, place)} claims no deed")
        return worst_told(self._trace, place, readings)

    def _of(self, place: Place, claim: Claim, used: set[str]) -> Reading | None:
        if not set(claim.bases).isdisjoint(self._params.ignore):
            return None
        said = f"{spot(self._trace, place)} says '{claim.word}'"
        tools = tools_for(claim, self._params.verbs, self._tools)
        if tools is None and self._params.unmapped == "ignore":
            return None
        if tools:
            reading = self._backed(place, claim, tools, said, used)
            if reading.state == "pass":
                return reading
        if claim.voice == "passive" and (told := self._told(place, claim, said)):
            return told
        if tools:
            return reading
        if tools is None and self._params.unmapped == "uncertain":
            text = f"{said}, and no known tool seems to do that"
            return Reading("uncertain", text, (), "not-decidable")
        words = "|".join(
            map(re2.escape, sorted({word for form in claim.bases for word in serving(form)}))
        )
        proof = look(self._trace, parse("obs:*.name"), f"(?i){words}")
        return Reading("fail", f"{said}, and no tool does that", (proof,))

    def _backed(
        self, place: Place, claim: Claim, tools: Iterable[str], said: str, used: set[str]
    ) -> Reading:
        """Return whether a successful call of these tools came before the reply."""
        wanted = frozenset(tools)
        further = self._params.further == "another" and claim.further
        if further:
            found, call = self._best(place, wanted, used)
        else:
            key = (place.obs, place.path, wanted)
            if key not in self._known:
                self._known[key] = self._best(place, wanted, set())
            found, call = self._known[key]
        if call is not None:
            used.add(call.id)
        if found is not None:
            link = "and" if found.state == "pass" else "but"
            return Reading(found.state, f"{said}, {link} {found.text}", found.citing, found.cause)
        names = sorted(wanted - {ANY}) or [ANY]
        own = "further " if further and used else ""
        text = f"{said}, and no {own}call of {' or '.join(names)} came before it"
        return Reading("fail", text, tuple(uncalled(self._trace, names)))

    def _best(
        self, place: Place, wanted: frozenset[str], used: set[str]
    ) -> tuple[Reading | None, Observation | None]:
        """Return the best that calls of these tools came to, and the one that succeeded."""
        best: Reading | None = None
        for call in self._calls:
            if not (ANY in wanted or call.name in wanted) or call.id in used:
                continue
            reading = self._before(place, call)
            if reading is not None and reading.state == "pass":
                return reading, call
            if reading is not None and (best is None or best.state == "fail"):
                best = reading
        return best, None

    def _before(self, place: Place, call: Observation) -> Reading | None:
        """Return what a call came to, or None for one that came after the reply."""
        if call.id == place.obs:
            return None
        made = Place(call.id, "name", call.name, call.seq)
        earlier = self._sources.came_before(made, place)
        if earlier is False:
            return None
        outcome = self._outcomes.of(call)
        if earlier is None and outcome.state != "fail":
            text = f"whether {call.id} ({call.name}) came before it is not known"
            return Reading("uncertain", text, (), "ambiguous-order")
        return outcome

    def _told(self, place: Place, claim: Claim, said: str) -> Reading | None:
        """Return the reading of a passive that a result states, or None."""
        standing, found = self._sources.standing(self._sources.holding(claim.word), place)
        if found is None or standing != "earlier":
            return None
        where = spot(self._trace, found.source.place)
        origin = quote(self._trace, found.source.place, found.span)
        return Reading("pass", f"{said}, and {where} says so", (origin,))


def tools_for(
    claim: Claim, verbs: Mapping[str, tuple[str, ...]], known: Sequence[str]
) -> tuple[str, ...] | None:
    """Return the tools that do what a claim says; None where no known tool seems to."""
    verb = "contact" if claim.verb in LOOK and claim.beside == "with" else claim.verb
    forms = claim.bases if verb == claim.verb else (verb,)
    for form in forms:
        if form in verbs:
            return verbs[form]
    if verb in LOOK and verb not in LIGHT:
        return (ANY,) if known else None
    wanted = {word for form in forms for word in serving(form)}
    if verb in LIGHT:
        wanted = (wanted | {stem(word) for word in claim.words}) - {verb}
    return tuple(tool for tool in known if _does(tool, wanted)) or None


def _does(tool: str, wanted: set[str]) -> bool:
    words = name_words(tool)
    return bool(words) and words[0] not in READING and not wanted.isdisjoint(map(stem, words))


CHECKS = (Check("claimed-action", "1", ClaimParams, claimed_action),)

"""The primitive answer-after-error: a failure that stands is not passed over in the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from helix.checks.claims import tools_for
from helix.checks.conditions import call_event, calls, turns_of
from helix.checks.evidence import MOST_REFS, Citing, nonfinite, quote, shown, spot
from helix.checks.fields import FIELD, decide_field
from helix.checks.outcome import (
    ON_MISSING,
    OnMissing,
    Reading,
    capped,
    no_call,
    unknown_tools,
)
from helix.checks.parameters import Names, PathParam, PatternParam, compile_pattern, example
from helix.checks.sentences import claims
from helix.checks.sequence import Line
from helix.checks.sources import Sources
from helix.checks.success import Outcomes, Succeeding
from helix.model.select import Place
from helix.model.trace import Observation, Trace
from helix.registry import Check, CheckContext, Decision

ADMITTED = compile_pattern(
    r"(?i)\b(?:sorry|apologi[sz]e|unfortunately|regret|afraid|error|errors|problem|issue with|"
    r"trouble|fail(?:s|ed|ure)?|unable|unavailable|unsuccessful|could(?: not|n['’]t)|"
    r"cannot|can['’]t|can not|did(?: not|n['’]t)|was(?: not|n['’]t)|were(?: not|n['’]t)|"
    r"has(?: not|n['’]t)|have(?: not|n['’]t)|not (?:able|possible|found|available)|"
    r"no (?:\w+ ){0,3}found|went wrong|timed? out|down|declined|rejected|refused)\b"
)


class AnswerParams(Succeeding):
    """Parameters of answer-after-error.

    A failure is over once the same tool, or one of `recovery_tools`, has succeeded later.
    """

    model_config = example(field="output.response", tool=["issue_refund", "send_mail"])
    field: PathParam = Field(default="output.response", validate_default=True, description=FIELD)
    tool: Names = Field(default=("*",), description="The tools whose failures count.")
    recovery_tools: tuple[str, ...] = Field(
        default=(), description="Other tools whose success makes up for a failure."
    )
    demand: Literal["admit", "no-success"] = Field(
        default="admit",
        description="Whether the answer must admit the failure, or only not claim the deed.",
    )
    admits: PatternParam | None = Field(
        default=None, description="What admits a failure; without it the usual English words."
    )
    on_missing: OnMissing = Field(default="uncertain", description=ON_MISSING)


def answer_after_error(trace: Trace, params: AnswerParams, context: CheckContext) -> Decision:
    """Whether an answer that follows a failure which stands admits it, and claims no success.

    A failure stands where neither the same tool nor one of `recovery_tools` succeeded later. An
    answer claims success where it says that the deed of the failed tool was done (English, see
    claimed-action).

    | answer | decision |
    |---|---|
    | admits the failure, and claims no deed of the failed tool | pass |
    | says nothing of it (`demand: admit`), or claims the deed | fail |
    | claims no deed (`demand: no-success`) | pass |
    | no failure before it stands | na |
    | empty text | as an answer that says nothing |
    | missing | uncertain (missing-field; `on_missing`) |
    | no text: number, boolean, null, list, object, non-finite | uncertain (not-decidable) |
    | whether a call failed or was made up for is not known | uncertain |
    | no call | na, or uncertain (unknown-tool) |
    """
    if not calls(trace, params.tool):
        return no_call(params.tool, trace, context)
    failures = _Failures(trace, params)

    def read(place: Place) -> Reading:
        standing, unsure = failures.before(place)
        if not standing and unsure is not None:
            return unsure
        if not standing:
            return Reading("na", f"{spot(trace, place)} follows no failure that stands")
        return _answered(trace, place, params, standing)

    decision = decide_field(trace, context, params.field, params.on_missing, read)
    if not failures.any:
        decision = Decision("na", "no call failed: nothing to admit", decision.refs)
    named = [*params.tool, *params.recovery_tools]
    return capped(decision, unknown_tools(named, trace, context), ("pass", "na", "fail"))


def _answered(
    trace: Trace,
    place: Place,
    params: AnswerParams,
    standing: Sequence[tuple[Observation, Reading]],
) -> Reading:
    """Return what an answer makes of failures that stand."""
    call, failure = standing[0]
    more = f" (and {len(standing) - 1} more)" if len(standing) > 1 else ""
    why = f"{failure.text}{more}, and nothing made up for it"
    failed = tuple(one for _, r in standing[:MOST_REFS] for one in r.citing)
    if not isinstance(place.value, str) or nonfinite(place.value):
        text = f"{why}; {spot(trace, place)} is {shown(place.value)}, which is no text"
        return Reading("uncertain", text, failed, "not-decidable")
    own: Citing = quote(trace, place)
    names = {call.name for call, _ in standing}
    for claim in claims(place.value):
        tools = tools_for(claim, {}, sorted(names))
        if tools and names.intersection(tools):
            said = quote(trace, place, claim.span)
            return Reading("fail", f"{why}; the answer says '{claim.word}'", (*failed, said))
    span = (params.admits or ADMITTED).find(place.value)
    if span is not None:
        text = f"{why}; the answer says '{place.value[slice(*span)]}'"
        return Reading("pass", text, (*failed, quote(trace, place, span)))
    if params.demand == "no-success":
        return Reading("pass", f"{why}; the answer claims no deed of {call.name}", (*failed, own))
    return Reading("fail", f"{why}; the answer does not admit it", (*failed, own))


class _Failures:
    """The failed calls of one trace that nothing made up for."""

    def __init__(self, trace: Trace, params: AnswerParams) -> None:
        self._clock = Sources(trace, (), ())
        outcomes = Outcomes(trace, params.failed_where)
        found = [(call, outcomes.of(call)) for call in calls(trace, params.tool)]
        self._turns = turns_of(trace)
        self._good: dict[str, Line] = {}
        self._trace, self._outcomes, self._params = trace, outcomes, params
        failed = [(call, reading) for call, reading in found if reading.state == "fail"]
        self.any = any(reading.state != "pass" for _, reading in found)
        self._unsure = [(call, r) for call, r in found if r.state == "uncertain"]
        self._unsure += [pair for pair in failed if self._made_up(pair[0]) is None]
        self._standing = [pair for pair in failed if self._made_up(pair[0]) is False]

    def before(self, place: Place) -> tuple[list[tuple[Observation, Reading]], Reading | None]:
        """Return the failures that stand before a place, and what is not known of others."""
        standing = [pair for pair in self._standing if self._earlier(pair[0], place)]
        for call, reading in self._unsure:
            if self._earlier(call, place) is not False:
                text = f"whether {call.id} ({call.name}) failed for good is not known"
                cause = reading.cause or "ambiguous-order"
                return standing, Reading("uncertain", text, (), cause)
        for call, _ in self._standing:
            if self._earlier(call, place) is None:
                text = f"whether {call.id} ({call.name}) came before it is not known"
                return standing, Reading("uncertain", text, (), "ambiguous-order")
        return standing, None

    def _earlier(self, call: Observation, place: Place) -> bool | None:
        if call.id == place.obs:
            return False
        return self._clock.came_before(Place(call.id, "name", call.name, call.seq), place)

    def _made_up(self, call: Observation) -> bool | None:
        """Return whether a success made up for a failed call; None where nobody can know."""
        failed = call_event(call, self._turns)
        lines = [self._line(name) for name in (call.name, *self._params.recovery_tools)]
        if any(line.following(failed) is not None for line in lines):
            return True
        loose = any(True for line in lines for _ in line.possible(None, failed))
        return None if loose else False

    def _line(self, name: str) -> Line:
        if name not in self._good:
            good = [o for o in calls(self._trace, (name,)) if self._outcomes.of(o).state != "fail"]
            events = [call_event(o, self._turns) for o in good]
            self._good[name] = Line(sorted(events, key=lambda event: event.seq))
        return self._good[name]


CHECKS = (Check("answer-after-error", "1", AnswerParams, answer_after_error),)

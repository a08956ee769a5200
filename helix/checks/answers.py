"""The primitive answer-after-error: a failure that stands is not passed over in the answer."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, Literal

from pydantic import Field

from helix.checks.claims import tools_for
from helix.checks.conditions import Match, call_event, calls, turns_of
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
from helix.checks.sources import Moment, Sources
from helix.checks.success import Outcomes, Succeeding
from helix.model.select import Place
from helix.model.trace import Observation, Trace
from helix.model.verdict import Cause
from helix.registry import Check, CheckContext, Decision

AMBIGUOUS: Final = "ambiguous-order"
FOREVER = (2**62, 1)
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
    why = f"{failure.text}{more}, never made good"
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


@dataclass(frozen=True, slots=True)
class _Stretch:
    """How long a failure stands: from the failed call to the success that makes up for it."""

    call: Observation
    failure: Reading
    start: tuple[int, int]
    end: tuple[int, int]


def _longer(one: _Stretch, other: _Stretch) -> _Stretch:
    return max(one, other, key=lambda stretch: stretch.end)


class _Failures:
    """The failures of one trace: for each tool, and when each was made up for."""

    def __init__(self, trace: Trace, params: AnswerParams) -> None:
        self._trace, self._params = trace, params
        self._outcomes = Outcomes(trace, params.failed_where)
        self._clock = Sources(trace, (), ())
        self._turns = turns_of(trace)
        self._good: dict[str, Line] = {}
        self._stretches: dict[str, list[_Stretch]] = {}
        self._loose: list[tuple[tuple[int, int], Reading]] = []
        self._beside: dict[str, Observation] = {}
        for call in calls(trace, params.tool):
            self._take(call)
        self._longest = {
            name: list(accumulate(found, _longer)) for name, found in self._stretches.items()
        }
        self.any = bool(self._stretches or self._loose)

    def before(self, place: Place) -> tuple[list[tuple[Observation, Reading]], Reading | None]:
        """Return a failure of each tool that stands at a place, and what is not known of others."""
        when = self._clock.moment(place)
        standing = []
        for name, found in self._stretches.items():
            at = bisect_left(found, when.at, key=lambda stretch: stretch.start)
            last = self._longest[name][at - 1] if at else None
            if last is not None and last.end > when.at and not self._together(last.call, when):
                standing.append((last.call, last.failure))
        for moment, reading in self._loose[:1]:
            if moment < when.at or when.unsure:
                return standing, reading
        near = self._beside.get(when.turn) if when.turn is not None else None
        if self.any and (when.unsure or (near is not None and near.id != place.obs)):
            text = f"whether a call failed before {spot(self._trace, place)} is not known"
            return [] if when.unsure else standing, Reading("uncertain", text, (), AMBIGUOUS)
        return standing, None

    def _take(self, call: Observation) -> None:
        outcome = self._outcomes.of(call)
        if outcome.state == "pass":
            return
        when = self._clock.moment(Place(call.id, "name", call.name, call.seq))
        end = self._made_up(call)
        if outcome.cause or when.unsure or not isinstance(end, tuple):
            text = f"whether {call.id} ({call.name}) failed for good is not known"
            cause = outcome.cause or (AMBIGUOUS if isinstance(end, tuple) else end)
            start = (-1, 0) if when.unsure else when.at
            self._loose.append((start, Reading("uncertain", text, (), cause)))
            self._loose = [min(self._loose, key=lambda pair: pair[0])]
            return
        stretch = _Stretch(call, outcome, when.at, end)
        self._stretches.setdefault(call.name, []).append(stretch)
        if when.turn is not None:
            self._beside.setdefault(when.turn, call)

    def _together(self, call: Observation, when: Moment) -> bool:
        return when.turn is not None and call.parent_id == when.turn

    def _made_up(self, call: Observation) -> tuple[int, int] | Cause:
        """Return when a success made up for a failed call, or why nobody can know."""
        failed = call_event(call, self._turns)
        lines = [self._line(name) for name in (call.name, *self._params.recovery_tools)]
        later = [event.seq for line in lines if (event := line.following(failed)) is not None]
        if later:
            return min(later), 0
        loose = next((event for line in lines for event in line.possible(None, failed)), None)
        return FOREVER if loose is None else loose.cause or AMBIGUOUS

    def _line(self, name: str) -> Line:
        if name not in self._good:
            found = []
            for call in calls(self._trace, (name,)):
                outcome = self._outcomes.of(call)
                if outcome.state != "fail":
                    hit = Match(True if outcome.state == "pass" else None, cause=outcome.cause)
                    found.append(call_event(call, self._turns, hit))
            self._good[name] = Line(sorted(found, key=lambda event: event.seq))
        return self._good[name]


CHECKS = (Check("answer-after-error", "1", AnswerParams, answer_after_error),)

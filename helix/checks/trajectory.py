"""The primitive trajectory-match: the calls of a run beside the calls that were expected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, JsonValue, model_validator

from helix.checks.arguments import hidden, place_of
from helix.checks.conditions import ANY, calls, equal, turns_of
from helix.checks.evidence import MOST_REFS, Citing, quote, shown
from helix.checks.outcome import capped, cited, uncalled, unknown_tools
from helix.checks.pairing import most_pairs
from helix.checks.parameters import Name, Params, example
from helix.fieldpath import render_steps
from helix.model.select import Place
from helix.model.trace import Observation, Trace
from helix.model.verdict import Cause
from helix.registry import Check, CheckContext, Decision

Arguments = Literal["exact", "ignore", "subset", "superset"]


class ExpectedCall(Params):
    """A call that is expected; a bare name stands for one whose arguments do not matter.

    Without `arguments` nothing is said of them; `{}` says that there are none.
    """

    tool: Name = Field(description="The tool's name.")
    arguments: JsonValue = Field(default=None, description="What it is called with.")

    @property
    def bare(self) -> bool:
        """Whether the arguments do not matter."""
        return "arguments" not in self.model_fields_set


def _spelled_out(value: Any) -> Any:
    return {"tool": value} if isinstance(value, str) else value


Expected = Annotated[
    ExpectedCall, BeforeValidator(_spelled_out, json_schema_input_type=Name | ExpectedCall)
]


class TrajectoryParams(Params):
    """Parameters of trajectory-match."""

    model_config = example(
        expected=["find_booking", {"tool": "cancel", "arguments": {"booking": "B7"}}],
        mode="superset",
        arguments="superset",
    )
    expected: tuple[Expected, ...] = Field(description="The expected calls, in order.")
    mode: Literal["strict", "unordered", "subset", "superset"] = Field(
        default="strict",
        description="`strict`: these calls in this order; `unordered`: in any order; "
        "`subset`: no other calls; `superset`: these and maybe others.",
    )
    arguments: Arguments = Field(
        default="exact",
        description="`exact`: the same; `subset`: no others than expected; "
        "`superset`: at least the expected ones.",
    )
    arguments_of: dict[Name, Arguments] = Field(
        default={}, description="The same for single tools."
    )

    @model_validator(mode="after")
    def _fits(self) -> TrajectoryParams:
        if self.mode == "superset" and not self.expected:
            raise ValueError("mode: superset needs an expected call; without one all runs pass")
        strange = sorted({*self.arguments_of} - {call.tool for call in self.expected})
        if strange:
            raise ValueError(f"arguments_of must name expected tools (got {', '.join(strange)})")
        return self

    def how(self, tool: str) -> Arguments:
        """Return how the arguments of a tool's calls are compared."""
        return self.arguments_of.get(tool, self.arguments)


@dataclass(frozen=True, slots=True)
class _Match:
    """Calls beside expected ones: what was left over on either side, and whether that is sure."""

    made: Sequence[Observation]
    expected: Sequence[ExpectedCall]
    pairs: dict[int, int]
    extra: list[int]
    missing: list[int]
    cause: Cause | None = None


def trajectory_match(trace: Trace, params: TrajectoryParams, context: CheckContext) -> Decision:
    """Whether the tool calls are the expected ones; each counts once, repeats as often as made.

    Each call is paired with one expected call of its tool, so that most calls are paired. The
    order inside one turn, whose calls run side by side, never matters. Messages are not compared.

    | mode | passes where |
    |---|---|
    | strict | every call and every expected call is paired, in order |
    | unordered | every call and every expected call is paired |
    | subset | every call is paired |
    | superset | every expected call is paired |

    | trace | decision |
    |---|---|
    | paired as the mode asks | pass |
    | not, whatever unknown arguments may be | fail |
    | no tool call, none expected | pass |
    | no tool call in mode subset | na |
    | it depends on arguments that were not recorded | uncertain (missing-field) |
    | it depends on arguments that only look equal, are redacted or non-finite | uncertain |
    | strict, and the order of the calls is not known | uncertain (ambiguous-order) |
    | it would fail, and an expected tool is unknown | uncertain (unknown-tool) |
    """
    made = calls(trace, (ANY,))
    if not made and params.mode == "subset" and params.expected:
        refs = cited(uncalled(trace, (ANY,)))
        return Decision("na", "no tool call: nothing to check", refs)
    decision = _decision(trace, _matched(trace, made, params), params)
    named = [call.tool for call in params.expected]
    return capped(decision, unknown_tools(named, trace, context), ("fail",))


def _matched(trace: Trace, made: Sequence[Observation], params: TrajectoryParams) -> _Match:
    scattered = len(made) > 1 and any("ambiguous-order" in call.flags for call in made)
    if params.mode == "strict" and not scattered:
        return _in_order(made, turns_of(trace), params)
    match = _match(made, params.expected, params)
    if params.mode == "strict" and not _left_over(match, params):
        return replace(match, cause=match.cause or "ambiguous-order")
    return match


def _in_order(made: Sequence[Observation], turns: set[str], params: TrajectoryParams) -> _Match:
    """Match turn by turn; the first turn that does not fit is the match."""
    keyed = [(c.parent_id if c.parent_id in turns else at, c) for at, c in enumerate(made)]
    whole = _Match(made, params.expected, {}, [], [])
    at = 0
    for _, members in groupby(keyed, lambda pair: pair[0]):
        turn = [call for _, call in members]
        part = _match(turn, params.expected[at : at + len(turn)], params)
        if _left_over(part, params):
            return part
        whole.pairs.update({at + left: at + right for left, right in part.pairs.items()})
        whole = replace(whole, cause=whole.cause or part.cause)
        at += len(turn)
    return replace(whole, missing=list(range(at, len(params.expected))))


def _match(
    made: Sequence[Observation], expected: Sequence[ExpectedCall], params: TrajectoryParams
) -> _Match:
    """Pair what surely fits; if that leaves something over, also what may fit."""
    fits = [[_fit(call, wanted, params) for call in made] for wanted in expected]
    sure = _paired(made, expected, [[n for n, fit in enumerate(row) if fit] for row in fits])
    if not _left_over(sure, params):
        return sure
    loose = [[n for n, fit in enumerate(row) if fit is not False] for row in fits]
    found = _paired(made, expected, loose)
    if _left_over(found, params):
        return found
    unsure = [made[n] for at, n in found.pairs.items() if fits[at][n] is None]
    causes: list[Cause] = [hidden(call) or "not-decidable" for call in unsure]
    return replace(found, cause=causes[0])


def _paired(
    made: Sequence[Observation],
    expected: Sequence[ExpectedCall],
    choices: Sequence[Sequence[int]],
) -> _Match:
    pairs = most_pairs(choices)
    used = set(pairs.values())
    extra = [at for at in range(len(made)) if at not in used]
    missing = [at for at in range(len(expected)) if at not in pairs]
    return _Match(made, expected, pairs, extra, missing)


def _left_over(match: _Match, params: TrajectoryParams) -> bool:
    """Whether something is left over that the mode does not allow."""
    extra = bool(match.extra) and params.mode != "superset"
    return extra or (bool(match.missing) and params.mode != "subset")


def _fit(call: Observation, wanted: ExpectedCall, params: TrajectoryParams) -> bool | None:
    """Whether a call is an expected one; None where that cannot be said."""
    if call.name != wanted.tool:
        return False
    how = params.how(wanted.tool)
    if wanted.bare or how == "ignore":
        return True
    if call.input is None or "redacted" in call.flags:
        return None
    answers = [answer for _, answer in _compared(call.input, wanted.arguments, how)]
    return False if False in answers else None if None in answers else True


def _compared(made: Any, wanted: Any, how: Arguments) -> Iterator[tuple[str | None, bool | None]]:
    """Yield each argument that is compared, None for all as one, and whether it is as expected."""
    if not isinstance(made, dict) or not isinstance(wanted, dict):
        yield None, equal(made, wanted)
        return
    for key, value in wanted.items():
        if key in made:
            yield key, equal(made[key], value)
        elif how != "subset":
            yield key, False
    if how != "superset":
        yield from ((key, False) for key in made if key not in wanted)


def _decision(trace: Trace, match: _Match, params: TrajectoryParams) -> Decision:
    if _left_over(match, params):
        return _failed(trace, match, params)
    if match.cause is not None:
        what = "their order" if match.cause == "ambiguous-order" else "that of their arguments"
        text = f"the calls may be the expected ones; {what} is not known"
        return Decision("uncertain", text, cause=match.cause)
    citing: list[Citing] = []
    for left, right in sorted(match.pairs.items(), key=lambda pair: pair[1])[:MOST_REFS]:
        call, wanted = match.made[right], match.expected[left]
        citing.append(quote(trace, _name(call)))
        if wanted.arguments and params.how(wanted.tool) != "ignore":
            citing.append(quote(trace, place_of(call)))
    words = {
        "strict": "are the expected ones, in order",
        "unordered": "are the expected ones",
        "subset": "are all expected",
        "superset": f"hold all {len(match.expected)} expected ones",
    }
    text = f"the tool calls ({len(match.made)}) {words[params.mode]}"
    return Decision("pass", text, cited(citing or uncalled(trace, (ANY,))))


def _failed(trace: Trace, match: _Match, params: TrajectoryParams) -> Decision:
    """Tell the first expected call that is missing and the first call that is not expected."""
    told: list[str] = []
    citing: list[Citing] = []
    extra = [match.made[at] for at in match.extra]
    if match.missing and params.mode != "subset":
        wanted = match.expected[match.missing[0]]
        near = next((call for call in extra if call.name == wanted.tool), None)
        if near is None:
            told.append(f"an expected call of {wanted.tool} is not made")
            citing += uncalled(trace, (wanted.tool,))
        else:
            text, place = _difference(near, wanted, params.how(wanted.tool))
            told.append(text)
            citing.append(quote(trace, place))
            extra.remove(near)
    if extra and params.mode != "superset":
        told.append(f"{extra[0].id} ({extra[0].name}) is not expected")
        citing.append(quote(trace, _name(extra[0])))
    refs = cited(citing)
    if not refs:
        calls_made = match.made or trace.tools()
        refs = cited(quote(trace, _name(call)) for call in calls_made[:MOST_REFS])
    text = ", and ".join(told)
    if params.mode != "strict":
        text = f"{text} ({len(match.missing)} missing, {len(match.extra)} left over)"
    return Decision("fail", text, refs)


def _difference(call: Observation, wanted: ExpectedCall, how: Arguments) -> tuple[str, Place]:
    """Return in words, and as a place, what keeps a call of the right tool from fitting."""
    key = next(
        (k for k, same in _compared(call.input, wanted.arguments, how) if same is False), None
    )
    who = f"{call.id} ({call.name})"
    if key is None:
        return f"input of {who} is not {shown(wanted.arguments)}", place_of(call)
    path = render_steps(("input", key))
    expected = wanted.arguments if isinstance(wanted.arguments, dict) else {}
    if key not in call.input:
        return f"{path} of {who} is missing", place_of(call)
    place = Place(call.id, path, call.input[key], call.seq)
    rest = f"not {shown(expected[key])}" if key in expected else "which is not expected"
    return f"{path} of {who} is {shown(place.value)}, {rest}", place


def _name(call: Observation) -> Place:
    return Place(call.id, "name", call.name, call.seq)


CHECKS = (Check("trajectory-match", "1", TrajectoryParams, trajectory_match),)

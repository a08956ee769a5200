"""The primitive loops: the same calls over and over (METHOD 29).

Calls of one turn run side by side, so that their order says nothing: such a turn is one step. A
turn that makes one call several times is as many steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated

from pydantic import Field

from helix.checks.arguments import fingerprint, hidden, place_of
from helix.checks.conditions import ANY, calls, turns_of
from helix.checks.evidence import MOST_REFS, quote
from helix.checks.outcome import cited, uncalled
from helix.checks.parameters import Name, Params, example
from helix.model.trace import Observation, Trace
from helix.model.verdict import Cause
from helix.registry import Check, CheckContext, Decision


class LoopsParams(Params):
    """Parameters of loops."""

    model_config = example(times=3, cycle=2, exempt=["poll_status"])
    times: Annotated[int, Field(ge=2, strict=True)] = Field(
        default=3, description="How many times in a row are a loop."
    )
    cycle: Annotated[int, Field(ge=1, le=100, strict=True)] = Field(
        default=1, description="The longest cycle, in steps: 2 also finds A, B, A, B."
    )
    exempt: tuple[Name, ...] = Field(
        default=(), description="Tools that may repeat; their calls are left out."
    )


@dataclass(frozen=True, slots=True)
class _Step:
    """What is done at once; steps are the same where `key` is, and may be where `tools` is."""

    calls: tuple[Observation, ...]
    key: Hashable
    tools: Hashable
    open: bool


@dataclass(frozen=True, slots=True)
class _Row:
    """Steps that repeat with a period."""

    steps: Sequence[_Step]
    period: int

    @property
    def times(self) -> int:
        """How many times the whole cycle stands there."""
        return len(self.steps) // self.period

    @property
    def calls(self) -> list[Observation]:
        """The calls of all steps."""
        return [call for step in self.steps for call in step.calls]

    def __str__(self) -> str:
        names = [" and ".join(c.name for c in step.calls) for step in self.steps[: self.period]]
        same = "with the same arguments"
        return f"{', '.join(names)} {same} {self.times} times in a row, from {self.calls[0].id} on"


def loops(trace: Trace, params: LoopsParams, context: CheckContext) -> Decision:
    """Whether no call, and no cycle of calls, is made over and over with the same arguments.

    Messages in between do not end a row. Several calls of one turn are one step.

    | trace | decision |
    |---|---|
    | no call or cycle stands `times` times in a row | pass |
    | one does | fail |
    | one may: arguments not recorded | uncertain (missing-field) |
    | one may: arguments redacted, or with a non-finite number | uncertain (not-decidable) |
    | one may: the order of the calls is not known, and enough are alike | uncertain |
    | no tool call, or of exempt tools alone | na |
    """
    found = [call for call in calls(trace, (ANY,)) if call.name not in params.exempt]
    if not found:
        text = "no call of any other tool" if trace.tools() else "no tool call"
        return Decision("na", f"{text}: nothing to check", cited(uncalled(trace, (ANY,))))
    steps = list(_steps(found, turns_of(trace)))
    if _scattered(steps, params.times):
        text = f"enough calls are alike for a row of {params.times}, but their order is not known"
        return Decision("uncertain", text, cause="ambiguous-order")
    sure = _longest(steps, params.cycle, loose=False)
    if sure.times >= params.times:
        refs = cited(quote(trace, place_of(call)) for call in sure.calls[:MOST_REFS])
        return Decision("fail", str(sure), refs)
    open_ones = any(step.open for step in steps)
    maybe = _longest(steps, params.cycle, loose=True) if open_ones else sure
    if maybe.times >= params.times:
        causes: list[Cause] = [why for call in maybe.calls if (why := hidden(call)) is not None]
        text = f"whether it is {maybe} is not known: not all arguments are"
        return Decision("uncertain", text, cause=causes[0])
    text = f"of {len(found)} tool calls, none is made {params.times} times in a row"
    refs = cited(quote(trace, place_of(call)) for call in sure.calls[:MOST_REFS])
    return Decision("pass", f"{text}; the most is {sure.times}", refs)


def _steps(found: Sequence[Observation], turns: set[str]) -> Iterator[_Step]:
    """Yield the calls in seq order, those of one turn as one step unless they are all alike."""
    keyed = [(c.parent_id if c.parent_id in turns else at, c) for at, c in enumerate(found)]
    for _, members in groupby(keyed, lambda pair: pair[0]):
        group = [call for _, call in members]
        alone = [_step([call]) for call in group]
        if len({s.tools for s in alone}) == 1 and (
            len({s.key for s in alone}) == 1 or any(s.open for s in alone)
        ):
            yield from alone
        else:
            yield _step(group)


def _step(group: Sequence[Observation]) -> _Step:
    closed = [hidden(call) is not None for call in group]
    keys = Counter(
        (call.name, ("hidden", call.id) if secret else fingerprint(call.input))
        for call, secret in zip(group, closed, strict=True)
    )
    names = Counter(call.name for call in group)
    return _Step(tuple(group), frozenset(keys.items()), frozenset(names.items()), any(closed))


def _longest(steps: Sequence[_Step], cycle: int, *, loose: bool) -> _Row:
    """Return the row whose cycle stands there most often; the first step where none repeats."""
    times, start, end, best = 1, 0, 1, 1
    numbers: dict[Hashable, int] = {}
    keys = [numbers.setdefault(step.key, len(numbers)) for step in steps]
    for period in range(1, cycle + 1):
        same = 0
        for at in range(period, len(steps)):
            alike = keys[at - period] == keys[at]
            if loose and not alike:
                alike = _may_be_alike(steps[at - period], steps[at])
            same = same + 1 if alike else 0
            if (same + period) // period > times:
                times, start, end, best = same // period + 1, at - period - same + 1, at + 1, period
    return _Row(steps[start:end], best)


def _may_be_alike(left: _Step, right: _Step) -> bool:
    return (left.open or right.open) and left.tools == right.tools


def _scattered(steps: Sequence[_Step], times: int) -> bool:
    """Whether calls of unknown order could stand in a row that their numbers allow."""
    made = [call for step in steps for call in step.calls]
    if not any("ambiguous-order" in call.flags for call in made):
        return False
    alone = [_step([call]) for call in made]
    if len({step.key for step in alone}) == 1:
        return False
    most: Counter[Hashable] = Counter()
    for key, number in Counter((s.tools, s.key) for s in alone if not s.open).items():
        most[key[0]] = max(most[key[0]], number)
    most.update(step.tools for step in alone if step.open)
    return max(most.values()) >= times


CHECKS = (Check("loops", "1", LoopsParams, loops),)

"""From readings of single values to the decision of a check, in one place and one wording."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec

from helix.checks.conditions import ANY, Selector
from helix.checks.evidence import MOST_REFS, Citing, gap, look, quote
from helix.checks.parameters import Span
from helix.checks.roles import ROLES, same_role
from helix.errors import did_you_mean
from helix.fieldpath import FieldPath
from helix.model.section import whole
from helix.model.select import Place
from helix.model.trace import Trace
from helix.model.verdict import Cause, CellState, Ref
from helix.registry import CheckContext, Decision

OnMissing = Literal["uncertain", "fail", "na"]
ON_MISSING = "What a field that is not there counts as."
WORST_FIRST: tuple[CellState, ...] = ("fail", "uncertain", "pass", "na")
MOST_TOLD = 4
ANY_ORDER: tuple[CellState, ...] = ("pass", "uncertain", "fail", "na")


Why = str | Callable[[], str]


class Reading(msgspec.Struct, frozen=True):
    """What one place, call or event says: a state, why, and what is cited if it decides.

    `why` may be a promise of the text: of thousands of readings only one is told.
    """

    state: CellState
    why: Why
    citing: tuple[Citing, ...] = ()
    cause: Cause | None = None

    @property
    def text(self) -> str:
        """Why, in words."""
        return self.why if isinstance(self.why, str) else self.why()


def worst_told(
    trace: Trace, place: Place, readings: Sequence[tuple[Span | None, Reading]]
) -> Reading:
    """Return what parts of one text say: the worst of them, told together, each part cited."""
    worst = min((r.state for _, r in readings), key=WORST_FIRST.index)
    chosen = [(span, reading) for span, reading in readings if reading.state == worst]
    first = chosen[0][1]
    more = f" (and {len(chosen) - 1} more)" if len(chosen) > 1 else ""
    citing = [quote(trace, place, span) for span, _ in chosen[:MOST_TOLD]]
    citing += [one for _, reading in chosen[:MOST_TOLD] for one in reading.citing]
    return Reading(first.state, f"{first.text}{more}", tuple(citing), first.cause)


def missing(trace: Trace, place: Place, state: CellState, text: Why) -> Reading:
    """Return the reading of a field that is not there, in the state that `on_missing` asks for."""
    cause: Cause | None = "missing-field" if state == "uncertain" else None
    return Reading(state, text, (gap(trace, place),), cause)


def cited(citing: Iterable[Citing]) -> tuple[Ref, ...]:
    """Return the refs that were promised, without the scans that would prove nothing."""
    return tuple(ref for promise in citing if (ref := promise()) is not None)


def all_of(readings: Sequence[Reading]) -> Decision:
    """Fold readings that must all hold: a fail decides, then an uncertain; na are set aside."""
    return _fold(readings, WORST_FIRST)


def any_of(readings: Sequence[Reading]) -> Decision:
    """Fold readings of which one must hold: a pass decides, then an uncertain, then a fail."""
    return _fold(readings, ANY_ORDER)


def unknown_tools(names: Iterable[str], trace: Trace, context: CheckContext) -> Decision | None:
    """Return the abstention for tools in no inventory and no trace, or None (METHOD 27).

    A renamed tool would look the same.
    """
    rest = [n for n in names if n != ANY and n not in context.inventory and n not in context.seen]
    own = {o.name for o in whole(trace).observations} if rest else set()
    unknown = list(dict.fromkeys(name for name in rest if name not in own))
    if not unknown:
        return None
    hints = [did_you_mean(name, context.inventory | context.seen | own) for name in unknown]
    named = ", ".join(f"'{name}'{hint}" for name, hint in zip(unknown, hints, strict=True))
    kind, one = ("tool", "it") if len(unknown) == 1 else ("tools", "them")
    return Decision(
        "uncertain",
        f"in no inventory and no trace: {kind} {named}; correct the name, or declare {one}: "
        f"tools: [{', '.join(unknown)}] in the suite",
        cause="unknown-tool",
    )


def unknown_names(
    selectors: Iterable[Selector], trace: Trace, context: CheckContext
) -> Decision | None:
    """Return the abstention for tools and roles of selectors that nobody knows, or None."""
    chosen = list(selectors)
    tools = unknown_tools([name for s in chosen for name in s.tools], trace, context)
    return tools or _unknown_roles([s.message for s in chosen if s.message], trace, context)


def _unknown_roles(names: Iterable[str], trace: Trace, context: CheckContext) -> Decision | None:
    """Return the abstention for roles, other than the usual ones, that no trace has."""
    rest = [name for name in names if name != ANY and name.casefold() not in ROLES]
    own = {m.role for m in whole(trace).transcript if not m.control} if rest else set()
    known = context.roles | own
    unknown = [name for name in rest if not any(same_role(name, role) for role in known)]
    if not unknown:
        return None
    name = unknown[0]
    hint = did_you_mean(name, known | set(ROLES))
    there = f" (there are {', '.join(sorted(known))})" if known else ""
    text = f"no trace has a message of the role '{name}'{hint}{there}; correct the name"
    return Decision("uncertain", text, cause="missing-field")


def no_call(names: Sequence[str], trace: Trace, context: CheckContext) -> Decision:
    """Return what a rule about tools says of a trace that calls none of them (METHOD 27)."""
    unknown = unknown_tools(names, trace, context)
    if unknown:
        return unknown
    named = [name for name in names if name != ANY]
    text = f"no call of {' or '.join(named)}" if named else "no tool call"
    return Decision("na", f"{text}: nothing to check", cited(uncalled(trace, names)))


def uncalled(trace: Trace, names: Sequence[str]) -> list[Citing]:
    """Return a scan for each tool which shows that it was not called."""
    channels = (FieldPath(None, ("name",), observation=name) for name in names[:MOST_REFS])
    return [look(trace, channel) for channel in channels]


def capped(decision: Decision, unknown: Decision | None, states: tuple[CellState, ...]) -> Decision:
    """Return the abstention for a decision that an unknown tool or role could have changed."""
    return unknown if unknown is not None and decision.state in states else decision


def told(first: str, count: int, total: int) -> str:
    """Return one sentence for several: the first, and of how many it is told."""
    return first if total == 1 else f"{count} of {total}: {first}"


def _fold(readings: Sequence[Reading], order: tuple[CellState, ...]) -> Decision:
    if not readings:
        raise ValueError("there must be at least one reading")
    state = min({reading.state for reading in readings}, key=order.index)
    found = [reading for reading in readings if reading.state == state]
    refs = cited(promise for reading in found[:MOST_REFS] for promise in reading.citing)
    text = told(found[0].text, len(found), len(readings))
    return Decision(state, text, refs, found[0].cause)

"""From readings of single values to the decision of a check, in one place and one wording."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from helix.checks.conditions import ANY
from helix.checks.evidence import MOST_REFS, Citing, gap, look
from helix.errors import did_you_mean
from helix.fieldpath import FieldPath
from helix.model.select import Place
from helix.model.trace import Trace
from helix.model.verdict import Cause, CellState, Ref
from helix.registry import CheckContext, Decision

OnMissing = Literal["uncertain", "fail", "na"]
WORST_FIRST: tuple[CellState, ...] = ("fail", "uncertain", "pass", "na")


@dataclass(frozen=True, slots=True)
class Reading:
    """What one place, call or event says: a state, why, and what is cited if it decides."""

    state: CellState
    text: str
    citing: tuple[Citing, ...] = ()
    cause: Cause | None = None


def missing(trace: Trace, place: Place, state: CellState, text: str) -> Reading:
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
    return _fold(readings, ("pass", "uncertain", "fail", "na"))


def known_tools(trace: Trace, context: CheckContext) -> frozenset[str]:
    """Return every tool that is declared, or seen in this batch or trace."""
    return context.inventory | context.seen | {o.name for o in trace.observations}


def unknown_tools(names: Iterable[str], trace: Trace, context: CheckContext) -> list[str]:
    """Return the names that stand in no inventory and no trace (METHOD 27)."""
    rest = [n for n in names if n != ANY and n not in context.inventory and n not in context.seen]
    if not rest:
        return []
    own = {o.name for o in trace.observations}
    return [name for name in rest if name not in own]


def unknown_tool(names: Sequence[str], trace: Trace, context: CheckContext) -> Decision:
    """Return the abstention for tools that nobody knows: a renamed tool would look the same."""
    name = names[0]
    hint = did_you_mean(name, known_tools(trace, context))
    more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
    return Decision(
        "uncertain",
        f"tool '{name}'{more} is in no inventory and no trace{hint}; "
        "correct the name, or declare it in subject.tools",
        cause="unknown-tool",
    )


def no_call(names: Sequence[str], trace: Trace, context: CheckContext) -> Decision:
    """Return what a rule about tools says of a trace that calls none of them (METHOD 27)."""
    unknown = unknown_tools(names, trace, context)
    if unknown:
        return unknown_tool(unknown, trace, context)
    named = [name for name in names if name != ANY]
    text = f"no call of {' or '.join(named)}" if named else "no tool call"
    return Decision("na", f"{text}: nothing to check", cited(uncalled(trace, names)))


def uncalled(trace: Trace, names: Sequence[str]) -> list[Citing]:
    """Return a scan for each tool which shows that it was not called."""
    channels = (FieldPath(None, ("name",), observation=name) for name in names[:MOST_REFS])
    return [look(trace, channel) for channel in channels]


def capped(decision: Decision, unknown: Sequence[str], trace: Trace, context: CheckContext,
           states: tuple[CellState, ...]) -> Decision:  # fmt: skip
    """Return uncertain for a decision that the unknown tools could have changed."""
    if unknown and decision.state in states:
        return unknown_tool(unknown, trace, context)
    return decision


def told(texts: Sequence[str], total: int) -> str:
    """Return one sentence for several: the first, and of how many it is told."""
    return texts[0] if total == 1 else f"{len(texts)} of {total}: {texts[0]}"


def _fold(readings: Sequence[Reading], order: tuple[CellState, ...]) -> Decision:
    for state in order:
        found = [r for r in readings if r.state == state]
        if found:
            refs = cited(promise for reading in found[:MOST_REFS] for promise in reading.citing)
            text = told([reading.text for reading in found], len(readings))
            return Decision(state, text, refs, found[0].cause)
    raise ValueError("there must be at least one reading")

"""Small traces for tests of checks, and one way to ask a primitive about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from helix.checks import decide
from helix.checks.plugin import helix_register_checks
from helix.checks.specs import read
from helix.fieldpath import MISSING
from helix.grounding import dead, resolve_refs
from helix.model.select import at_address
from helix.model.trace import TOOL, Message, Observation, Source, Trace
from helix.registry import Check, CheckContext, Decision

TRACE_ID = "trace-1"
NOT_RECORDED: Any = object()

CHECKS: dict[str, Check] = {}
helix_register_checks(lambda item: CHECKS.__setitem__(item.name, item))


class Row:
    """What `decide` needs of a compiled row."""

    def __init__(self, primitive: str, parameters: dict[str, Any]) -> None:
        part = read({"primitive": primitive, **parameters}, CHECKS.__getitem__)
        self.check: Check | None = part.check
        self.params = part.params


def call(
    name: str,
    input: Any = None,
    output: Any = NOT_RECORDED,
    *,
    text: str | None = None,
    id: str = "",
    turn: str | None = None,
    flags: Iterable[str] = (),
    type: str = TOOL,
    times: tuple[int, int] | None = None,
) -> Observation:
    """Return a call; `seq` and, if none is given, the id come from its place in the trace."""
    given: dict[str, Any] = {"input": {} if input is None else input}
    if text is not None:
        given["output_text"] = text
    elif output is not NOT_RECORDED:
        given["output"] = output
    if times is not None:
        given |= {"start_time": times[0], "end_time": times[1]}
    return Observation(id, 0, name, type, parent_id=turn, flags=flags, **given)


def said(role: str, text: str, *, id: str = "", control: bool = False) -> Message:
    """Return a message; `seq` and, if none is given, the id come from its place in the trace."""
    return Message(id, 0, role, text, control=control)


def trace(*events: Observation | Message, **fields: Any) -> Trace:
    """Return a trace of these events in this order."""
    built = Trace(TRACE_ID, Source("made", 0, "made", ""), **fields)
    for seq, event in enumerate(events):
        event.seq = seq
        event.id = event.id or f"{'c' if isinstance(event, Observation) else 'm'}{seq}"
        if isinstance(event, Observation):
            built.observations.append(event)
        else:
            built.transcript.append(event)
    return built


def ask(
    primitive: str,
    parameters: dict[str, Any],
    about: Trace,
    *,
    inventory: Sequence[str] = (),
    seen: Sequence[str] = (),
    roles: Sequence[str] = (),
) -> Decision:
    """Return what a primitive says of a trace, once its evidence has been resolved."""
    context = CheckContext(frozenset(inventory), frozenset(seen), frozenset(roles))
    decision = decide(Row(primitive, parameters), about, context)
    assert decision.cause != "check-error", decision.detail
    assert_grounded(about, decision)
    assert decide(Row(primitive, parameters), about, context) == decision
    return decision


def assert_grounded(about: Trace, decision: Decision) -> None:
    """Every ref resolves where it points, and what is decided has at least one."""
    assert decision.detail
    assert decision.refs or decision.state not in ("pass", "fail")
    for ref in decision.refs:
        assert ref.value is None or len(ref.value) <= 200
        assert ref.scan is not None or at_address(about, ref.obs, ref.path) is not MISSING
    assert dead(resolve_refs(about, decision.refs)) == []


def verdict(decision: Decision) -> str:
    """Return `pass`, `fail`, `na`, or `uncertain: CAUSE`."""
    return f"uncertain: {decision.cause}" if decision.cause else decision.state

"""From trace to packet: what the judge may see, every leaf with the address that cites it.

Labels never enter. What was asked is shown once where a message says it too. What does not fit the
token budget is in the ledger, and no verdict may rest on it (DESIGN “Judge boundary”).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from helix.fieldpath import parse_relative
from helix.grounding.slices import WHOLE, Slice, selected, slice_of
from helix.grounding.texts import Leaf as TraceLeaf
from helix.grounding.texts import leaves_of, own_leaves
from helix.judging.budget import within
from helix.judging.rendering import recording
from helix.model.config import SubjectConfig
from helix.model.criterion import Criterion
from helix.model.packet import (
    Coverage,
    Example,
    Leaf,
    MatrixPacket,
    PacketRow,
    Premise,
    ShownMessage,
    ShownStep,
    SubjectProfile,
)
from helix.model.request import CHARACTERS_PER_TOKEN, Pin
from helix.model.trace import Observation, Trace
from helix.model.verdict import AgentStep

PROMPT_RESERVE = 0.25
TRIES = 4
SHOWN_ANYWAY = frozenset(
    {"error", "flags", "id", "input", "level", "metadata", "name", "output", "role", "seq",
     "status", "text", "type", "usage"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PacketSettings:
    """What packets of one run share; `taken` are the characters that are not for the recording."""

    subject: SubjectConfig
    pin: Pin
    context_tokens: int
    tools: tuple[str, ...] = ()
    premises: tuple[Premise, ...] = ()
    taken: int = 0


def build(
    trace: Trace,
    rows: Sequence[Criterion],
    findings: Mapping[str, str],
    settings: PacketSettings,
) -> MatrixPacket:
    """Return a trace's packet for its residual rows; `findings` are the hybrids' code halves."""
    return _built(trace, rows, findings, settings, WHOLE, frozenset())


def sliced(
    trace: Trace,
    rows: Sequence[Criterion],
    findings: Mapping[str, str],
    settings: PacketSettings,
    beside: frozenset[str] = frozenset(),
) -> MatrixPacket:
    """Return the packet of what the rows' `judgeInputs` select together (METHOD 38, 47).

    Ids, headings, order and budget are those of the whole; a row without `judgeInputs` takes the
    whole trace. The observations and messages named in `beside` are shown too. What lies outside
    is counted in the ledger and shown nowhere.
    """
    part = slice_of(trace, rows).with_owners(beside)
    return _built(trace, rows, findings, settings, part, beside)


def _built(
    trace: Trace,
    rows: Sequence[Criterion],
    findings: Mapping[str, str],
    settings: PacketSettings,
    part: Slice,
    beside: frozenset[str],
) -> MatrixPacket:
    asked_of = {row.criterion_id for row in rows}
    named = selected(trace, [path for row in rows for path in row.judge_inputs])
    wanted = named.with_owners(beside)
    by_owner = _leaves(trace, wanted, part)
    own = by_owner.get(trace.id, [])
    asked = [leaf for leaf in own if leaf.path.startswith("input")]
    messages = [
        ShownMessage(id=m.id, seq=m.seq, role=m.role, text=m.text, control=m.control)
        for m in trace.transcript
        if part.touches(m.id)
    ]
    steps = tuple(_steps(trace, by_owner, part))
    held = len(trace.observations) + len(trace.transcript)
    packet = MatrixPacket(
        subject=settings.subject.name,
        trajectory_id=trace.id,
        criteria=tuple(_row(row, findings.get(row.criterion_id), trace.id) for row in rows),
        trajectory=steps,
        transcript=tuple(messages),
        input=tuple(_shown(leaf) for leaf in asked),
        output=tuple(_shown(leaf) for leaf in own if not leaf.path.startswith("input")),
        route=trace.route,
        subject_profile=profile(settings, trace),
        premises=tuple(p for p in settings.premises if p.concerns(asked_of, trace.id)),
        coverage=Coverage(
            shown=0, truncated=0, elided=0, outside=held - len(steps) - len(messages)
        ),
        pin={"model": settings.pin.model, "temperature": settings.pin.temperature},
    )
    said = {m.id for m in messages}
    once = msgspec.structs.replace(packet, input=_once(asked, trace, said))
    shown = fitting(once, settings, wanted)
    kept = {message.id for message in shown.transcript if not message.elided}
    if all(leaf.same_as is None or leaf.same_as in kept for leaf in shown.input):
        return shown
    return fitting(packet, settings, wanted)


def fitting(packet: MatrixPacket, settings: PacketSettings, wanted: Slice) -> MatrixPacket:
    """Return what fits, with what is said beside its values: tools seen, findings, the ledger."""
    budget, room = budget_of(settings), _whole(settings) - settings.taken
    shown = within(packet, budget, wanted)
    for _ in range(TRIES if shown.coverage.unread or budget == room else 0):
        over = len("\n".join(recording(shown)(""))) - room
        if over <= 0:
            break
        budget = max(0, budget - over)
        shown = within(packet, budget, wanted)
    return shown


def budget_of(settings: PacketSettings) -> int:
    """Return how many characters of a trace a packet may show."""
    whole = _whole(settings)
    return max(0, min(int(whole * (1 - PROMPT_RESERVE)), whole - settings.taken))


def _whole(settings: PacketSettings) -> int:
    return settings.context_tokens * CHARACTERS_PER_TOKEN


def _leaves(trace: Trace, wanted: Slice, part: Slice) -> dict[str, list[TraceLeaf]]:
    """Return what is shown of each owner: its leaves in the slice, and what rows name beyond.

    Messages are shown by their text, and have no leaves here.
    """
    first, last = own_leaves(trace)
    by_owner = {o.id: leaves_of(o) for o in trace.observations} | {trace.id: first + last}
    if not part.whole:
        for obs, found in by_owner.items():
            by_owner[obs] = [leaf for leaf in found if part.holds(obs, leaf.path)]
    for leaf in (wanted.leaves or {}).values():
        if parse_relative(leaf.path).steps[0] not in SHOWN_ANYWAY:
            by_owner.setdefault(leaf.obs, []).append(leaf)
    return by_owner


def _steps(
    trace: Trace, by_owner: Mapping[str, list[TraceLeaf]], part: Slice
) -> Iterator[ShownStep]:
    for step, observation in zip(agent_steps(trace), ordered(trace), strict=True):
        if not part.touches(observation.id):
            continue
        yield ShownStep(
            step=step,
            seq=observation.seq,
            name=observation.name,
            type=observation.type,
            leaves=tuple(_shown(leaf) for leaf in by_owner.get(observation.id, [])),
            flags=observation.flags,
        )


def ordered(trace: Trace) -> list[Observation]:
    """Return the observations by sequence, then time (METHOD 33)."""
    return sorted(trace.observations, key=lambda o: (o.seq, o.start_time or 0))


def agent_steps(trace: Trace) -> tuple[AgentStep, ...]:
    """Return what the agent did, as facts built by code (METHOD 33)."""
    return tuple(
        AgentStep(
            n=n,
            id=o.id,
            tool=o.name,
            status=o.status or ("error" if o.error else None),
            detail=o.error,
        )
        for n, o in enumerate(ordered(trace), 1)
    )


def profile(settings: PacketSettings, trace: Trace) -> SubjectProfile:
    """Return who the subject is, inferred fields named; an unknown harness stays unknown.

    Tools that nobody declared are those of this trace, not of the batch: a trace that is added
    must not change what was asked of the others, or the cache would serve none of them.
    """
    subject = settings.subject
    seen = tuple(sorted({o.name for o in trace.tools()}))
    inferred = ("tools",) if seen and not settings.tools else ()
    given = any((subject.purpose, subject.skill, subject.scope, settings.tools))
    return SubjectProfile(
        identity=subject.name,
        provenance="given" if given else "reconstructed",
        purpose=subject.purpose,
        tools=settings.tools or seen,
        skill=subject.skill,
        scope=subject.scope,
        harness=subject.harness or "unknown",
        version=subject.version,
        inferred_fields=inferred,
        events=subject.events,
        routes=subject.routes,
    )


def shows_anything(packet: MatrixPacket) -> bool:
    """Whether a packet shows a judge any place at all."""
    return bool(packet.input or packet.output or packet.trajectory or packet.transcript)


def omissions(packet: MatrixPacket, rows: Sequence[Criterion]) -> tuple[dict[str, str], ...]:
    """Return what a packet leaves out, one note each, for the decisions of its line."""
    ledger, found = packet.coverage, []
    if ledger.unread:
        text = f"not all was shown: {ledger.elided} left out, {ledger.truncated} cut"
        found.append({"kind": "elision", "text": text})
    for row in rows:
        if any(shot.trace_id == packet.trajectory_id for shot in row.few_shot):
            text = f"the example of {row.criterion_id} that is of this very trace was not shown"
            found.append({"kind": "elision", "text": text})
    return tuple(found)


def _row(criterion: Criterion, finding: str | None, trace: str) -> PacketRow:
    """Return a row as asked; an example made of this very trace would give its answer away."""
    shots = [shot for shot in criterion.few_shot if shot.trace_id != trace]
    return PacketRow(
        criterion_id=criterion.criterion_id,
        statement=criterion.statement,
        severity=criterion.severity or "unset",
        pass_condition=criterion.pass_condition,
        fail_condition=criterion.fail_condition,
        dimension=criterion.dimension,
        judge_inputs=criterion.judge_inputs,
        terms=criterion.terms,
        code_finding=finding,
        examples=tuple(Example(text=s.text, critique=s.critique, result=s.result) for s in shots),
    )


def _once(asked: Sequence[TraceLeaf], trace: Trace, shown: Collection[str]) -> tuple[Leaf, ...]:
    """Return the input with what a message shows word for word left out, the message named."""
    said = {m.text: m.id for m in reversed(trace.transcript) if m.id in shown and m.text}
    return tuple(
        Leaf(obs=leaf.obs, path=leaf.path, text="", same_as=said[leaf.text])
        if leaf.text in said
        else _shown(leaf)
        for leaf in asked
    )


def _shown(leaf: TraceLeaf) -> Leaf:
    return Leaf(obs=leaf.obs, path=leaf.path, text=leaf.text)

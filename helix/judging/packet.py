"""From trace to packet: what the judge may see, every leaf with the address that cites it.

Labels never enter. What was asked is shown once where a message says it too. Huge fields are cut
with a declared placeholder, and a trace above the token budget is cut in the middle at observation
borders, its own input and output from their largest leaf down; what was not shown is in the ledger,
and no verdict may rest on it (DESIGN “Judge boundary”).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from helix.fieldpath import parse_relative
from helix.grounding.texts import Leaf as TraceLeaf
from helix.grounding.texts import leaves
from helix.judging.rendering import leaf_text, message_text, step_text
from helix.judging.slicing import WHOLE, Slice, selected, slice_of
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
from helix.model.request import Pin
from helix.model.trace import Observation, Trace
from helix.model.verdict import AgentStep

LEAF_CHARACTERS = 12_000
CHARACTERS_PER_TOKEN = 4
PROMPT_RESERVE = 0.25
OWN_SHARE = 0.5
SHOWN_ANYWAY = frozenset(
    {"error", "flags", "id", "input", "level", "metadata", "name", "output", "role", "seq",
     "status", "text", "type", "usage"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PacketSettings:
    """What packets of one run share."""

    subject: SubjectConfig
    pin: Pin
    context_tokens: int
    tools: tuple[str, ...] = ()
    premises: tuple[Premise, ...] = ()


def build(
    trace: Trace,
    rows: Sequence[Criterion],
    findings: Mapping[str, str],
    settings: PacketSettings,
) -> MatrixPacket:
    """Return a trace's packet for its residual rows; `findings` are the hybrids' code halves."""
    return _built(trace, rows, findings, settings, WHOLE)


def sliced(
    trace: Trace,
    rows: Sequence[Criterion],
    findings: Mapping[str, str],
    settings: PacketSettings,
) -> MatrixPacket:
    """Return the packet of what the rows' `judgeInputs` select together (METHOD 38, 47).

    Ids, headings, order and budget are those of the whole; a row without `judgeInputs` takes the
    whole trace. What lies outside is counted in the ledger and shown nowhere.
    """
    return _built(trace, rows, findings, settings, slice_of(trace, rows))


def _built(
    trace: Trace,
    rows: Sequence[Criterion],
    findings: Mapping[str, str],
    settings: PacketSettings,
    part: Slice,
) -> MatrixPacket:
    by_owner = _leaves(trace, rows, part)
    own = by_owner.get(trace.id, [])
    asked = [leaf for leaf in own if leaf.path.startswith("input")]
    messages = [
        _message(m.id, m.seq, m.role, m.text, m.control)
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
        premises=settings.premises,
        coverage=Coverage(
            shown=0, truncated=0, elided=0, outside=held - len(steps) - len(messages)
        ),
        pin={"model": settings.pin.model, "temperature": settings.pin.temperature},
    )
    budget = int(settings.context_tokens * CHARACTERS_PER_TOKEN * (1 - PROMPT_RESERVE))
    said = {m.id for m in messages}
    shown = _within(msgspec.structs.replace(packet, input=_once(asked, trace, said)), budget)
    kept = {message.id for message in shown.transcript}
    if all(leaf.same_as is None or leaf.same_as in kept for leaf in shown.input):
        return shown
    return _within(packet, budget)


def _leaves(trace: Trace, rows: Sequence[Criterion], part: Slice) -> dict[str, list[TraceLeaf]]:
    """Return what is shown of each owner: its leaves in the slice, and what rows name beyond."""
    by_owner: dict[str, list[TraceLeaf]] = {}
    for leaf in leaves(trace):
        if part.holds(leaf.obs, leaf.path):
            by_owner.setdefault(leaf.obs, []).append(leaf)
    wanted = selected(trace, [path for row in rows for path in row.judge_inputs])
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
    inferred = [] if settings.tools else ["tools"]
    given = any((subject.purpose, subject.skill, subject.scope, settings.tools))
    return SubjectProfile(
        identity=subject.name,
        provenance="given" if given else "reconstructed",
        purpose=subject.purpose,
        tools=settings.tools or tuple(sorted({o.name for o in trace.tools()})),
        skill=subject.skill,
        scope=subject.scope,
        harness=subject.harness or "unknown",
        version=subject.version,
        inferred_fields=tuple(inferred),
        events=subject.events,
        routes=subject.routes,
    )


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
    said = {
        m.text: m.id
        for m in reversed(trace.transcript)
        if m.id in shown and 0 < len(m.text) <= LEAF_CHARACTERS
    }
    return tuple(
        Leaf(obs=leaf.obs, path=leaf.path, text="", same_as=said[leaf.text])
        if leaf.text in said
        else _shown(leaf)
        for leaf in asked
    )


def _shown(leaf: TraceLeaf) -> Leaf:
    text, elided = _cut(leaf.text)
    return Leaf(obs=leaf.obs, path=leaf.path, text=text, elided=elided)


def _message(id: str, seq: int, role: str, text: str, control: bool) -> ShownMessage:
    shown, elided = _cut(text)
    return ShownMessage(id=id, seq=seq, role=role, text=shown, control=control, elided=elided)


def _cut(text: str) -> tuple[str, int]:
    if len(text) <= LEAF_CHARACTERS:
        return text, 0
    half = LEAF_CHARACTERS // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n[{left_out} characters not shown]\n{text[-half:]}", left_out


def _within(packet: MatrixPacket, budget: int) -> MatrixPacket:
    """Leave out what does not fit the budget of characters, and say what that is."""
    own = [*packet.input, *packet.output]
    own_sizes = [len(leaf_text(leaf)) + 1 for leaf in own]
    items: list[Any] = sorted([*packet.trajectory, *packet.transcript], key=lambda i: i.seq)
    sizes = [_size(item) for item in items]
    if sum(own_sizes) + sum(sizes) <= budget:
        kept_own, kept = set(range(len(own))), set(range(len(items)))
    else:
        kept_own = _smallest(own_sizes, max(budget - sum(sizes), int(budget * OWN_SHARE)))
        kept = _ends(sizes, budget - sum(own_sizes[at] for at in kept_own))
    left_out = [_id(item) for at, item in enumerate(items) if at not in kept]
    left_out += [_place(leaf) for at, leaf in enumerate(own) if at not in kept_own]
    shown = [items[at] for at in sorted(kept)]
    whole = [_id(item) for item in shown if not _elided(item)]
    cut = [_id(item) for item in shown if _elided(item)]
    cut += [_place(own[at]) for at in sorted(kept_own) if own[at].elided]
    split = len(packet.input)
    return msgspec.structs.replace(
        packet,
        input=tuple(own[at] for at in sorted(kept_own) if at < split),
        output=tuple(own[at] for at in sorted(kept_own) if at >= split),
        trajectory=tuple(i for i in shown if isinstance(i, ShownStep)),
        transcript=tuple(i for i in shown if isinstance(i, ShownMessage)),
        coverage=Coverage(
            shown=len(whole),
            truncated=len(cut),
            elided=len(left_out),
            outside=packet.coverage.outside,
            unread=tuple(left_out + cut),
        ),
    )


def _smallest(sizes: Sequence[int], budget: int) -> set[int]:
    """Keep the small ones: one huge leaf must not push out what everything else says."""
    kept: set[int] = set()
    for at in sorted(range(len(sizes)), key=lambda at: (sizes[at], at)):
        if sizes[at] > budget:
            break
        kept.add(at)
        budget -= sizes[at]
    return kept


def _ends(sizes: Sequence[int], budget: int) -> set[int]:
    """Keep from both ends inwards; what could never fit is passed over."""
    kept: set[int] = set()
    left = budget
    for at in sorted(range(len(sizes)), key=lambda i: (min(i, len(sizes) - 1 - i), i)):
        if sizes[at] > budget:
            continue
        if sizes[at] > left:
            break
        kept.add(at)
        left -= sizes[at]
    return kept


def _size(item: Any) -> int:
    return len(message_text(item) if isinstance(item, ShownMessage) else step_text(item)) + 1


def _place(leaf: Leaf) -> str:
    return f"{leaf.obs} {leaf.path}"


def _id(item: Any) -> str:
    return str(item.id if isinstance(item, ShownMessage) else item.step.id)


def _elided(item: Any) -> bool:
    if isinstance(item, ShownMessage):
        return item.elided > 0
    return any(leaf.elided for leaf in item.leaves)

"""The determiner: what became of one trace, without criteria, and no more than it shows (49–51).

A generator, like judging: it yields requests and is sent replies. An unusable reply earns at most
two re-prompts, places that do not resolve earn one that names them. What does not stand then is
an assumption and no fact, and a verdict that rested on it is uncertain.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from helix.grounding import Ground, all_weak, dead
from helix.judging.determining import (
    Said,
    SaidDetection,
    read_determination,
    render_determination,
)
from helix.judging.exchange import exchange
from helix.judging.judged import by_the_pin
from helix.judging.outline import shown_to_determiner
from helix.judging.packet import PacketSettings
from helix.judging.reply import SaidRef, refs_of
from helix.model.canonical import digest
from helix.model.discovery import Detection, Determination, DeterminedBy
from helix.model.packet import MatrixPacket
from helix.model.preference import Preference
from helix.model.request import NoReply, Pin, Reply, Request, Unit
from helix.model.select import owner
from helix.model.trace import Trace
from helix.model.verdict import Assumption, BlockedBy, Cause, Ref

Determining = Generator[Request, "Reply | NoReply", Determination]
Fallen = tuple[Cause, str]


@dataclass(frozen=True, slots=True)
class DeterminerSettings:
    """What the determinations of one run share: pin and budget, complete channels, preferences.

    `models` are the names that a returned model may have (METHOD 42). The premises of `packet` do
    not reach a determiner.
    """

    packet: PacketSettings
    channels: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    preferences: tuple[Preference, ...] = ()


def determine(trace: Trace, settings: DeterminerSettings, replicate: int = 0) -> Determining:
    """Yield the questions about a trace and return what was established of it."""
    packet, whole = shown_to_determiner(trace, replace(settings.packet, premises=()))
    pin = settings.packet.pin
    first = ask_to_determine(packet, _unit(trace, settings, replicate), settings, whole=whole)
    floor = _Floor(trace, Ground.of(trace, packet, settings.channels))
    notes: list[dict[str, str]] = []
    answer = yield from exchange(
        first,
        lambda given: by_the_pin(given, settings.models, "judge"),
        lambda asked, reply: read_determination(reply, asked.nonce),
        floor.complaints,
        notes,
    )
    found = Determination(
        trace_id=trace.id,
        trace_digest=trace.source.digest,
        verdict="uncertain",
        whole=whole,
        produced_by="determiner",
        determined_by=_by(pin, first, answer if isinstance(answer, NoReply) else answer[1]),
        warnings=tuple(map(_told, notes)),
    )
    if isinstance(answer, NoReply):
        return msgspec.structs.replace(found, cause=answer.cause)
    return floor.settled(answer[0], found)


def ask_to_determine(
    packet: MatrixPacket, unit: Unit, settings: DeterminerSettings, *, whole: bool
) -> Request:
    """Return the first question about a packet without criteria."""
    return render_determination(
        packet,
        unit,
        settings.packet.pin,
        settings.channels,
        settings.preferences,
        whole=whole,
    )


def _unit(trace: Trace, settings: DeterminerSettings, replicate: int) -> Unit:
    """Return the unit of a trace's first question; its digest is of what is asked besides it."""
    preferences = [[p.name, p.text] for p in settings.preferences]
    return Unit(
        role="determiner",
        axis="trajectory",
        trace_id=trace.id,
        trace_digest=trace.source.digest,
        criteria=(),
        criteria_digest=digest({"preferences": preferences}),
        replicate=replicate,
    )


def _told(note: dict[str, str]) -> str:
    """Return what a note of the way to an answer says, as a warning."""
    if note["kind"] == "no-reply":
        return f"no reply ({note['cause']}): {note['text']}"
    lead = "unusable reply" if note["kind"] == "unusable" else "asked again"
    return f"{lead}: {note['text']}"


def _by(pin: Pin, first: Request, reply: Reply | NoReply) -> DeterminedBy:
    by = DeterminedBy(
        model=pin.model,
        temperature=pin.temperature,
        identity=pin.identity,
        prompt=first.prompt_digest,
    )
    if isinstance(reply, NoReply):
        return by
    return msgspec.structs.replace(
        by,
        reviewer=reply.made_by,
        returned_model=reply.returned_model,
        effective=reply.effective,
        reply=digest(reply.text),
    )


@dataclass(slots=True)
class _Floor:
    """What a determination may rest on: places of its trace that were shown and resolve."""

    trace: Trace
    ground: Ground
    assumed: list[Assumption] = field(default_factory=list)
    taken_back: list[str] = field(default_factory=list)

    def complaints(self, said: Said) -> list[str]:
        """Return what a re-prompt should name: refs that carry nothing, a pointer to nowhere."""
        found = self._faults("the verdict", said.refs) if said.verdict != "uncertain" else []
        for detection in said.detections:
            found += self._faults(f"'{detection.kind}'", detection.refs)
        if said.evidence_pointer is not None and not self._points(said.evidence_pointer):
            found.append(
                "evidencePointer must be the id of one message or step of the recording, or null "
                f"(got {said.evidence_pointer[:80]!r})"
            )
        return found

    def settled(self, said: Said, found: Determination) -> Determination:
        """Return the determination that stands of what was said."""
        standing, fallen = self._standing(said.detections)
        refs = self.ground.resolved(refs_of(said.refs))
        pointer = said.evidence_pointer
        found = msgspec.structs.replace(
            found,
            verdict=said.verdict,
            goal=said.goal,
            happened=said.happened,
            outcome=said.outcome,
            critique=said.critique,
            evidence_pointer=pointer if pointer and self._points(pointer) else None,
            detections=standing,
            refs=tuple(ref for ref in refs if ref.match != "dead" and self.ground.shows(ref)),
        )
        if said.verdict == "uncertain":
            found = msgspec.structs.replace(
                found, cause="not-decidable", blocked_by=said.blocked_by
            )
        elif (fault := self._carries(refs)) is not None:
            found = self._undecided(found, fault)
        elif said.verdict == "fail" and not any(d.root for d in standing):
            found = self._undecided(found, next(iter(fallen.values())))
        found = self._with_root(said, found, whole=not fallen)
        return msgspec.structs.replace(
            found,
            assumptions=tuple(self.assumed),
            warnings=(*found.warnings, *self.taken_back),
        )

    def _standing(
        self, said: Sequence[SaidDetection]
    ) -> tuple[tuple[Detection, ...], dict[str, Fallen]]:
        """Return the detections that their places carry, and why the others fell, by kind."""
        resolved = {id(d): self.ground.resolved(refs_of(d.refs)) for d in said}
        fallen: dict[str, Fallen] = {}
        for detection in said:
            fault = self._carries(resolved[id(detection)])
            if fault is not None:
                fallen[detection.kind] = fault
                self._assume(f"{detection.kind}: {detection.text}")
                self.taken_back.append(f"'{detection.kind}' is no fact: {fault[1]}")
        kept = [d for d in said if self._carries(resolved[id(d)]) is None]
        kinds = {d.kind for d in kept}
        return tuple(_built(d, resolved[id(d)], kinds) for d in kept), fallen

    def _with_root(self, said: Said, found: Determination, *, whole: bool) -> Determination:
        """Return the determination with its root cause, where all of it stands."""
        if not said.root_cause or said.verdict == "pass":
            return found
        if found.verdict == "fail" and whole:
            return msgspec.structs.replace(found, root_cause=said.root_cause)
        self._assume(said.root_cause)
        return found

    def _undecided(self, found: Determination, fault: Fallen) -> Determination:
        cause, text = fault
        self.taken_back.append(f"the verdict {found.verdict} does not stand: {text}")
        blocked = BlockedBy(kind="factual-intent", text=text)
        return msgspec.structs.replace(found, verdict="uncertain", cause=cause, blocked_by=blocked)

    def _assume(self, text: str) -> None:
        self.assumed.append(Assumption(text=text, kind="factual-intent", status="unverified"))

    def _points(self, pointer: str) -> bool:
        return pointer != self.trace.id and owner(self.trace, pointer) is not None

    def _faults(self, what: str, said: Sequence[SaidRef]) -> list[str]:
        refs = self.ground.resolved(refs_of(said))
        notes = [f"{what}: ref {ref.obs} {ref.path}: {ref.note}" for ref in dead(refs)]
        fault = self._carries(refs)
        return notes or ([] if fault is None else [f"{what}: {fault[1]}"])

    def _carries(self, refs: Sequence[Ref]) -> Fallen | None:
        """Return why resolved refs carry nothing, None where they do."""
        if not refs:
            return "not-decidable", "no place is cited that shows it"
        for ref in dead(refs):
            return "dead-ref", f"{ref.obs} {ref.path}: {ref.note}"
        for ref in refs:
            if not self.ground.shows(ref):
                return "unread", f"{ref.obs} {ref.path} was not shown to the determiner"
        if all_weak(refs):
            return "not-decidable", "the cited words are too short or too common"
        return None


def _built(said: SaidDetection, refs: tuple[Ref, ...], kinds: set[str]) -> Detection:
    """Return a detection as it stands; what it follows from may have fallen (METHOD 51)."""
    assumptions = tuple(
        msgspec.structs.replace(a, status="unverified") if a.status == "verified" else a
        for a in said.assumptions
    )
    led_by = said.led_by
    if led_by is not None and led_by not in kinds:
        text = f"this followed from '{led_by}', which no place shows"
        assumptions = (*assumptions, Assumption(text=text, kind="factual-intent"))
        led_by = None
    return Detection(
        lens=said.lens,  # type: ignore[arg-type]
        kind=said.kind,
        text=said.text,
        refs=refs,
        assumptions=assumptions,
        root=led_by is None,
        led_by=led_by,
        route=said.route,  # type: ignore[arg-type]
    )

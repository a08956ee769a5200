"""What a prompt takes beside its recording, so that both fit what the pin's model reads.

Rubric, rows with their examples, schema and the subject's account are measured as they would be
sent; `max_tokens` is kept for the answer (DESIGN “Judge boundary”).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from helix.errors import PinError
from helix.judging.criterion import render_row
from helix.judging.determiner import DeterminerSettings, ask_to_determine
from helix.judging.job import Job, Settings, VerifierSettings
from helix.judging.packet import PacketSettings, build
from helix.judging.rendering import render
from helix.judging.review import Claim, render_review
from helix.model.criterion import Criterion
from helix.model.request import CHARACTERS_PER_TOKEN, Request
from helix.model.trace import Source, Trace
from helix.model.verdict import Fidelity

CLAIM_CHARACTERS = 1_000
_FEWER_ROWS = (
    ", select fewer rows by select.criteria, or ask for one row at a time by judge.axis=criterion"
)
_NOTHING = Trace(id="", source=Source("", 0, "helix", ""))


def with_room(settings: Settings, rows: Sequence[Criterion]) -> Settings:
    """Return the settings with room kept for the rest of a prompt; PinError where there is none."""
    if not rows:
        return settings
    alone = settings.axis == "criterion"
    asked = [_question([row], settings) for row in rows] if alone else [_question(rows, settings)]
    packet = _kept(settings.packet, max(map(_characters, asked)), "judge")
    verifier = settings.verifier
    if verifier is not None:
        claims = _characters(_review(rows, settings, verifier)) + CLAIM_CHARACTERS * len(rows)
        verifier = replace(verifier, packet=_kept(verifier.packet, claims, "verifier"))
    return replace(settings, packet=packet, verifier=verifier)


def with_room_to_determine(settings: DeterminerSettings) -> DeterminerSettings:
    """Return the settings with room kept for rubric, preferences and schema, or PinError."""
    packet = build(_NOTHING, (), {}, settings.packet)
    request = ask_to_determine(packet, _JOB.unit((), "trajectory"), settings, whole=False)
    return replace(settings, packet=_kept(settings.packet, _characters(request), "judge", ""))


def _kept(
    packet: PacketSettings, characters: int, section: str, hint: str = _FEWER_ROWS
) -> PacketSettings:
    taken = characters + (packet.pin.max_tokens or 0) * CHARACTERS_PER_TOKEN
    if taken >= packet.context_tokens * CHARACTERS_PER_TOKEN:
        least = taken // CHARACTERS_PER_TOKEN
        raise PinError(
            f"{section}.context_tokens must be above {least}, which rubric, rows, schema and "
            f"{section}.max_tokens take (got {packet.context_tokens}): raise it{hint}"
        )
    return replace(packet, taken=taken)


def _question(rows: Sequence[Criterion], settings: Settings) -> Request:
    packet = build(_NOTHING, rows, {}, settings.packet)
    unit = _JOB.unit(rows, settings.axis)
    if settings.axis == "criterion":
        return render_row(packet, unit, settings.packet.pin, settings.channels)
    return render(packet, unit, settings.packet.pin, settings.channels)


def _review(rows: Sequence[Criterion], settings: Settings, verifier: VerifierSettings) -> Request:
    packet = build(_NOTHING, rows, {}, verifier.packet)
    claims = [Claim(row.criterion_id, "pass", "", ()) for row in rows]
    unit, pin = _JOB.unit(rows, "trajectory"), verifier.packet.pin
    return render_review(packet, claims, unit, pin, settings.channels, ())


def _characters(request: Request) -> int:
    return sum(len(message.content) for message in request.messages)


_JOB = Job(_NOTHING, 0, (), {}, Fidelity(complete=True))

"""What a determiner is shown of one trace: all of it, or an outline (METHOD 49)."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from helix.grounding.slices import WHOLE
from helix.judging.budget import counted
from helix.judging.packet import PacketSettings, build, fitting
from helix.model.packet import MatrixPacket, ShownMessage, ShownStep, cut_mark
from helix.model.trace import Trace

BEGINNING = 240
LAST_MESSAGES = 3
OF_A_STEP = frozenset({"error", "level", "status"})
BOUNDLESS = 10**12


def shown_to_determiner(trace: Trace, settings: PacketSettings) -> tuple[MatrixPacket, bool]:
    """Return the packet of a trace without criteria, and whether it shows the trace whole.

    The outline is what came in, the sequence of steps with their errors, the beginning of each
    message, and the end; its ledger names all that is cut or left out.
    """
    packet = build(trace, (), {}, settings)
    if not packet.coverage.unread:
        return packet, True
    whole = build(trace, (), {}, replace(settings, context_tokens=BOUNDLESS))
    kept = {leaf.same_as for leaf in whole.input if leaf.same_as is not None}
    kept.update(message.id for message in whole.transcript[-LAST_MESSAGES:])
    outline = msgspec.structs.replace(
        whole,
        trajectory=tuple(map(_pared, whole.trajectory)),
        transcript=tuple(m if m.id in kept else _begun(m) for m in whole.transcript),
    )
    return counted(whole, fitting(outline, settings, WHOLE)), False


def _pared(step: ShownStep) -> ShownStep:
    kept = tuple(leaf for leaf in step.leaves if leaf.path in OF_A_STEP)
    return msgspec.structs.replace(step, leaves=kept, left_out=len(step.leaves) - len(kept))


def _begun(message: ShownMessage) -> ShownMessage:
    left_out = len(message.text) - BEGINNING
    if left_out <= 0:
        return message
    text = message.text[:BEGINNING] + cut_mark(left_out)
    return msgspec.structs.replace(message, text=text, elided=left_out)

"""The criterion axis: one question per row and trace, sliced to what the row looks at (METHOD 38).

What the rows of one trace share stands first in their prompts, and the nonce is derived from that
part alone, so that a provider's prefix cache serves them: the recording where rows look at the same
slice of it, the rubric always. What happens to one row's question is that row's alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from helix.judging.conversation import Asking, converse
from helix.judging.job import Job, Settings
from helix.judging.judged import Judged
from helix.judging.packet import omissions, shows_anything, sliced
from helix.judging.rendering import derive_nonce, recording, row_text, surroundings
from helix.judging.rubric import ONE_CRITERION, RUBRIC, criterion_schema
from helix.model.canonical import declared_text, digest
from helix.model.criterion import Criterion
from helix.model.lines import portable
from helix.model.packet import MatrixPacket, PacketRow
from helix.model.request import Message, NoReply, Pending, Pin, Request, Unit
from helix.model.trace import Source, Trace
from helix.model.verdict import BlockedBy, Verdict


def judge_rows(job: Job, rows: Sequence[Criterion], settings: Settings) -> Asking:
    """Ask for each row by itself, in suite order, and return what was answered, grounded.

    A row whose answer waits keeps nobody waiting: the others are asked before Pending is raised.
    One whose slice is empty is not asked, and undecided (METHOD 41).
    """
    answered: list[Judged] = []
    waits: Pending | None = None
    for row in rows:
        packet = sliced(job.trace, [row], job.findings([row]), settings.packet)
        unit = job.unit([row], "criterion")
        request = render_row(packet, unit, settings.packet.pin, settings.channels)
        if not shows_anything(packet):
            answered.append(_skipped(row.criterion_id, request))
            continue
        ground = settings.ground(job.trace, packet)
        try:
            judged = yield from converse(request, packet.criteria, ground, settings.models)
        except Pending as task:
            waits = waits or task
            continue
        answered.append(_of_row(row.criterion_id, judged, omissions(packet, [row])))
    if waits is not None:
        raise waits
    return _together(answered)


def render_row(
    packet: MatrixPacket, unit: Unit, pin: Pin, channels: tuple[str, ...] = ()
) -> Request:
    """Return the first request about a packet's one row."""
    (row,) = packet.criteria
    schema = criterion_schema(row.criterion_id)
    shared = _shared(packet, channels)
    nonce = derive_nonce(RUBRIC + shared(""))
    text = shared(nonce) + _asked(row, nonce)
    messages = (Message("system", RUBRIC), Message("user", text))
    return Request(unit, pin, messages, nonce, schema)


def prompt_of(row: Criterion, settings: Settings) -> tuple[str, str]:
    """Return the fixed prompt of a row, system and user: `{recording}` stands for the trace."""
    nobody = Trace(id="{recording}", source=Source("", 0, "helix", ""))
    packet = sliced(nobody, [row], {}, settings.packet)
    around = "\n".join(["{recording}", *surroundings(packet, settings.channels)])
    return RUBRIC, around + _asked(packet.criteria[0], "{nonce}")


def _shared(packet: MatrixPacket, channels: tuple[str, ...]) -> Callable[[str], str]:
    fenced, around = recording(packet), surroundings(packet, channels)
    return lambda nonce: "\n".join([*fenced(nonce), *around])


def _asked(row: PacketRow, nonce: str) -> str:
    parts = ["", "", "## the criterion", row_text(row), "", ONE_CRITERION]
    parts.append(f"Schema of the answer: {declared_text(criterion_schema(row.criterion_id))}")
    return "\n".join([*parts, f'Put "nonce": "{nonce}" first.'])


def _skipped(criterion: str, request: Request) -> Judged:
    text = "nothing that the row looks at is in this trace"
    block = BlockedBy(kind="factual-intent", text=text)
    verdict = Verdict(
        criterion_id=criterion,
        critique=text,
        result="uncertain",
        blocked_by=block,
        cause="missing-field",
    )
    note = {"kind": "skip", "cause": "missing-field", "text": text, "criterion": criterion}
    return Judged(
        verdicts={criterion: verdict},
        not_applicable={},
        missing={},
        prompt_digest=request.prompt_digest,
        decisions=(note,),
    )


def _of_row(criterion: str, judged: Judged, left_out: Sequence[dict[str, str]]) -> Judged:
    """Return a row's part: no walk, its notes by name, a slice that breaks off nobody judged."""
    notes = tuple({**note, "criterion": criterion} for note in (*left_out, *judged.decisions))
    missing = judged.missing
    if judged.answer is not None and not judged.answer.fidelity.complete:
        reason = portable(judged.answer.fidelity.reason or "the judge found its slice cut off")
        missing = {criterion: NoReply("truncated", reason)}
    warnings = tuple(f"{criterion}: {note['text']}" for note in left_out)
    return replace(judged, answer=None, decisions=notes, missing=missing, warnings=warnings)


def _together(parts: Sequence[Judged]) -> Judged:
    """Return the rows' parts as one: digests over all of them in order, who answered by name."""
    replied = [part for part in parts if part.reply_digest is not None]
    effective = {digest(part.effective): part.effective for part in replied}
    several: tuple[Any, ...] = tuple(effective[key] for key in sorted(effective))
    models = sorted({part.returned_model for part in replied if part.returned_model is not None})
    return Judged(
        verdicts={cid: v for part in parts for cid, v in part.verdicts.items()},
        not_applicable={cid: na for part in parts for cid, na in part.not_applicable.items()},
        missing={cid: why for part in parts for cid, why in part.missing.items()},
        prompt_digest=digest([part.prompt_digest for part in parts]),
        reply_digest=digest([part.reply_digest for part in parts]) if replied else None,
        decisions=tuple(note for part in parts for note in part.decisions),
        warnings=tuple(warning for part in parts for warning in part.warnings),
        returned_model=", ".join(models) or None,
        reviewers=tuple(dict.fromkeys(name for part in replied for name in part.reviewers)),
        effective=several[0] if len(several) == 1 else several or None,
    )

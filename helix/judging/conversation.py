"""One question to the judge, and what stands of its answer (METHOD 40, 46).

A generator: it yields requests and is sent replies. What is not usable stays unadjudicated with its
cause, and what does not stand becomes uncertain. Both axes ask in this way.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import TypeVar

import msgspec

from helix.grounding import Ground, complaints, resolved, settle, settle_na
from helix.judging.axes import read_answer
from helix.judging.exchange import exchange
from helix.judging.judged import Judged, by_the_pin
from helix.judging.reply import Answer, Unusable
from helix.model.canonical import digest
from helix.model.lines import portable
from helix.model.packet import PacketRow
from helix.model.request import NoReply, Reply, Request
from helix.model.verdict import Candidate, JudgeStep, NotApplicable, Verdict

Remark = TypeVar("Remark", JudgeStep, Candidate)

Asking = Generator[Request, "Reply | NoReply", "Judged"]


def converse(
    first: Request, rows: Sequence[PacketRow], ground: Ground, models: tuple[str, ...] = ()
) -> Asking:
    """Ask a question about `rows` and return what was answered, grounded.

    A reply by a model that is not among `models` is never read (METHOD 42); none named allows any.
    """
    notes: list[dict[str, str]] = []
    heard: Reply | None = None

    def accept(given: Reply | NoReply) -> Reply | NoReply:
        nonlocal heard
        heard = given if isinstance(given, Reply) else heard
        return by_the_pin(given, models, "judge")

    def read(request: Request, reply: Reply) -> Answer | Unusable:
        answer = read_answer(request, reply)
        if isinstance(answer, Answer) and answer.repaired:
            notes.append({"kind": "repaired", "text": "control characters inside strings"})
        return answer

    said = yield from exchange(first, accept, read, lambda x: faults(x, rows, ground), notes)
    if isinstance(said, NoReply):
        return _by(heard, _nothing(said, rows, first, notes))
    answer, reply = said
    return _by(reply, _settled(answer, rows, ground, first, notes))


def faults(answer: Answer, rows: Sequence[PacketRow], ground: Ground) -> list[str]:
    """Return what a re-prompt names of an answer: evidence that is missing or does not resolve."""
    found: list[str] = []
    for row in rows:
        verdict = answer.verdicts.get(row.criterion_id)
        if verdict is not None:
            named = complaints(resolved(verdict, ground), row.terms, ground)
            found += [f"{row.criterion_id}: {fault}" for fault in named]
        excused = answer.not_applicable.get(row.criterion_id)
        if excused is not None:
            checked = settle_na(excused, ground)
            if isinstance(checked, Verdict):
                found.append(f"{row.criterion_id}: not applicable needs refs that resolve")
    return found


def _settled(
    answer: Answer,
    rows: Sequence[PacketRow],
    ground: Ground,
    first: Request,
    notes: list[dict[str, str]],
) -> Judged:
    verdicts: dict[str, Verdict] = {}
    excused: dict[str, NotApplicable] = {}
    for row in rows:
        if row.criterion_id in answer.verdicts:
            given = resolved(answer.verdicts[row.criterion_id], ground)
            verdicts[row.criterion_id] = settle(given, row.terms, ground)
        elif row.criterion_id in answer.not_applicable:
            checked = settle_na(answer.not_applicable[row.criterion_id], ground)
            if isinstance(checked, Verdict):
                verdicts[row.criterion_id] = checked
            else:
                excused[row.criterion_id] = checked
    for criterion, verdict in verdicts.items():
        said = answer.verdicts.get(criterion)
        if said is None or verdict.result != said.result:
            cause = verdict.cause or ""
            was = said.result if said else "na"
            notes.append({"kind": "downgrade", "criterion": criterion, "from": was, "cause": cause})
    return Judged(
        verdicts=verdicts,
        not_applicable=excused,
        missing={},
        prompt_digest=first.prompt_digest,
        answer=_looked_up(answer, ground),
        decisions=tuple(notes),
    )


def _looked_up(answer: Answer, ground: Ground) -> Answer:
    """Return the answer with the refs of its walk resolved; a dead one decides nothing."""

    def with_ref(remark: Remark) -> Remark:
        if remark.ref is None:
            return remark
        return msgspec.structs.replace(remark, ref=ground.resolved([remark.ref])[0])

    root = answer.localize
    if root is not None:
        root = msgspec.structs.replace(root, refs=ground.resolved(root.refs))
    return replace(
        answer,
        judge_steps=tuple(map(with_ref, answer.judge_steps)),
        candidates=tuple(map(with_ref, answer.candidates)),
        localize=root,
    )


def _nothing(
    reply: NoReply, rows: Sequence[PacketRow], first: Request, notes: list[dict[str, str]]
) -> Judged:
    told = NoReply(reply.cause, portable(reply.text))
    return Judged(
        verdicts={},
        not_applicable={},
        missing={row.criterion_id: told for row in rows},
        prompt_digest=first.prompt_digest,
        decisions=tuple(notes),
    )


def _by(reply: Reply | None, judged: Judged) -> Judged:
    """Return what was judged with who answered and under what, if only to no use (METHOD 42)."""
    if reply is None:
        return judged
    return replace(
        judged,
        reply_digest=digest(reply.text),
        returned_model=reply.returned_model,
        reviewers=() if reply.made_by is None else (reply.made_by,),
        effective=reply.effective,
    )

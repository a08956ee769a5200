"""The independent verifier: it tries to refute decided verdicts and may only downgrade (46–48).

One batch a trace; what the batch leaves unanswered is asked alone. What is not entailed becomes
uncertain, cause leap. Where the verifier fails technically the verdict stands and is marked; one
that only weak refs carried does not stand then.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from helix.grounding import all_weak, uncertain
from helix.judging.exchange import exchange
from helix.judging.job import Job, Settings, VerifierSettings
from helix.judging.judged import Judged, by_the_pin
from helix.judging.packet import sliced
from helix.judging.review import Claim, Review, read_reviews, render_review
from helix.model.canonical import digest
from helix.model.criterion import Criterion
from helix.model.lines import portable
from helix.model.request import NoReply, Reply, Request, same_name
from helix.model.verdict import JudgeStep, NotApplicable, Ref, Verdict, Verification, Verifying

EXCUSED = "The condition under which this criterion applies is not met in this recording."
NO_PREMISE = "the cited places do not carry it; what would was not named"

Verifies = Generator[Request, "Reply | NoReply", Judged]


def verify(job: Job, judged: Judged, settings: Settings, verifier: VerifierSettings) -> Verifies:
    """Ask the verifier about what is in its scope and return what is left of it."""
    claims = _claims(judged, verifier)
    if not claims:
        return _applied(judged, _Session(), verifier)
    session = _Session()
    yield from _converse(session, job, claims, judged, settings, verifier)
    for claim in claims:
        known = claim.criterion_id in session.reviews or claim.criterion_id in session.failed
        if not known and len(claims) > 1:
            yield from _converse(session, job, [claim], judged, settings, verifier)
    for claim in claims:
        if claim.criterion_id not in session.reviews:
            silent = NoReply("malformed", "the verifier left it unanswered")
            session.failed.setdefault(claim.criterion_id, silent)
    return _applied(judged, session, verifier)


@dataclass(slots=True)
class _Session:
    """What the verifier said so far: reviews and failures by row, and the notes of it."""

    reviews: dict[str, Review] = field(default_factory=dict)
    failed: dict[str, NoReply] = field(default_factory=dict)
    notes: list[dict[str, str]] = field(default_factory=list)
    first: Request | None = None
    answered: Reply | None = None


def _claims(judged: Judged, verifier: VerifierSettings) -> list[Claim]:
    """Return what is to be refuted, by row id; verdicts on weak refs whatever the scope."""
    claims: list[Claim] = []
    for cid, verdict in judged.verdicts.items():
        if verdict.result == "uncertain":
            continue
        if _wanted(cid, verdict.result, verifier) or all_weak(verdict.refs):
            claims.append(Claim(cid, verdict.result, verdict.claim or "", verdict.refs))
    for cid, excused in judged.not_applicable.items():
        if _wanted(cid, "na", verifier):
            claims.append(Claim(cid, "na", EXCUSED, excused.refs))
    return sorted(claims, key=lambda claim: claim.criterion_id)


def _wanted(criterion: str, state: str, verifier: VerifierSettings) -> bool:
    if verifier.scope == "fails":
        return state == "fail"
    return verifier.scope == "all" or criterion in verifier.gating


def _converse(
    session: _Session,
    job: Job,
    claims: Sequence[Claim],
    judged: Judged,
    settings: Settings,
    verifier: VerifierSettings,
) -> Generator[Request, Reply | NoReply, None]:
    """Ask about some claims, again at most twice, and note what came of it.

    A batch that was answered and never usably is as good as unanswered: its claims go out alone.
    """
    request = _request(job, claims, judged, settings, verifier)
    session.first = session.first or request
    ids = [claim.criterion_id for claim in claims]
    notes: list[dict[str, str]] = []

    def accept(given: Reply | NoReply) -> Reply | NoReply:
        reply = _independent(given, judged)
        if isinstance(reply, Reply):
            session.answered = session.answered or reply
        return by_the_pin(reply, verifier.models, "verifier")

    said = yield from exchange(
        request,
        accept,
        lambda asked, reply: read_reviews(reply, asked.nonce, ids),
        lambda found: [],
        notes,
    )
    session.notes += [_note(note["kind"], note["cause"], note["text"]) for note in notes]
    if not isinstance(said, NoReply):
        session.reviews.update(said[0])
        return
    answered = notes[-1]["kind"] == "unusable"
    if answered:
        session.notes.append(_note("no-reply", said.cause, portable(said.text)))
    if not answered or len(ids) == 1:
        session.failed.update(dict.fromkeys(ids, said))


def _request(
    job: Job,
    claims: Sequence[Claim],
    judged: Judged,
    settings: Settings,
    verifier: VerifierSettings,
) -> Request:
    by_id = {row.criterion_id: row for row in job.rows}
    rows = [by_id[claim.criterion_id] for claim in claims]
    cited = frozenset(ref.obs for claim in claims for ref in claim.refs) - {job.trace.id}
    packet = sliced(job.trace, rows, job.findings(rows), verifier.packet, beside=cited)
    plain = tuple(msgspec.structs.replace(row, examples=()) for row in packet.criteria)
    packet = msgspec.structs.replace(packet, criteria=plain)
    unit = msgspec.structs.replace(
        job.unit(rows, "trajectory"), role="verifier", criteria_digest=_asked(rows, claims)
    )
    pin, channels = verifier.packet.pin, settings.channels
    return render_review(packet, claims, unit, pin, channels, judged.reviewers)


def _asked(rows: Sequence[Criterion], claims: Sequence[Claim]) -> str:
    """Digest rows and claims, so that a recorded review meets no claim but its own."""
    return digest(
        [
            [row.digest, claim.state, claim.claim, [_place(ref) for ref in claim.refs]]
            for row, claim in zip(rows, claims, strict=True)
        ]
    )


def _place(ref: Ref) -> list[str | None]:
    """Return what a ref says itself, without what resolving it found."""
    scan = ref.scan
    return [ref.obs, ref.path, ref.value, *((scan.channel, scan.pattern) if scan else ())]


def _independent(reply: Reply | NoReply, judged: Judged) -> Reply | NoReply:
    """Return the reply, or none where the judge itself gave it (METHOD 47, 81)."""
    if isinstance(reply, NoReply) or reply.made_by is None:
        return reply
    if not any(same_name(reply.made_by, judge) for judge in judged.reviewers):
        return reply
    return NoReply(
        "judge-error", f"'{portable(reply.made_by)}' judged this trace and cannot verify it"
    )


def _applied(judged: Judged, session: _Session, verifier: VerifierSettings) -> Judged:
    reviewer = verifier.packet.pin.identity
    if session.answered is not None and session.answered.made_by:
        reviewer = session.answered.made_by
    verdicts: dict[str, Verdict] = {}
    excused: dict[str, NotApplicable] = {}
    notes, walk = list(session.notes), []
    cells: dict[str, Verdict | NotApplicable] = {**judged.verdicts, **judged.not_applicable}
    for cid, cell in cells.items():
        checked = _checked(cell, session, reviewer)
        if isinstance(checked, Verdict):
            verdicts[cid] = checked
        else:
            excused[cid] = checked
        walk += _step(cid, session)
        was = "na" if isinstance(cell, NotApplicable) else cell.result
        if isinstance(checked, Verdict) and checked.result != was:
            note = _note("downgrade", checked.cause or "", "")
            notes.append({**note, "criterion": cid, "from": was})
    return replace(
        judged,
        verdicts=verdicts,
        not_applicable=excused,
        decisions=(*judged.decisions, *notes),
        walk=tuple(walk),
        verifying=_record(session, verifier),
    )


def _checked(
    cell: Verdict | NotApplicable, session: _Session, reviewer: str
) -> Verdict | NotApplicable:
    """Return a cell with what the verifier said of it, uncertain where it was refuted."""
    review = session.reviews.get(cell.criterion_id)
    if review is None:
        status = "failed" if cell.criterion_id in session.failed else "notInScope"
        by = reviewer if status == "failed" else None
        marked = msgspec.structs.replace(
            cell,
            verification=Verification(status=status, reviewer=by),  # type: ignore[arg-type]
        )
        if status == "failed" and isinstance(marked, Verdict) and all_weak(marked.refs):
            text = "its refs are weak and the verifier failed"
            return uncertain(marked, "not-decidable", "factual-intent", text)
        return marked
    if review.entails:
        said = Verification(status="confirmed", reviewer=reviewer, entails=True)
        return msgspec.structs.replace(cell, verification=said)
    return _refuted(cell, review, reviewer)


def _refuted(cell: Verdict | NotApplicable, review: Review, reviewer: str) -> Verdict:
    kind = review.leap_kind or "normative"
    leap = portable(review.leap) if review.leap else NO_PREMISE
    verification = Verification(
        status="downgraded",
        reviewer=reviewer,
        entails=False,
        leap=leap,
        leap_kind=kind,  # type: ignore[arg-type]
        original_result="na" if isinstance(cell, NotApplicable) else cell.result,
    )
    if isinstance(cell, NotApplicable):
        cell = Verdict(
            criterion_id=cell.criterion_id,
            critique=cell.critique,
            result="uncertain",
            refs=cell.refs,
            produced_by=cell.produced_by,
            code=cell.code,
        )
    marked = msgspec.structs.replace(cell, verification=verification)
    return uncertain(marked, "leap", kind, leap)  # type: ignore[arg-type]


def _step(criterion: str, session: _Session) -> list[JudgeStep]:
    review = session.reviews.get(criterion)
    if review is not None:
        found = "it follows" if review.entails else f"it does not follow: {review.leap or ''}"
        tried = f" Tried against it: {review.against}" if review.against else ""
        return [JudgeStep(kind="verify", text=portable(f"{criterion}: {found}.{tried}"))]
    failed = session.failed.get(criterion)
    if failed is not None:
        return [JudgeStep(kind="verify", text=f"{criterion}: not verified, {failed.cause}")]
    return []


def _record(session: _Session, verifier: VerifierSettings) -> Verifying | None:
    if session.first is None:
        return None
    pin, answer = verifier.packet.pin, session.answered
    return Verifying(
        model=pin.model,
        temperature=pin.temperature,
        identity=(answer.made_by if answer else None) or pin.identity,
        returned_model=answer.returned_model if answer else None,
        effective=answer.effective if answer else None,
        prompt=session.first.prompt_digest,
        reply=digest(answer.text) if answer else None,
    )


def _note(kind: str, cause: str, text: str) -> dict[str, str]:
    note = {"kind": kind, "role": "verifier", "cause": cause}
    return {**note, "text": text} if text else note

"""The verdict line of one trace: code's decisions, the judge's verdicts, the dense map (METHOD 34).

Every criterion × trace cell is accounted for: passed, failed, uncertain, na, or uncertain because
nobody adjudicated it, with the cause.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from helix.grounding import Ground, dead, resolve_refs
from helix.judging.packet import PacketSettings, agent_steps, build
from helix.judging.trajectory import Judged, judge_trajectory
from helix.model.canonical import digest
from helix.model.criterion import Criterion
from helix.model.request import NoReply, Reply, Request, Unit
from helix.model.trace import Trace
from helix.model.verdict import (
    MACHINERY_CAUSES,
    BlockedBy,
    BlockKind,
    Cause,
    CellState,
    CodePart,
    Fidelity,
    Localize,
    MatrixVerdictFile,
    NotApplicable,
    ProducedBy,
    Provenance,
    Verdict,
)
from helix.registry import Decision

Line = Generator[Request, "Reply | NoReply", "Adjudicated"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What the lines of one run share; `asks` is False where no judge is asked.

    `models` are the names that a returned model may have: the pin and its aliases (METHOD 42).
    """

    packet: PacketSettings
    criteria_digest: str
    asks: bool
    routes: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    models: tuple[str, ...] = ()


@dataclass(slots=True)
class Adjudicated:
    """The finished line, and every skip, re-prompt and downgrade that shaped it."""

    line: MatrixVerdictFile
    decisions: list[dict[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Job:
    """One trace to adjudicate: rows in suite order, what code decided, what fidelity says."""

    trace: Trace
    replicate: int
    rows: tuple[Criterion, ...]
    decisions: Mapping[str, Decision]
    fidelity: Fidelity


def adjudicate(job: Job, settings: Settings) -> Line:
    """Yield the requests that the residual rows need, and return the line."""
    if not job.fidelity.complete:
        return incomplete(job, settings, job.fidelity.reason or "not recorded")
    code = {cid: _code_cell(job.trace, cid, d) for cid, d in job.decisions.items()}
    residual = [row for row in job.rows if _needs_judge(row, job.decisions)]
    blocked = _route_block(job.trace, settings)
    judged: Judged | None = None
    if residual and settings.asks and blocked is None:
        judged = yield from _ask(job, residual, settings)
        if judged.answer is not None and not judged.answer.fidelity.complete:
            reason = judged.answer.fidelity.reason or "the judge found the trace cut off"
            return incomplete(job, settings, reason, judged)
    cells = _cells(job, code, residual, judged, blocked)
    return _line(job, settings, cells, judged)


def incomplete(
    job: Job, settings: Settings, reason: str, judged: Judged | None = None
) -> Adjudicated:
    """Return the line of a trace that cannot be judged: no verdicts, a capture fault (35)."""
    line = MatrixVerdictFile(
        trajectory_id=job.trace.id,
        replicate=job.replicate,
        route=job.trace.route,
        task=job.trace.task,
        fidelity=Fidelity(complete=False, reason=reason),
        agent_steps=agent_steps(job.trace),
        dense_map={row.criterion_id: "uncertain" for row in job.rows},
        not_adjudicated={row.criterion_id: "truncated" for row in job.rows},
        localize=Localize(root=f"the recording is incomplete: {reason}", locus="capture"),
        provenance=_provenance(job, settings, judged),
    )
    note = {"kind": "skip", "trace": job.trace.id, "cause": "truncated", "text": reason}
    return Adjudicated(_pinned(line, settings, judged), [note, *_noted(job, judged)])


def _needs_judge(row: Criterion, decisions: Mapping[str, Decision]) -> bool:
    """Whether code leaves the row to the judge: no check, or a hybrid whose check passed."""
    decision = decisions.get(row.criterion_id)
    if decision is None:
        return True
    return row.klass == "hybrid" and decision.state == "pass"


def _ask(
    job: Job, residual: Sequence[Criterion], settings: Settings
) -> Generator[Request, Reply | NoReply, Judged]:
    findings = {
        row.criterion_id: job.decisions[row.criterion_id].detail
        for row in residual
        if row.criterion_id in job.decisions
    }
    packet = build(job.trace, residual, findings, settings.packet)
    pin = settings.packet.pin
    unit = Unit(
        role="judge",
        axis="trajectory",
        trace_id=job.trace.id,
        trace_digest=job.trace.source.digest,
        criteria=tuple(row.criterion_id for row in residual),
        criteria_digest=digest([row.digest for row in residual]),
        replicate=job.replicate,
    )
    ground = Ground(
        trace=job.trace,
        complete_channels=settings.channels,
        unread=frozenset(packet.coverage.unread),
        premises=packet.premises,
    )
    judged = yield from judge_trajectory(packet, unit, pin, ground, settings.models)
    return judged


def _route_block(trace: Trace, settings: Settings) -> str | None:
    """Return why the route is unresolved, None where it is; no declared routes means one."""
    if not settings.routes or trace.route in settings.routes:
        return None
    named = "no route" if trace.route is None else f"the route '{trace.route}'"
    return f"the trace has {named}; the subject declares: {', '.join(settings.routes)}"


def _code_cell(trace: Trace, criterion: str, decision: Decision) -> Verdict | NotApplicable:
    """Turn a check's decision into a cell; a check whose own evidence is dead is a check error."""
    refs = resolve_refs(trace, decision.refs)
    gone = dead(refs)
    if gone and decision.state != "uncertain":
        place = f"{gone[0].obs} {gone[0].path}: {gone[0].note}"
        text = f"{decision.detail} (the check cites a place that does not resolve: {place})"
        return Verdict(
            criterion_id=criterion,
            critique=text,
            result="uncertain",
            refs=refs,
            produced_by="code",
            cause="check-error",
        )
    if decision.state == "na":
        return NotApplicable(
            criterion_id=criterion, critique=decision.detail, refs=refs, produced_by="code"
        )
    return Verdict(
        criterion_id=criterion,
        critique=decision.detail,
        result=decision.state,
        confidence=None if decision.state == "uncertain" else 1.0,
        claim=decision.detail if decision.state != "uncertain" else None,
        refs=refs,
        produced_by="code",
        cause=decision.cause,
        blocked_by=_block(decision.cause, decision.detail),
    )


def _block(cause: Cause | None, text: str) -> BlockedBy | None:
    if cause is None or cause in MACHINERY_CAUSES:
        return None
    kind: BlockKind = "scope" if cause == "unresolved-route" else "factual-intent"
    return BlockedBy(kind=kind, text=text)


@dataclass(slots=True)
class _Cells:
    verdicts: list[Verdict] = field(default_factory=list)
    excused: list[NotApplicable] = field(default_factory=list)
    dense: dict[str, CellState] = field(default_factory=dict)
    nobody: dict[str, Cause] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)


def _cells(
    job: Job,
    code: Mapping[str, Verdict | NotApplicable],
    residual: Sequence[Criterion],
    judged: Judged | None,
    blocked: str | None,
) -> _Cells:
    cells = _Cells()
    left = {row.criterion_id for row in residual}
    for row in job.rows:
        cid = row.criterion_id
        found = code.get(cid)
        made: ProducedBy = "hybrid" if row.klass == "hybrid" else "judge"
        part = _part(found) if row.klass == "hybrid" else None
        cell: Verdict | NotApplicable | None
        if cid not in left:
            cell = found
            if cell is not None and row.klass == "hybrid":
                cell = msgspec.structs.replace(cell, produced_by="hybrid", code=part)
        elif blocked is not None:
            cell = Verdict(
                criterion_id=cid,
                critique=blocked,
                result="uncertain",
                produced_by=made,
                code=part,
                cause="unresolved-route",
                blocked_by=BlockedBy(kind="scope", text=blocked),
            )
        else:
            cell = _judged_cell(cid, judged, made, part)
        _place(cells, cid, cell, judged)
    return cells


def _judged_cell(
    criterion: str, judged: Judged | None, made: ProducedBy, part: CodePart | None
) -> Verdict | NotApplicable | None:
    if judged is None:
        return None
    found = judged.verdicts.get(criterion) or judged.not_applicable.get(criterion)
    if found is None:
        return None
    return msgspec.structs.replace(found, produced_by=made, code=part)


def _place(
    cells: _Cells, criterion: str, cell: Verdict | NotApplicable | None, judged: Judged | None
) -> None:
    if cell is None:
        cells.dense[criterion] = "uncertain"
        cause = judged.cause if judged is not None and judged.cause else "unavailable"
        cells.nobody[criterion] = cause
        if judged is not None and judged.reason:
            cells.reasons[criterion] = judged.reason
    elif isinstance(cell, NotApplicable):
        cells.excused.append(cell)
        cells.dense[criterion] = "na"
    else:
        cells.verdicts.append(cell)
        cells.dense[criterion] = cell.result


def _part(found: Verdict | NotApplicable | None) -> CodePart | None:
    if found is None:
        return None
    state: CellState = "na" if isinstance(found, NotApplicable) else found.result
    return CodePart(result=state, critique=found.critique, refs=found.refs)


def _line(job: Job, settings: Settings, cells: _Cells, judged: Judged | None) -> Adjudicated:
    answer = judged.answer if judged is not None else None
    line = MatrixVerdictFile(
        trajectory_id=job.trace.id,
        replicate=job.replicate,
        route=job.trace.route,
        task=job.trace.task,
        fidelity=job.fidelity,
        agent_steps=agent_steps(job.trace),
        verdicts=tuple(cells.verdicts),
        not_applicable=tuple(cells.excused),
        dense_map=cells.dense,
        not_adjudicated=cells.nobody,
        not_adjudicated_reasons=cells.reasons,
        understanding=answer.understanding if answer else None,
        expected_trajectory=answer.expected_trajectory if answer else (),
        context=answer.context if answer else None,
        judge_steps=answer.judge_steps if answer else (),
        candidates=answer.candidates if answer else (),
        localize=answer.localize if answer else None,
        health=answer.health if answer else None,
        warnings=_emit_gaps(judged),
        provenance=_provenance(job, settings, judged),
    )
    return Adjudicated(_pinned(line, settings, judged), _noted(job, judged))


def _emit_gaps(judged: Judged | None) -> tuple[str, ...]:
    """Name the parts of the walk that a complete answer left out (METHOD 36)."""
    if judged is None or judged.answer is None:
        return ()
    parts = {
        "understanding": judged.answer.understanding,
        "expectedTrajectory": judged.answer.expected_trajectory,
        "judgeSteps": judged.answer.judge_steps,
    }
    gaps = [f"the judge left out {name}" for name, value in parts.items() if not value]
    terse = [s.kind for s in judged.answer.judge_steps if len((s.text or "").split()) < 2]
    if terse:
        gaps.append(f"{len(terse)} steps of the judge's walk have no reasoning")
    return tuple(gaps)


def _provenance(job: Job, settings: Settings, judged: Judged | None) -> Provenance:
    return Provenance(
        trace=job.trace.source.digest,
        criteria=settings.criteria_digest,
        prompt=judged.prompt_digest if judged else None,
        reply=judged.reply_digest if judged else None,
    )


def _pinned(
    line: MatrixVerdictFile, settings: Settings, judged: Judged | None
) -> MatrixVerdictFile:
    """Stamp the pin that was asked, and who answered, on a line that a judge had a part in."""
    if judged is None:
        return line
    pin = settings.packet.pin
    return msgspec.structs.replace(
        line,
        judge_model=pin.model,
        temperature=pin.temperature,
        judge_identity=judged.reviewer or pin.identity,
        returned_model=judged.returned_model,
        effective=judged.effective,
    )


def _noted(job: Job, judged: Judged | None) -> list[dict[str, str]]:
    if judged is None:
        return []
    return [{"trace": job.trace.id, **note} for note in judged.decisions]

"""The verdict line of one trace: code's decisions, the judge's verdicts, the dense map (METHOD 34).

Every criterion × trace cell is accounted for: passed, failed, uncertain, na, or uncertain because
nobody adjudicated it, with the cause.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from helix.judging.cells import Cells, cells_of, code_cell
from helix.judging.criterion import judge_rows
from helix.judging.job import Job, Settings
from helix.judging.judged import Judged
from helix.judging.packet import agent_steps
from helix.judging.trajectory import judge_trajectory
from helix.judging.verifier import verify
from helix.model.criterion import Criterion
from helix.model.request import NoReply, Reply, Request
from helix.model.trace import Trace
from helix.model.verdict import Fidelity, Localize, MatrixVerdictFile, Provenance
from helix.registry import Decision

Line = Generator[Request, "Reply | NoReply", "Adjudicated"]


@dataclass(slots=True)
class Adjudicated:
    """The finished line, and every skip, re-prompt and downgrade that shaped it."""

    line: MatrixVerdictFile
    decisions: list[dict[str, str]] = field(default_factory=list)


def adjudicate(job: Job, settings: Settings) -> Line:
    """Yield the requests that the residual rows need, and return the line."""
    if not job.fidelity.complete:
        return incomplete(job, settings, job.fidelity.reason or "not recorded")
    code = {cid: code_cell(job.trace, cid, d) for cid, d in job.decisions.items()}
    residual = [row for row in job.rows if _needs_judge(row, job.decisions)]
    blocked = _route_block(job.trace, settings)
    judged: Judged | None = None
    fidelity = job.fidelity
    if residual and settings.asks and blocked is None:
        by_axis = judge_rows if settings.axis == "criterion" else judge_trajectory
        judged = yield from by_axis(job, residual, settings)
        if judged.answer is not None and not judged.answer.fidelity.complete:
            reason = judged.answer.fidelity.reason or "the judge found the trace cut off"
            fidelity = Fidelity(complete=False, reason=reason)
            judged = _cut_off(judged, residual, reason)
        elif settings.verifier is not None:
            judged = yield from verify(job, judged, settings, settings.verifier)
    cells = cells_of(job.rows, code, residual, judged, blocked)
    return _line(job, settings, cells, judged, fidelity)


def incomplete(job: Job, settings: Settings, reason: str) -> Adjudicated:
    """Return the line of a trace that code finds cut off: no verdicts (METHOD 35)."""
    line = MatrixVerdictFile(
        trajectory_id=job.trace.id,
        replicate=job.replicate,
        route=job.trace.route,
        task=job.trace.task,
        fidelity=Fidelity(complete=False, reason=reason),
        agent_steps=agent_steps(job.trace),
        dense_map={row.criterion_id: "uncertain" for row in job.rows},
        not_adjudicated={row.criterion_id: "truncated" for row in job.rows},
        localize=_capture_fault(reason),
        provenance=_provenance(job, settings, None),
    )
    return Adjudicated(line, [{"trace": job.trace.id, **_skip(reason)}])


def _cut_off(judged: Judged, residual: Sequence[Criterion], reason: str) -> Judged:
    """Return a judge's word that the trace is cut off: it decides no judged row (METHOD 35).

    What code decided stands: no reply may change it, and the gate is incomplete all the same.
    """
    told = NoReply("truncated", reason)
    return replace(
        judged,
        verdicts={},
        not_applicable={},
        missing={row.criterion_id: told for row in residual},
        decisions=(_skip(reason), *judged.decisions),
    )


def _capture_fault(reason: str) -> Localize:
    return Localize(root=f"the recording is incomplete: {reason}", locus="capture")


def _fault_of(fidelity: Fidelity) -> Localize | None:
    return None if fidelity.complete else _capture_fault(fidelity.reason or "")


def _skip(reason: str) -> dict[str, str]:
    return {"kind": "skip", "cause": "truncated", "text": reason}


def _needs_judge(row: Criterion, decisions: Mapping[str, Decision]) -> bool:
    """Whether code leaves the row to the judge: no check, or a hybrid whose check passed."""
    decision = decisions.get(row.criterion_id)
    if decision is None:
        return True
    return row.klass == "hybrid" and decision.state == "pass"


def _route_block(trace: Trace, settings: Settings) -> str | None:
    """Return why the route is unresolved, None where it is; no declared routes means one."""
    if not settings.routes or trace.route in settings.routes:
        return None
    named = "no route" if trace.route is None else f"the route '{trace.route}'"
    return f"the trace has {named}; the subject declares: {', '.join(settings.routes)}"


def _line(
    job: Job, settings: Settings, cells: Cells, judged: Judged | None, fidelity: Fidelity
) -> Adjudicated:
    answer = judged.answer if judged is not None and fidelity.complete else None
    line = MatrixVerdictFile(
        trajectory_id=job.trace.id,
        replicate=job.replicate,
        route=job.trace.route,
        task=job.trace.task,
        fidelity=fidelity,
        agent_steps=agent_steps(job.trace),
        verdicts=tuple(cells.verdicts),
        not_applicable=tuple(cells.excused),
        dense_map=cells.dense,
        not_adjudicated=cells.nobody,
        not_adjudicated_reasons=cells.reasons,
        understanding=answer.understanding if answer else None,
        expected_trajectory=answer.expected_trajectory if answer else (),
        context=answer.context if answer else None,
        judge_steps=(*(answer.judge_steps if answer else ()), *(judged.walk if judged else ())),
        candidates=answer.candidates if answer else (),
        localize=answer.localize if answer else _fault_of(fidelity),
        health=answer.health if answer else None,
        warnings=(*(judged.warnings if judged else ()), *(_emit_gaps(judged) if answer else ())),
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
        gaps.append(f"steps of the judge's walk without a sentence of reasoning: {len(terse)}")
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
        judge_identity=", ".join(judged.reviewers) or pin.identity,
        returned_model=judged.returned_model,
        effective=judged.effective,
        verifying=judged.verifying,
    )


def _noted(job: Job, judged: Judged | None) -> list[dict[str, str]]:
    if judged is None:
        return []
    return [{"trace": job.trace.id, **note} for note in judged.decisions]

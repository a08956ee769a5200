"""fold(plan, survey, verdict lines) → scorecard: the one way a run's result comes about.

Shared by evaluate, resume, merge and report. Lines stream in plan order (trace by trace, replicate
by replicate) and are counted as they pass; memory follows the criteria, the ids that are
named and what several answers differ in; of any other cell five bytes stay.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import msgspec

from helix.gate.groups import TaskNumbers
from helix.gate.spread import Spread, hear, said_in
from helix.gate.states import GateRow, Known, Policy, fold_repeats, worst_state
from helix.gate.tally import (
    Answers,
    RowTally,
    RunTally,
    code_fails,
    flaps,
    repeat_states,
    unsteady,
)
from helix.model.lines import portable
from helix.model.manifest import ManifestEntry, Survey, located
from helix.model.scorecard import (
    SCORECARD_SCHEMA_VERSION,
    Cells,
    ChangeTests,
    ComponentResult,
    CriterionRow,
    Gate,
    GateState,
    JudgeRecord,
    Quality,
    Ratio,
    Scorecard,
    Status,
    TestState,
    TraceCounts,
    UsageTotals,
)
from helix.model.verdict import MatrixVerdictFile

ITSELF = "helix"
TESTED: dict[TestState, GateState | None] = {
    "pass": "pass", "fail": "fail", "could not run": "incomplete", "not run": None,
}  # fmt: skip
_WORST_STANDING: tuple[Status, ...] = (
    "rejected", "stale", "unvalidated", "provisional", "validated",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FoldPlan:
    """What the fold needs to know of the plan."""

    subject: str
    suite: str
    rows: tuple[GateRow, ...]
    policy: Policy
    judge: JudgeRecord
    verifier: JudgeRecord
    digests: dict[str, str]
    replicates: int = 1
    known: Known = field(default_factory=Known)
    policy_name: str = "strict"
    eligibility: str = "default"
    skipped_criteria: tuple[str, ...] = ()
    waivers: tuple[dict[str, Any], ...] = ()
    baseline: str | None = None


def fold(
    plan: FoldPlan, survey: Survey, lines: Iterable[MatrixVerdictFile], usage: UsageTotals
) -> Scorecard:
    """Return the scorecard of a run; `usage` is the only part that depends on its execution."""
    selected = survey.entries.chosen()
    rows = {row.criterion_id: RowTally(row) for row in plan.rows}
    run = RunTally()
    tasks = TaskNumbers({entry.id: entry.task for entry in _chosen(survey) if entry.task})
    seen = bytearray(len(survey.entries))
    for trace in _count(plan, rows, run, tasks, lines):
        if (at := survey.entries.position(trace)) is not None:
            seen[at] = True
    evaluated = _rest(plan, rows, run, tasks, survey, seen)
    criteria = tuple(tally.finish(plan.policy) for tally in rows.values())
    cells = run.cells(len(plan.rows) * selected * plan.replicates)
    gaps = _gaps(plan, survey, selected, criteria, run, cells)
    components = _components(criteria)
    states: list[GateState] = [component.verdict for component in components]
    if gaps:
        states.append("incomplete")
    return Scorecard(
        schema_version=SCORECARD_SCHEMA_VERSION,
        run_verdict=worst_state(states),
        subject=plan.subject,
        suite=plan.suite,
        components=components,
        criteria=criteria,
        cells=cells,
        traces=_traces(survey, selected, evaluated, len(run.cut)),
        grounded=Ratio(k=run.grounded, n=run.decided),
        blocked=run.blocked(),
        verification=run.verified(),
        judge=_answered(plan.judge, run.judge),
        verifier=_answered(plan.verifier, run.verifier),
        load=survey.load,
        gate=_gate(plan, criteria, gaps),
        validation=_validation(criteria),
        digests=plan.digests,
        usage=usage,
        skipped_criteria=plan.skipped_criteria,
        self_evaluation=plan.subject.strip().casefold() == ITSELF,
        variance=_whole_spread(rows.values()).variance(),
    )


def with_tests(card: Scorecard, tests: ChangeTests | None) -> Scorecard:
    """Return the scorecard of a code change with its tests beside its rows (METHOD 38).

    The run takes the worse of both, and has converged where both are green. Nothing else moves.
    """
    if tests is None:
        return card
    effect, rows = TESTED[tests.state], card.run_verdict
    states = {effect, rows}
    gaps = (f"the tests could not be run: {tests.reason}",) if effect == "incomplete" else ()
    return msgspec.structs.replace(
        card,
        run_verdict=worst_state([rows, effect] if effect else [rows]),
        gate=msgspec.structs.replace(card.gate, gaps=(*card.gate.gaps, *gaps)),
        quality=Quality(
            tests=tests,
            verdict=rows,
            converged=False if "fail" in states else True if states == {"pass"} else None,
        ),
    )


def _validation(criteria: tuple[CriterionRow, ...]) -> dict[str, Any]:
    """Return the worst standing of all judged rows, and how many stand how; na without one."""
    found = [row.standing.status for row in criteria if row.standing is not None]
    counts = {status: found.count(status) for status in _WORST_STANDING if status in found}
    return {"status": next(iter(counts), "na"), "criteria": counts}


def _traces(survey: Survey, selected: int, evaluated: int, cut: int) -> TraceCounts:
    return TraceCounts(
        found=len(survey.entries),
        sampled=selected,
        evaluated=evaluated,
        incomplete=cut,
        unreadable=len(survey.load.failures),
    )


def _gate(plan: FoldPlan, criteria: tuple[CriterionRow, ...], gaps: tuple[str, ...]) -> Gate:
    return Gate(
        policy=plan.policy_name,
        eligibility=plan.eligibility,
        gaps=gaps,
        failing=tuple(row.criterion_id for row in criteria if row.gate == "fail"),
        waivers=plan.waivers,
        baseline=plan.baseline,
    )


def _count(
    plan: FoldPlan,
    rows: dict[str, RowTally],
    run: RunTally,
    tasks: TaskNumbers,
    lines: Iterable[MatrixVerdictFile],
) -> Iterator[str]:
    for trace, group in groupby(lines, key=lambda line: line.trajectory_id):
        repeats = list(group)
        for line in repeats:
            run.add_line(line, rows, plan.policy)
        by_code, number = code_fails(repeats), tasks.of(trace)
        if plan.replicates > 1 or tasks.shared(trace):
            _spread(plan, rows, _group(trace, tasks.named(trace)), repeats)
        for criterion, tally in rows.items():
            run.causes["flapping"] += flaps(repeats, criterion)
            states = repeat_states(repeats, criterion, plan.replicates)
            tally.add(
                trace,
                number,
                fold_repeats(states)[0],
                plan.known,
                code_fail=criterion in by_code,
                unsteady=not tally.row.steady and unsteady(repeats, criterion),
            )
            tally.not_adjudicated += max(0, plan.replicates - len(repeats))
            tally.unseen += all(criterion in line.not_adjudicated for line in repeats)
        yield trace
    run.causes = +run.causes


def task_of(entry: ManifestEntry) -> str:
    """Return what a trace is grouped by: its task, else itself; no id is the name of a task."""
    return _group(entry.id, entry.task)


def _group(trace: str, task: str | None) -> str:
    return f"task {task}" if task else f"trace {trace}"


def _chosen(survey: Survey) -> Iterator[ManifestEntry]:
    return (entry for entry in survey.entries if entry.selected)


def _spread(
    plan: FoldPlan, rows: dict[str, RowTally], task: str, repeats: Sequence[MatrixVerdictFile]
) -> None:
    """Take in how the repeats of one trace spread, row by row."""
    said = [said_in(line) for line in repeats]
    for criterion, tally in rows.items():
        code = tally.row.klass == "code"
        tally.spread.add(task, hear(said, criterion, plan.replicates, code))


def _whole_spread(rows: Iterable[RowTally]) -> Spread:
    """Return the answers of all rows, a task's together."""
    whole = Spread()
    for tally in rows:
        whole.take(tally.spread)
    return whole


def _rest(
    plan: FoldPlan,
    rows: dict[str, RowTally],
    run: RunTally,
    tasks: TaskNumbers,
    survey: Survey,
    seen: bytearray,
) -> int:
    """Count the chosen traces without a line, and return how many others are whole."""
    evaluated = 0
    for at, entry in enumerate(survey.entries):
        if not entry.selected:
            continue
        if not entry.fidelity.complete:
            run.cut.add(entry.id)
        if seen[at]:
            evaluated += entry.id not in run.cut
        else:
            _absent(plan, rows, entry, tasks)
    return evaluated


def _absent(
    plan: FoldPlan, rows: dict[str, RowTally], entry: ManifestEntry, tasks: TaskNumbers
) -> None:
    """Count a chosen trace that has no line: nobody adjudicated it."""
    number = tasks.of(entry.id)
    for tally in rows.values():
        tally.add(entry.id, number, "uncertain", plan.known)
        tally.not_adjudicated += plan.replicates
        tally.unseen += 1
    _spread(plan, rows, task_of(entry), ())


def _components(criteria: tuple[CriterionRow, ...]) -> tuple[ComponentResult, ...]:
    names = sorted({row.component for row in criteria})
    return tuple(_component(name, [r for r in criteria if r.component == name]) for name in names)


def _component(name: str, rows: list[CriterionRow]) -> ComponentResult:
    effects = [row.gate for row in rows if row.gate is not None]
    reasons = [f"{row.criterion_id}: {row.reason}" for row in rows if row.gate and row.reason]
    if not effects:
        return ComponentResult(component=name, verdict="pass", reasons=("no gating criterion",))
    return ComponentResult(component=name, verdict=worst_state(effects), reasons=tuple(reasons))


def _gaps(
    plan: FoldPlan,
    survey: Survey,
    selected: int,
    criteria: tuple[CriterionRow, ...],
    run: RunTally,
    cells: Cells,
) -> tuple[str, ...]:
    """Name everything that keeps the run from passing besides a failure, in one pass."""
    gaps: list[str] = []
    if not plan.rows:
        gaps.append("the suite has no active criterion")
    if not selected:
        gaps.append("no trace was evaluated")
    if plan.rows and not any(row.gating for row in plan.rows):
        gaps.append(
            "no criterion is eligible to gate (CRIT or HIGH; operator, observed, ratified): "
            "helix criteria list SUITE says why"
        )
    gating = [row for row in criteria if row.gating]
    if gating and selected and all(row.result == "na" for row in gating):
        gaps.append("no gating criterion applied to any trace")
    if plan.rows and selected and cells.total == cells.not_adjudicated:
        gaps.append("no cell was adjudicated")
    if run.cut:
        gaps.append(f"{_many(len(run.cut), 'trace')} could not be judged, being cut off or empty")
    if survey.load.failures:
        first = survey.load.failures[0]
        # Without the folders of this machine, which are no part of what was decided.
        at = located(portable(first.file), first.line)
        unread = _many(len(survey.load.failures), "record")
        gaps.append(f"{unread} could not be read (first: {at})")
    passed = {row.criterion_id for row in criteria if row.gate in ("pass", None)}
    expired = [w["criterion"] for w in plan.waivers if w.get("expired")]
    expired = [criterion for criterion in expired if criterion not in passed]
    if expired:
        gaps.append(f"expired waivers: {', '.join(expired)}")
    gaps += [f"{r.criterion_id}: {r.reason}" for r in criteria if r.gate == "incomplete"]
    return tuple(gaps)


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _answered(asked: JudgeRecord, answers: Answers) -> JudgeRecord:
    found = tuple(json.loads(text) for text in sorted(answers.effective))
    return msgspec.structs.replace(
        asked,
        effective=found[0] if len(found) == 1 else found or None,
        returned_model=", ".join(sorted(answers.models)) or None,
    )

"""The composer of the run report: one frozen value that every renderer projects (METHOD 85).

`helix.reports.stream` gives the same views one at a time.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from helix.model.config import Verbosity
from helix.model.criterion import Criterion
from helix.model.manifest import Manifest, ManifestEntry
from helix.model.scorecard import CriterionRow, Scorecard
from helix.model.subject import SubjectRecord
from helix.model.trace import Trace
from helix.model.verdict import (
    Cause,
    CellState,
    MatrixVerdictFile,
    NotApplicable,
    Ref,
    Verdict,
    by_code_alone,
)
from helix.reports.placed import placed
from helix.reports.summary import warned
from helix.reports.trajectory import StepView, Target, lay_out
from helix.reports.words import WORST_FIRST, Standing, next_action

MAX_STEPS = 2000
"""How many steps stand in a page as they are."""

UNREAD = "its steps were not read"


@dataclass(frozen=True, slots=True)
class RunMeta:
    """How this execution went; None is not recorded (METHOD 86).

    `rerun` is the command that runs just the failures again, `waiting` what is told of dispatched
    questions, `written` the files of the reports, `baseline` the run that the gate compares with,
    `determinism` the trend in sentences, which stands beside the gate.
    """

    run_dir: str | None = None
    written: tuple[str, ...] = ()
    baseline: str | None = None
    rerun: str | None = None
    waiting: tuple[str, ...] = ()
    duration_s: float | None = None
    started_at: str | None = None
    helix_version: str | None = None
    verbosity: Verbosity = "normal"
    determinism: tuple[str, ...] = ()


def rerun_line(command: str, folder: str, *, again: bool) -> str:
    """Return the command that does the undone cells of a run again.

    `again` says that the input came by standard input, so it must be given again.
    """
    line = f"{command} {shlex.quote(f'select.failed_from={folder}')}"
    return f"{line}  # with the same input on standard input" if again else line


@dataclass(frozen=True, slots=True)
class RowView:
    """A criterion: what it says (None where the suite was not at hand) and how it folded."""

    index: int
    row: CriterionRow
    criterion: Criterion | None

    @property
    def id(self) -> str:
        """The criterion's id."""
        return self.row.criterion_id


@dataclass(frozen=True, slots=True)
class CellView:
    """One criterion on one trace: how it stands, in whose words, on what evidence.

    `reason` is what went wrong where nobody adjudicated it.
    """

    row: RowView
    state: CellState
    standing: Standing
    cause: Cause | None
    entry: Verdict | NotApplicable | None
    refs: tuple[Ref, ...]
    reason: str = ""

    @property
    def critique(self) -> str:
        """What was said of the cell; empty when nothing was."""
        return self.entry.critique if self.entry is not None else ""

    @property
    def verdict(self) -> Verdict | None:
        """The cell's verdict, if one was given."""
        return self.entry if isinstance(self.entry, Verdict) else None

    @property
    def action(self) -> str | None:
        """What would decide the cell, where it is undecided."""
        if self.standing not in ("uncertain", "incomplete"):
            return None
        blocked = self.verdict.blocked_by if self.verdict else None
        return next_action(self.cause, blocked.kind if blocked else None)

    @property
    def detail(self) -> str:
        """Why the cell is undecided, in particular; empty where nobody said."""
        if self.action is None:
            return ""
        if self.verdict is None:
            return self.reason
        if self.verdict.cause == "malformed":
            return _lacks(self.verdict, self.row.criterion)
        blocked = self.verdict.blocked_by
        return blocked.text if blocked else self.critique

    @property
    def judged(self) -> bool:
        """Whether a judge had a part in it, so that a verifier may."""
        return self.entry is not None and not by_code_alone(self.entry)


@dataclass(frozen=True, slots=True)
class TraceView:
    """One trace (one replicate of it): its cells in suite order; its steps, or why there are none.

    `file` is where the trace was read, below the folder of all, with its line; `targets` says where
    in the steps each ref stands, `anchors` where each agent step does.
    """

    index: int
    line: MatrixVerdictFile
    standing: Standing
    cells: tuple[CellView, ...]
    steps: tuple[StepView, ...] = ()
    targets: Mapping[Ref, Target] = field(default_factory=dict)
    anchors: Mapping[int, Target] = field(default_factory=dict)
    hidden: str | None = None
    file: str | None = None

    @property
    def id(self) -> str:
        """The trace's own id."""
        return self.line.trajectory_id

    @property
    def name(self) -> str:
        """The trace's id, with the replicate where it is not the first."""
        replicate = self.line.replicate
        return f"{self.id} · repeat {replicate}" if replicate else self.id

    @property
    def tally(self) -> list[tuple[Standing, int]]:
        """How many cells stand how, the worst first."""
        standings = [cell.standing for cell in self.cells]
        return [(s, standings.count(s)) for s in WORST_FIRST if s in standings]

    @property
    def worst_first(self) -> list[CellView]:
        """The cells, the worst first."""
        return sorted(self.cells, key=lambda c: (WORST_FIRST.index(c.standing), weight(c.row)))

    def cell(self, row: int) -> CellView | None:
        """Return the cell of a row, or None where none was recorded."""
        return next((cell for cell in self.cells if cell.row.index == row), None)


@dataclass(frozen=True, slots=True)
class RunReport:
    """Everything that is known of a run; renderers project it and add nothing.

    `folder` is where all the traces' files stand; `subject` is None where it was not recorded.
    """

    scorecard: Scorecard
    lines: tuple[MatrixVerdictFile, ...]
    rows: tuple[RowView, ...]
    traces: tuple[TraceView, ...]
    meta: RunMeta
    folder: str = ""
    subject: SubjectRecord | None = None

    @property
    def worst_first(self) -> list[TraceView]:
        """The trajectories, the worst first."""
        return sorted(self.traces, key=by_standing)

    @property
    def warned(self) -> list[tuple[str, list[str]]]:
        """Each kind of warning and the traces that it was given of."""
        return warned((line.trajectory_id, line.warnings) for line in self.lines)


def compose(
    scorecard: Scorecard,
    lines: Iterable[MatrixVerdictFile],
    traces: Iterable[Trace] = (),
    *,
    suite: Sequence[Criterion] = (),
    manifest: Iterable[ManifestEntry] = (),
    meta: RunMeta = RunMeta(),
    subject: SubjectRecord | None = None,
) -> RunReport:
    """Return the report of a run.

    `traces` are those whose steps are shown, in any order; those that are not among the lines are
    passed over. The manifest says in which file each trace stands.
    """
    lines = tuple(lines)
    rows = row_views(scorecard, suite)
    folder, below = placed(Manifest.of(manifest))
    views = [trace_view(at, line, rows, below) for at, line in enumerate(lines)]
    return RunReport(scorecard, lines, rows, _with_steps(views, traces), meta, folder, subject)


def row_views(scorecard: Scorecard, suite: Sequence[Criterion]) -> tuple[RowView, ...]:
    """Return the criteria in suite order, each with what it says where the suite is at hand."""
    stated = {criterion.criterion_id: criterion for criterion in suite}
    return tuple(
        RowView(at, row, stated.get(row.criterion_id)) for at, row in enumerate(scorecard.criteria)
    )


def by_standing(view: TraceView) -> tuple[int, tuple[bool, int], int, int]:
    """Order by how a trace stands, by the gravest row that stands so, by how many rows do."""
    place = WORST_FIRST.index(view.standing)
    if view.standing in ("pass", "na"):
        return place, (True, 0), 0, view.index
    rows = [weight(cell.row) for cell in view.cells if cell.standing == view.standing]
    gravest = min(((not_gating, severity) for severity, not_gating, _ in rows), default=(True, 4))
    return place, gravest, -len(rows), view.index


def weight(row: RowView) -> tuple[int, bool, int]:
    """Order criteria by severity, those that gate first, then as the suite does."""
    order = ("CRIT", "HIGH", "MED", "LOW")
    severity = row.row.severity
    return (order.index(severity) if severity in order else 4, not row.row.gating, row.index)


def trace_view(
    index: int, line: MatrixVerdictFile, rows: Sequence[RowView], files: Mapping[str, str]
) -> TraceView:
    """Return how one line's cells stand, without steps; `files` says where traces were read."""
    entries: dict[str, Verdict | NotApplicable] = {v.criterion_id: v for v in line.verdicts}
    entries |= {n.criterion_id: n for n in line.not_applicable}
    cells = tuple(_cell(row, line, entries.get(row.id)) for row in rows if row.id in line.dense_map)
    found = {cell.standing for cell in cells}
    standing: Standing = next((s for s in WORST_FIRST if s in found), "incomplete")
    return TraceView(index, line, standing, cells, file=files.get(line.trajectory_id))


def _cell(row: RowView, line: MatrixVerdictFile, entry: Verdict | NotApplicable | None) -> CellView:
    state = line.dense_map[row.id]
    cause = line.not_adjudicated.get(row.id)
    unjudged = state == "uncertain" and (cause is not None or entry is None)
    if isinstance(entry, Verdict):
        cause = cause or entry.cause
    standing: Standing = "incomplete" if unjudged else state
    reason = line.not_adjudicated_reasons.get(row.id) or ""
    if cause == "truncated":
        reason = reason or line.fidelity.reason or ""
    return CellView(row, state, standing, cause, entry, _refs(entry), reason)


def _lacks(verdict: Verdict, criterion: Criterion | None) -> str:
    """Return what a verdict lacks that a judge must give (METHOD 40, 46)."""
    bound = {binding.term for binding in verdict.bindings}
    unbound = [term for term in (criterion.terms if criterion else ()) if term not in bound]
    lacking = [f"what it binds '{term}' to" for term in unbound]
    if not verdict.refs:
        lacking.append("evidence")
    told = " and ".join(lacking) or "what would decide it"
    return f"the judge's answer lacks {told}"


def _refs(entry: Verdict | NotApplicable | None) -> tuple[Ref, ...]:
    """Return a cell's refs, those of its code half included, each once."""
    if entry is None:
        return ()
    return tuple(dict.fromkeys((*entry.refs, *(entry.code.refs if entry.code else ()))))


def _with_steps(views: list[TraceView], traces: Iterable[Trace]) -> tuple[TraceView, ...]:
    by_id: dict[str, list[TraceView]] = {}
    for view in views:
        by_id.setdefault(view.id, []).append(view)
    done = {view.index: replace(view, hidden=UNREAD) for view in views}
    for trace in traces:
        done |= {view.index: laid_out(view, trace) for view in by_id.get(trace.id, ())}
    return tuple(done.values())


def laid_out(view: TraceView, trace: Trace) -> TraceView:
    """Return a view with its steps; a trace that is not the one that was judged is not shown."""
    judged = view.line.provenance.trace if view.line.provenance else None
    if judged is not None and judged != trace.source.digest:
        return replace(view, hidden="the trace has changed since it was evaluated")
    walked = [step.ref for step in view.line.judge_steps if step.ref is not None]
    refs = dict.fromkeys([*(r for c in view.cells for r in c.refs), *_bound(view), *walked])
    numbers = {step.id: step.n for step in view.line.agent_steps}
    steps, targets = lay_out(trace, f"t{view.index}", list(refs), numbers)
    owners = {step.owner: Target(step.anchor, f"step {step.n}") for step in steps if step.n}
    anchors = {step.n: owners[step.id] for step in view.line.agent_steps if step.id in owners}
    return replace(view, steps=steps, targets=targets, anchors=anchors)


def _bound(view: TraceView) -> list[Ref]:
    verdicts = [cell.verdict for cell in view.cells if cell.verdict]
    return [b.ref for v in verdicts for b in v.bindings if b.ref is not None]

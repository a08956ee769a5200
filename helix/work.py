"""Carrying out one run: a job per trace and replicate, outcomes spooled as they come."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from helix.backends.dispatch import Tray, trays
from helix.checks.run import decide
from helix.engine.asking import Asker
from helix.engine.drive import Event, Job, Outcome, run_jobs
from helix.engine.limits import Limits, share_of
from helix.engine.spool import Spool
from helix.errors import TraceError
from helix.ingest import Input
from helix.judging import (
    Adjudicated,
    adjudicate,
    is_usable,
)
from helix.judging import Job as TraceJob
from helix.model.config import JudgeConfig
from helix.model.lines import encode_line
from helix.model.manifest import ManifestEntry, Survey
from helix.model.scorecard import UsageTotals
from helix.model.sidelines import CandidateLine, DecisionLine, FailureLine
from helix.model.trace import Trace
from helix.model.verdict import MatrixVerdictFile
from helix.planning import Prepared
from helix.registry import Backend, CheckContext, Decision, Judge, JudgeSettings
from helix.runmeta import RunLog
from helix.suite.routes import off_route
from helix.survey import routed

OnEvent = Callable[[Event], None]


@dataclass(slots=True)
class Work:
    """One run's work: what is chosen, where it is read, where its lines go.

    `pending` and `broken` name the traces that wait, and those that an internal error stopped.
    """

    prepared: Prepared
    survey: Survey
    source: Input
    folder: Path
    pending: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    _backends: dict[str, tuple[Judge, Backend]] = field(default_factory=dict)

    def open_judges(self) -> None:
        """Open who is asked, where a row needs it, so that a wrong setting stops the run early."""
        prepared = self.prepared
        if not prepared.judge.asks:
            return
        self._open("judge", prepared.judge, prepared.config.judge)
        if prepared.verifier is not None:
            self._open("verifier", prepared.verifier.judge, prepared.verifier.config)

    def _open(self, role: str, judge: Judge, section: JudgeConfig) -> None:
        config = self.prepared.config
        settings = JudgeSettings(
            section, config.paths.state, str(self.folder), config.limits.deadline_s
        )
        self._backends[role] = (judge, judge.open(settings))

    def carry_out(self, on_event: OnEvent | None, log: RunLog) -> UsageTotals:
        """Adjudicate every chosen trace and write the line artifacts; return what it used."""
        config = self.prepared.config
        limits = Limits(share_of(config.limits, config.shard.index, config.shard.count))
        with contextlib.ExitStack() as stack:
            askers = self._askers(limits, stack)
            lines = stack.enter_context(Spool(self.folder, "verdicts.jsonl"))
            notes = stack.enter_context(Spool(self.folder, "decisions.jsonl"))
            failures = stack.enter_context(Spool(self.folder, "failures.jsonl"))
            candidates = stack.enter_context(Spool(self.folder, "candidates.jsonl"))

            def done(outcome: Outcome[Adjudicated]) -> None:
                at = outcome.job.ordinal
                if outcome.value is None:
                    self._not_done(outcome, log)
                    return
                line = outcome.value.line
                lines.append(at, encode_line(line))
                notes.append(
                    at, *(encode_line(note) for note in _decisions(outcome.value.decisions))
                )
                failures.append(at, *(encode_line(x) for x in _failures(line)))
                candidates.append(at, *(encode_line(x) for x in _candidates(line)))

            executor = self.prepared.registry.get("executors", config.executor.name)
            if on_event is not None:
                chosen = sum(entry.selected for entry in self.survey.entries)
                on_event(Event("begin", total=chosen * config.sampling.replicates))
            try:
                run_jobs(
                    self.jobs(),
                    askers,
                    concurrency=config.limits.concurrency,
                    unit_s=config.limits.unit_s,
                    on_done=done,
                    on_event=on_event,
                    executor=executor.run,
                )
            finally:
                for spool in (lines, notes, failures, candidates):
                    spool.finish()
        return limits.meter.totals()

    def trays(self, log: RunLog) -> tuple[Tray, ...]:
        """Return how the folders of dispatched tasks stand; what is wrong in one is an event."""
        found = trays(backend for _, backend in self._backends.values())
        for tray in found:
            for task in tray.waiting:
                if task.fault is not None:
                    log.event("answer-refused", file=task.answer, fault=task.fault)
            if tray.unused:
                log.event("answers-unused", folder=tray.folder, files=tray.unused)
        return found

    def _askers(self, limits: Limits, stack: contextlib.ExitStack) -> dict[str, Asker]:
        config = self.prepared.config
        store = None
        if any(judge.cacheable for judge, _ in self._backends.values()):
            cache = self.prepared.registry.get("caches", "disk")
            store = stack.enter_context(cache.open(config.paths.state))
        usable = is_usable if config.cache.refresh == "unusable" else None
        return {
            role: Asker(judge, backend, limits, store=store, usable=usable)
            for role, (judge, backend) in self._backends.items()
        }

    def jobs(self) -> Iterator[Job[Adjudicated]]:
        """Yield one job per chosen trace and replicate, checks already run."""
        sampling = self.prepared.config.sampling
        context, settings = self._context, self.prepared.settings
        for entry, trace in self._chosen():
            decisions = self._decisions(entry, trace, context)
            for replicate in range(sampling.replicates):
                job = TraceJob(
                    trace=trace,
                    replicate=replicate + sampling.replicate_offset,
                    rows=tuple(row.criterion for row in self.prepared.rows),
                    decisions=decisions,
                    fidelity=entry.fidelity,
                )
                yield Job(
                    entry.ordinal * sampling.replicates + replicate,
                    entry.id,
                    lambda job=job: adjudicate(job, settings),  # type: ignore[misc]
                )

    def _chosen(self) -> Iterator[tuple[ManifestEntry, Trace]]:
        entries = iter(self.survey.entries)
        for item in self.source:
            if not isinstance(item, Trace):
                continue
            entry = next(entries, None)
            if entry is None or entry.id != item.id or entry.digest != item.source.digest:
                raise TraceError(
                    f"{item.source.file} changed while it was being evaluated; run it again"
                )
            if entry.selected:
                yield entry, routed(item, self.prepared.config.subject)

    def _decisions(
        self, entry: ManifestEntry, trace: Trace, context: CheckContext
    ) -> dict[str, Decision]:
        if not entry.fidelity.complete:
            return {}
        found: dict[str, Decision] = {}
        for row in self.prepared.rows:
            decision = off_route(row.criterion, trace, self.prepared.config.subject.routes)
            if decision is None and row.check is not None:
                decision = decide(row, trace, context)
            if decision is not None:
                found[row.id] = decision
        return found

    @property
    def _context(self) -> CheckContext:
        subject = self.prepared.config.subject
        return CheckContext(
            inventory=frozenset(self.prepared.settings.packet.tools),
            seen=frozenset(self.survey.tools),
            roles=frozenset(self.survey.roles),
            complete_channels=subject.complete_channels,
        )

    def _not_done(self, outcome: Outcome[Adjudicated], log: RunLog) -> None:
        if outcome.pending:
            self.pending.append(outcome.job.key)
            log.event("pending", trace=outcome.job.key, task=outcome.waits_for)
            return
        self.broken.append(outcome.job.key)
        error = outcome.error
        log.event("internal-error", trace=outcome.job.key, error=f"{type(error).__name__}: {error}")


def _decisions(notes: list[dict[str, str]]) -> Iterator[DecisionLine]:
    """Yield what the machinery decided on the way to a line, and why."""
    for note in notes:
        yield msgspec.convert(note, DecisionLine)


def _failures(line: MatrixVerdictFile) -> Iterator[FailureLine]:
    """Yield what diagnostics should look at: capture faults and failed cells (METHOD 35, 82)."""
    if not line.fidelity.complete:
        yield FailureLine(
            trace_id=line.trajectory_id,
            kind="capture",
            text=line.fidelity.reason,
            localize=line.localize,
        )
    for verdict in line.verdicts:
        if verdict.result == "fail":
            yield FailureLine(
                trace_id=line.trajectory_id,
                kind="criterion",
                criterion_id=verdict.criterion_id,
                text=verdict.critique,
                refs=verdict.refs,
                localize=line.localize,
            )


def _candidates(line: MatrixVerdictFile) -> Iterator[CandidateLine]:
    """Yield what was seen without a criterion for it, for discover (METHOD 37)."""
    for candidate in line.candidates:
        yield CandidateLine(trace_id=line.trajectory_id, candidate=candidate)

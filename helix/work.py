"""Carrying out one run: a job per trace and replicate, outcomes spooled as they come."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helix.adjudication import Bench, Written, written
from helix.backends.dispatch import Tray, trays
from helix.engine.asking import Asker
from helix.engine.drive import Event, Job, Outcome, run_jobs
from helix.engine.limits import Limits, share_of
from helix.engine.spool import Spool
from helix.engine.store import open_store
from helix.ingest import Input
from helix.judging import Adjudicated, is_usable
from helix.model.config import JudgeConfig
from helix.model.manifest import ManifestEntry, Survey
from helix.model.scorecard import UsageTotals
from helix.model.trace import Trace
from helix.planning import Prepared
from helix.registry import Assignment, Backend, Executor, Judge, JudgeSettings
from helix.runmeta import RunLog
from helix.survey import changed, routed

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
        """Open who is asked, where a row needs it, so that a wrong setting stops the run early.

        The reply cache is tried too, while what an earlier run left in the folder is still there.
        """
        prepared = self.prepared
        if not prepared.judge.asks:
            return
        self._open("judge", prepared.judge, prepared.config.judge)
        if prepared.verifier is not None:
            self._open("verifier", prepared.verifier.judge, prepared.verifier.config)
        if self._keeps:
            with open_store(prepared.config, prepared.registry):
                pass

    def _open(self, role: str, judge: Judge, section: JudgeConfig) -> None:
        config = self.prepared.config
        settings = JudgeSettings(
            section, config.paths.state, str(self.folder), config.limits.deadline_s
        )
        self._backends[role] = (judge, judge.open(settings))

    @property
    def _keeps(self) -> bool:
        return any(judge.cacheable for judge, _ in self._backends.values())

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

            def done(outcome: Outcome[Any]) -> None:
                at, value = outcome.job.ordinal, outcome.value
                if value is None:
                    self._not_done(outcome, log)
                    return
                if not isinstance(value, Written):
                    value = written(value)
                lines.append(at, value.line)
                notes.append(at, *value.notes)
                failures.append(at, *value.failures)
                candidates.append(at, *value.candidates)

            executor: Executor = self.prepared.registry.get("executors", config.executor.name)
            if on_event is not None:
                chosen = self.survey.entries.chosen()
                on_event(Event("begin", total=chosen * config.sampling.replicates))
            try:
                run_jobs(
                    executor.jobs(self._assignment(limits)) if executor.jobs else self.jobs(),
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
        if self._keeps:
            store = stack.enter_context(open_store(config, self.prepared.registry))
        usable = is_usable if config.cache.refresh == "unusable" else None
        return {
            role: Asker(judge, backend, limits, store=store, usable=usable)
            for role, (judge, backend) in self._backends.items()
        }

    def jobs(self) -> Iterator[Job[Adjudicated]]:
        """Yield one job per chosen trace and replicate, checks already run."""
        bench = Bench.of(self.prepared, self.survey.tools, self.survey.roles)
        for entry, trace in self._chosen():
            yield from bench.jobs(entry, trace)

    def _assignment(self, limits: Limits) -> Assignment:
        prepared = self.prepared
        return Assignment(
            config=prepared.config,
            suite=prepared.suite.suite,
            today=prepared.today,
            plan=prepared.plan.digest,
            survey=self.survey,
            files=self.source.paths,
            run_dir=str(self.folder),
            used=limits.meter.elsewhere,
        )

    def _chosen(self) -> Iterator[tuple[ManifestEntry, Trace]]:
        entries = iter(self.survey.entries)
        for item in self.source:
            if not isinstance(item, Trace):
                continue
            entry = next(entries, None)
            if entry is None or entry.id != item.id or entry.digest != item.source.digest:
                raise changed(item.source.file)
            if entry.selected:
                yield entry, routed(item, self.prepared.config.subject)

    def _not_done(self, outcome: Outcome[Any], log: RunLog) -> None:
        if outcome.pending:
            self.pending.append(outcome.job.key)
            log.event("pending", trace=outcome.job.key, task=outcome.waits_for)
            return
        self.broken.append(outcome.job.key)
        error = outcome.error
        log.event("internal-error", trace=outcome.job.key, error=f"{type(error).__name__}: {error}")

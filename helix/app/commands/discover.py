"""`helix discover`: what fails in recorded traces, and criteria that see it again."""

from __future__ import annotations

import datetime
import os
import shlex
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import helix
from helix.app import console
from helix.app.commands.evaluate import with_demo_traces
from helix.app.job import Outcome, note
from helix.app.progress import Progress
from helix.app.remembered import remembered
from helix.app.rendering import render_found, renderers
from helix.app.waiting import told
from helix.discover import Discovered, discover, planned
from helix.discover.artifacts import SUITE, profile, record
from helix.errors import ExitCode, worst
from helix.model.config import Config
from helix.registry import load
from helix.reports.discovery import DiscoveryReport, compose
from helix.reports.run import RunMeta
from helix.reports.words import counted


def run(config: Config, run_dir: Path, typed: str) -> Outcome:
    """Discover, write the run directory and its reports; return what the terminal shows."""
    config = with_demo_traces(config)
    registry = load()
    if config.run.dry:
        return Outcome(planned(config, registry).encode(), ExitCode.PASS)
    wanted = renderers(config.report, registry, discovery=True)
    progress = Progress(config.report.verbosity)
    known = remembered(config.paths.state) if config.discover.preferences else ()
    started, now = time.monotonic(), datetime.datetime.now(datetime.UTC)
    for item in wanted:
        if item.filename is not None:
            (run_dir / item.filename).unlink(missing_ok=True)
    try:
        found = discover(
            config,
            run_dir=run_dir,
            now=now,
            registry=registry,
            preferences=known,
            on_event=progress,
            command=typed,
            notify=lambda text: console.tell(f"helix: {text}"),
        )
    finally:
        progress.close()
    duration = round(time.monotonic() - started, 3)
    note(run_dir, durationS=duration)
    waiting = _waiting(found, typed)
    if all(item.filename for item in wanted):
        console.tell("\n".join(waiting))
    meta = RunMeta(
        run_dir=os.fspath(run_dir),
        waiting=waiting,
        duration_s=duration,
        started_at=now.isoformat(timespec="seconds"),
        helix_version=helix.__version__,
    )
    report = replace(composed(found), meta=meta, after=tuple(_next(found, config)))
    output, rendered = render_found(report, wanted, run_dir, config.report)
    return Outcome(output, worst([found.exit_code, rendered]))


def _waiting(found: Discovered, typed: str) -> tuple[str, ...]:
    """Tell what broke; return what is told of answers that are waited for."""
    if found.asked is None:
        return ()
    for name, fault in sorted(found.asked.broken.items()):
        console.tell(f"helix: internal error at trace {name}: {fault}")
    return told(found.asked.trays, typed)


def composed(found: Discovered) -> DiscoveryReport:
    """Return the report of a discovery, without how its execution went."""
    return compose(
        record(found),
        found.determinations,
        {trace.id: trace for trace in found.examined.traces},
        suite=found.suite.criteria,
        fixtures=found.fixtures,
        curve=found.curve,
        manifest=found.survey.entries,
        unread=found.survey.load.failures,
        subject=profile(found),
        preferences=found.preferences,
        seed=found.config.validation.seed,
    )


def _next(found: Discovered, config: Config) -> list[str]:
    if not found.rows or (found.asked is not None and found.asked.pending):
        return []
    living = None if found.living is None else str(found.living)
    return next_lines(found.folder, living, len(found.grown), config.subject.traces)


def next_lines(
    folder: Path, living: str | None, grown: int, traces: str | Sequence[str] | None
) -> list[str]:
    """Return where the criteria of a discovery are, and what to type next."""
    suite = str(folder / SUITE)
    lines = [f"Criteria: {suite}"]
    if living is not None:
        new = counted(grown, "new row") if grown else "nothing new"
        lines.append(f"Living suite: {living} ({new})")
        suite = living
    given = traces if isinstance(traces, str) else f"[{','.join(traces or ())}]"
    words = [f"subject.traces={given}", f"criteria.file={suite}", "judge=none"]
    return [
        *lines,
        "Next: hold other traces against them:",
        f"  helix evaluate {shlex.join(words)}",
    ]

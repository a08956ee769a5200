"""`helix validate`: what a judge's verdicts are worth, measured against people's labels."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

from helix.app import console
from helix.app.commands.evaluate import with_demo_traces
from helix.app.fitting import fitted
from helix.app.job import Outcome
from helix.app.progress import Progress
from helix.app.rendering import render, renderers
from helix.dryrun import estimate
from helix.errors import ExitCode, worst
from helix.evaluate import Finished
from helix.model.config import Config, Verbosity
from helix.registry import load
from helix.reports.validation import validation_text
from helix.reports.words import width
from helix.validate import Validated, validate


def run(config: Config, run_dir: Path, typed: str) -> Outcome:
    """Measure, write validation.json and the run's reports; 0 when the work was done."""
    config = with_demo_traces(config)
    registry = load()
    pages = [item for item in renderers(config.report, registry) if item.filename is not None]
    if config.run.dry and config.validation.run is None:
        return Outcome(fitted(estimate(config, registry).text(), width()).encode(), ExitCode.PASS)
    progress = Progress(config.report.verbosity)
    codes: list[ExitCode] = []

    def report(done: Finished) -> None:
        progress.close()
        codes.append(render(done, pages, config.report, None)[1])

    try:
        found = validate(
            config,
            run_dir=run_dir,
            now=datetime.datetime.now(datetime.UTC),
            on_event=progress,
            command=typed,
            then=report,
        )
    finally:
        progress.close()
    return Outcome(
        _text(found, run_dir, typed, config.report.verbosity), worst([_code(found), *codes])
    )


def _text(found: Validated, run_dir: Path, typed: str, verbosity: Verbosity) -> bytes:
    if found.validation is None:
        pending = found.finished.pending if found.finished else 0
        console.tell(f"helix: {pending} traces wait for answers; then type again: {typed}")
        return b""
    files = [os.fspath(run_dir / name) for name in ("validation.json", "disagreements.jsonl")]
    text = validation_text(found.validation, found.disagreements, files, verbosity)
    return text.encode("utf-8")


def _code(found: Validated) -> ExitCode:
    if found.validation is None:
        return ExitCode.WAITING
    broken = found.finished is not None and found.finished.broken
    return ExitCode.INTERNAL if broken else ExitCode.PASS

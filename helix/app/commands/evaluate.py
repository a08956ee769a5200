"""`helix evaluate`: recorded traces and a suite to verdicts, a gate and an exit code."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from helix.app import console
from helix.app.fitting import fitted
from helix.app.job import Outcome
from helix.app.progress import Progress
from helix.app.remembered import remembered
from helix.app.rendering import render, renderers
from helix.app.waiting import told
from helix.dryrun import estimate
from helix.errors import ConfigError, ExitCode, unknown, worst
from helix.evaluate import Finished
from helix.evaluate import run as evaluate
from helix.files import keep_out_of_git
from helix.model.config import Config
from helix.registry import load
from helix.reports.run import rerun_line
from helix.reports.words import width

DEMO = "demo:"
DEMOS = ("outreach",)


def run(config: Config, run_dir: Path, typed: str) -> Outcome:
    """Evaluate, write the reports, and return what the terminal shows and the exit code.

    `typed` is the command as it can be typed again.
    """
    return evaluated(config, run_dir, typed)


def evaluated(
    config: Config, run_dir: Path, typed: str, also: Callable[[Finished], None] | None = None
) -> Outcome:
    """Evaluate as `run` does; `also` is called with the result before the reports are written."""
    config = with_demo_traces(config)
    # Of this run alone: the checks of `checks.modules` are registered into it.
    registry = load()
    wanted = renderers(config.report, registry)
    if config.run.dry:
        return Outcome(fitted(estimate(config, registry).text(), width()).encode(), ExitCode.PASS)
    aware = remembered(config.paths.state)
    progress = Progress(config.report.verbosity)
    written: list[tuple[bytes, ExitCode]] = []

    def report(done: Finished) -> None:
        progress.close()
        if also is not None:
            also(done)
        waiting = told(done.trays, typed)
        if all(renderer.filename for renderer in wanted):
            console.tell("\n".join(waiting))
        rerun = _rerun(done, config, typed)
        written.append(render(done, wanted, config.report, rerun, waiting))

    try:
        done = evaluate(
            config,
            run_dir=run_dir,
            registry=registry,
            on_event=progress,
            command=typed,
            then=report,
            aware=aware,
        )
    finally:
        progress.close()
    ((output, rendered),) = written
    return Outcome(output, worst([done.exit_code, rendered]))


def _rerun(done: Finished, config: Config, typed: str) -> str | None:
    """Return the command that does the undone cells again; None where there are none.

    None too while something waits: with fewer rows it would ask other questions.
    """
    cells = done.scorecard.cells
    if done.pending or not cells.fail + cells.uncertain:
        return None
    return rerun_line(typed, os.fspath(done.run_dir), again=config.subject.traces == "-")


def with_demo_traces(config: Config) -> Config:
    """Return the config with `demo:NAME` replaced by a file of generated traces (state/demo)."""
    traces = config.subject.traces
    if not isinstance(traces, str) or not traces.startswith(DEMO):
        return config
    name = traces.removeprefix(DEMO)
    if name not in DEMOS:
        raise ConfigError(f"subject.traces: {unknown('demo', name, DEMOS)}")
    from helix.demo import generator

    path = Path(config.paths.state) / "demo" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    keep_out_of_git(path.parent)
    generator.write(path)
    subject = config.subject.model_copy(update={"traces": str(path)})
    return config.model_copy(update={"subject": subject})

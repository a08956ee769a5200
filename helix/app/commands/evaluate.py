"""`helix evaluate`: recorded traces and a suite to verdicts, a gate and an exit code."""

from __future__ import annotations

import datetime
import shlex
from pathlib import Path

from helix.app.job import Outcome
from helix.app.plugins import registry
from helix.app.progress import Progress
from helix.app.rendering import render, renderers
from helix.errors import ConfigError, ExitCode, unknown, worst
from helix.evaluate import run as evaluate
from helix.evaluate import survey_run
from helix.model.config import Config

DEMO = "demo:"
DEMOS = ("outreach",)


def run(config: Config, run_dir: Path, typed: str) -> Outcome:
    """Evaluate, write the reports, and return what the terminal shows and the exit code.

    `typed` is the command as it can be typed again.
    """
    config = with_demo_traces(config)
    wanted = renderers(config.report, registry())
    if config.run.dry:
        return Outcome(dry(config).encode(), ExitCode.PASS)
    progress = Progress()
    try:
        done = evaluate(
            config, run_dir=run_dir, registry=registry(), on_event=progress, command=typed
        )
    finally:
        progress.close()
    rerun = f"{typed} {shlex.quote(f'select.failed_from={run_dir}')}"
    output, rendered = render(done, wanted, config.report, rerun)
    return Outcome(output, worst([done.exit_code, rendered]))


def dry(config: Config) -> str:
    """Return what a run would do, having read the traces and the suite and spent nothing."""
    today = datetime.datetime.now(datetime.UTC).date()
    prepared, _, survey = survey_run(config, registry(), today=today)
    chosen = sum(entry.selected for entry in survey.entries) * config.sampling.replicates
    by_code = sum(row.method == "deterministic" for row in prepared.rows)
    judged = len(prepared.rows) - by_code
    calls = chosen if prepared.judge.asks and judged else 0
    lines = [
        "Dry run: nothing was asked and nothing was written.",
        f"traces      {len(survey.entries)} found, {chosen} to evaluate, repeats included",
        f"unreadable  {len(survey.load.failures)}",
        f"criteria    {len(prepared.rows)}: {by_code} by code, {judged} with a judge",
        f"cells       {chosen * len(prepared.rows)}",
        f"calls       at most {calls}, before re-prompts; replies in the cache are not asked again",
        "cost        not recorded: no price is known for this judge"
        if calls
        else "cost        none",
    ]
    return "\n".join(lines) + "\n"


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
    generator.write(path)
    subject = config.subject.model_copy(update={"traces": str(path)})
    return config.model_copy(update={"subject": subject})

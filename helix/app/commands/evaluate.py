"""`helix evaluate`: recorded traces and a suite to verdicts, a gate and an exit code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from helix.app.plugins import registry
from helix.errors import ConfigError, unknown
from helix.model.config import Config

DEMO = "demo:"
DEMOS = ("outreach",)


def run(config: Config, run_dir: Path) -> Any:
    """Evaluate, and return the outcome: exit code, scorecard, text for the terminal, run_dir."""
    from helix.evaluate import run as evaluate

    return evaluate(with_demo_traces(config), run_dir=run_dir, registry=registry())


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

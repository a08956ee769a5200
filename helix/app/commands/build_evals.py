"""`helix build-evals`: every row asked by itself, and the judge suite that comes of it."""

from __future__ import annotations

from pathlib import Path

from helix.app import console
from helix.app.commands.evaluate import evaluated
from helix.app.job import Outcome
from helix.build_evals import JUDGES, SUITE, VERDICTS, build, check_axis
from helix.evaluate import Finished
from helix.model.config import Config


def run(config: Config, run_dir: Path, typed: str) -> Outcome:
    """Evaluate on the criterion axis and write the suite; exits as `helix evaluate` does."""
    check_axis(config)
    return evaluated(config, run_dir, typed, also=_suite)


def _suite(done: Finished) -> None:
    built = build(done)
    console.tell(
        f"{built.folder / SUITE}: {built.rows} rows; {JUDGES}: {built.judges} prompts; "
        f"{VERDICTS}: {built.verdicts} verdicts"
    )

"""`helix discover`: what fails in recorded traces, and criteria that see it again."""

from __future__ import annotations

import datetime
import os
import shlex
from pathlib import Path

from helix.app import console
from helix.app.commands.evaluate import with_demo_traces
from helix.app.job import Outcome
from helix.app.progress import Progress
from helix.app.remembered import remembered
from helix.app.waiting import told
from helix.discover import Discovered, discover
from helix.discover.artifacts import SUITE, record
from helix.errors import ExitCode
from helix.model.config import Config
from helix.reports.discovered import discovered_text
from helix.reports.words import counted


def run(config: Config, run_dir: Path, typed: str) -> Outcome:
    """Discover, write the run directory, and return what the terminal shows; 0 when it was done."""
    config = with_demo_traces(config)
    progress = Progress()
    known = remembered(config.paths.state) if config.discover.preferences else ()
    try:
        found = discover(
            config,
            run_dir=run_dir,
            now=datetime.datetime.now(datetime.UTC),
            preferences=known,
            on_event=progress,
            command=typed,
            notify=lambda text: console.tell(f"helix: {text}"),
        )
    finally:
        progress.close()
    for name, fault in sorted(found.asked.broken.items()) if found.asked else ():
        console.tell(f"helix: internal error at trace {name}: {fault}")
    files = [os.fspath(run_dir / name) for name in (SUITE, "discovery.json")]
    text = discovered_text(record(found), files, _next(found, config, typed))
    return Outcome(text.encode("utf-8"), found.exit_code)


def _next(found: Discovered, config: Config, typed: str) -> list[str]:
    if found.exit_code == ExitCode.WAITING and found.asked is not None:
        return list(told(found.asked.trays, typed))
    if not found.rows:
        return []
    lines = []
    suite = found.folder / SUITE
    if found.living is not None:
        new = counted(len(found.grown), "new row") if found.grown else "nothing new"
        lines.append(f"Living suite: {found.living} ({new})")
        suite = found.living
    traces = config.subject.traces
    given = traces if isinstance(traces, str) else f"[{','.join(traces or ())}]"
    words = [f"subject.traces={given}", f"criteria.file={suite}", "judge=none"]
    return [
        *lines,
        "Next: hold other traces against them:",
        f"  helix evaluate {shlex.join(words)}",
    ]

"""`helix improve`: run the subject, measure it, ask for a change, and measure it again."""

from __future__ import annotations

import datetime
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from helix.app import console
from helix.app.job import Outcome
from helix.app.progress import Progress
from helix.app.waiting import told
from helix.backends.dispatch import Tray
from helix.errors import ExitCode
from helix.files import atomic_write
from helix.improve import Improved, improve
from helix.improve.loop import RECORD
from helix.model.config import Config
from helix.reports.improvement import (
    improvement_markdown,
    improvement_page,
    improvement_text,
    request_page,
)
from helix.reports.visible import one_line
from helix.reports.words import wrapped

REPORT, PAGE = "improve.html", "improve.md"


def run(config: Config, run_dir: Path, typed: str) -> Outcome:
    """Carry the loop on until it ends or waits; write how it stands."""
    found = improve(
        config,
        run_dir=run_dir,
        page=request_page,
        now=datetime.datetime.now(datetime.UTC),
        tell=lambda text: console.tell(f"helix: {one_line(text)}"),
        watch=lambda: closing(Progress(config.report.verbosity)),
    )
    atomic_write(run_dir / PAGE, improvement_markdown(found.record).encode())
    waits = [*_next(found, run_dir), *told(_merged(found.trays), typed)]
    if found.exit_code is ExitCode.WAITING and not found.trays:
        waits += ["Then run the same command again:", f"  {typed}"]
    atomic_write(run_dir / REPORT, improvement_page(found.record))
    written = [os.fspath(run_dir / name) for name in (REPORT, PAGE, RECORD)]
    text = improvement_text(found.record, waits, written, config.report.verbosity)
    return Outcome(text.encode(), found.exit_code)


def _next(found: Improved, run_dir: Path) -> Iterator[str]:
    """Yield what is waited for, or where people decide what the last swing left to them."""
    if not found.trays:
        for text in found.told:
            yield from wrapped(f"Next: {one_line(text)}")
    swing = found.record.swings[-1]
    if found.record.ending == "undecided" and swing.calibrated:
        run = run_dir / f"swing-{swing.swing}" / "repeat-1"
        yield "Next: people decide; what they can do, and what is known of it:"
        yield f"  helix calibrate queue {shlex.quote(os.fspath(run))}"
        yield "  helix calibrate log"


def _merged(trays: Sequence[Tray]) -> list[Tray]:
    """Return one tray per folder: what any repeat waits for, and what none had a use for."""
    folders: dict[str, list[Tray]] = {}
    for tray in trays:
        folders.setdefault(tray.folder, []).append(tray)
    merged = []
    for folder, several in folders.items():
        waiting = {task.file: task for tray in several for task in tray.waiting}
        unused = set.intersection(*(set(tray.unused) for tray in several))
        merged.append(Tray(folder, tuple(waiting.values()), tuple(sorted(unused))))
    return merged

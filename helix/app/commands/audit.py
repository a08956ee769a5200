"""`helix audit`: execute one thing several times, and say what varies that should not."""

from __future__ import annotations

import datetime
import shlex
from functools import partial
from pathlib import Path

from helix.app import console
from helix.app.auditing import asked
from helix.app.commands.evaluate import with_demo_traces
from helix.app.fitting import fitted
from helix.app.job import Outcome
from helix.audit.conditions import TOLD
from helix.audit.coordinator import Asked, audit
from helix.audit.history import reading, remember
from helix.dryrun import Estimate, estimate
from helix.errors import ExitCode
from helix.files import atomic_write, held
from helix.model.audited import Audited
from helix.model.config import Config
from helix.model.lines import encode_page
from helix.registry import Registry, load
from helix.reports.audited import audit_markdown, audit_text
from helix.reports.textpage import for_this_console
from helix.reports.words import counted, width
from helix.runs import RunFiles

_ASKS_NOBODY = ("none", "replay")


def run(config: Config, run_dir: Path, typed: str) -> Outcome:
    """Audit, write audit.json and audit.md, and return what the terminal shows."""
    registry = load()
    wanted = asked(config, run_dir, typed, registry)
    before = _estimate(config, registry, wanted)
    if config.run.dry:
        return Outcome(_plan(wanted, before).encode(), ExitCode.PASS)
    live = _live(before)
    if live:
        console.tell(
            f"helix: {counted(live, 'question')} to a live judge. The first execution asks, the "
            "others take what the cache keeps; identity is proved by recorded replies alone "
            "(judge=replay)"
        )
    with held(run_dir):
        for name in ("audit.json", "audit.md"):
            (run_dir / name).unlink(missing_ok=True)
        found = audit(wanted, lambda name: console.tell(f"audit: executing, {name}"))
        _keep(config.paths.state, found)
        atomic_write(run_dir / "audit.json", encode_page(found))
        atomic_write(run_dir / "audit.md", audit_markdown(found))
    output = for_this_console(partial(audit_text, found, config.report.verbosity))
    return Outcome(output + f"Report: {run_dir / 'audit.md'}\n".encode(), exit_of(found))


def _keep(state: str, found: Audited) -> None:
    """Append the scorecard to the history of determinism, where a run names its subject."""
    runs = [one.run for one in found.executions if one.failed is None]
    if found.score is None or not runs:
        return
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    new = reading(found.score, RunFiles(Path(runs[0])), at)
    if new is not None:
        remember(state, new)


def exit_of(found: Audited) -> ExitCode:
    """Return 0 for no difference and defects that all hold, 3 for what is not known, else 1."""
    states = {one.status for one in found.defects}
    if found.verdict == "notMeasured":
        return ExitCode.INCOMPLETE
    if found.verdict == "different" or "doesNotHold" in states:
        return ExitCode.FAIL
    return ExitCode.INCOMPLETE if "couldNotBeChecked" in states else ExitCode.PASS


def _estimate(config: Config, registry: Registry, wanted: Asked) -> Estimate | None:
    """Return what one execution of Helix would ask; None where another program is audited."""
    own = wanted.executor is not None and wanted.executor.program.helix
    if not own or (config.judge.backend in _ASKS_NOBODY and not config.run.dry):
        return None
    return estimate(with_demo_traces(config), registry)


def _live(before: Estimate | None) -> int:
    questions = before.questions.values() if before is not None else ()
    return sum(one.to_ask for one in questions if one.judge.cacheable)


def _plan(wanted: Asked, before: Estimate | None) -> str:
    lines = ["Dry run: nothing was executed."]
    if wanted.executor is None:
        lines.append(f"runs       {', '.join(map(str, wanted.runs))}")
    else:
        more = wanted.times - 1 + len(wanted.vary)
        lines += [
            f"command    {shlex.join(wanted.executor.program.words)}",
            f"executions {wanted.times}; {more} more where they differ; from the second on",
            *(f"           {TOLD[name]}" for name in wanted.vary),
            *(f"one more   under {name}, if it is there" for name in wanted.pythons),
            *(f"one more   with executor {name}, if it is another" for name in wanted.executors),
        ]
    return "\n".join(lines) + "\n" + (f"\n{fitted(before.text(), width())}" if before else "")

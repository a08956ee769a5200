"""From a finished run to its reports: composed once, rendered by every renderer that was asked for.

A renderer that breaks costs its own report and is named; the scorecard is on disk already.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from helix.errors import HelixError
from helix.evaluate import Finished
from helix.files import atomic_write
from helix.registry import Registry, Renderer
from helix.reports.run import RunMeta, RunReport, compose
from helix.runmeta import helix_version

TERMINAL = "terminal"
PAGE = "html"


def publish(done: Finished, registry: Registry, *, command: str | None = None) -> str:
    """Write the reports that `report.out` and `report.to` name; return the text for stdout.

    `command` is what was typed, without selections; the report offers it to run the undecided and
    failing cells again.
    """
    config = done.prepared.config.report
    names = list(dict.fromkeys([*config.out, *config.to]))
    renderers: list[Renderer] = [registry.get("renderers", name) for name in names]
    targets = {r.name: _target(r, config.to.get(r.name), done.run_dir) for r in renderers}
    report = compose(
        done.scorecard,
        done.verdicts(),
        done.traces if any(r.name == PAGE for r in renderers) else (),
        suite=done.criteria,
        meta=_meta(done, targets.get(PAGE), command),
    )
    said: list[str] = []
    for renderer in sorted(renderers, key=lambda r: targets[r.name] is None):
        said += _render(renderer, report, targets[renderer.name])
    return "".join(said)


def _render(renderer: Renderer, report: RunReport, target: Path | None) -> list[str]:
    try:
        data = renderer.render(report)
        if target is None:
            return [data.decode("utf-8", "backslashreplace")]
        target.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(target, data)
    except HelixError:
        raise
    except Exception as error:
        text = f"{type(error).__name__}: {error}".replace("\n", " ")
        return [f"The report '{renderer.name}' could not be written: {text}\n"]
    return []


def _target(renderer: Renderer, path: str | None, run_dir: Path) -> Path | None:
    if path is not None:
        return Path(path)
    return None if renderer.filename is None else run_dir / renderer.filename


def _meta(done: Finished, page: Path | None, command: str | None) -> RunMeta:
    undone = done.scorecard.run_verdict != "pass"
    again = f"{command} select.failed_from={shlex.quote(str(done.run_dir))}"
    return RunMeta(
        run_dir=str(done.run_dir),
        report_path=None if page is None else str(page),
        rerun=again if command and undone else None,
        duration_s=done.duration_s,
        started_at=done.started_at,
        helix_version=helix_version(),
    )

"""The reports of a finished run: every renderer that `report.out` and `report.to` name."""

from __future__ import annotations

import os
from pathlib import Path

from helix.app import failures
from helix.errors import ConfigError, ExitCode
from helix.evaluate import Finished
from helix.files import atomic_write
from helix.model.config import ReportConfig
from helix.registry import Registry, Renderer
from helix.reports.run import RunMeta, RunReport, compose
from helix.runmeta import helix_version

PAGE = "html"


def renderers(config: ReportConfig, registry: Registry) -> list[Renderer]:
    """Return the renderers that a run needs, before it begins; an unknown name is an error."""
    if config.mode == "directory":
        raise ConfigError("report.mode must be auto or single in this version (got directory)")
    wanted = dict.fromkeys([*config.out, *config.to])
    return [registry.get("renderers", name) for name in wanted]


def render(
    done: Finished, wanted: list[Renderer], config: ReportConfig, rerun: str
) -> tuple[bytes, ExitCode]:
    """Write the reports; return what goes to standard output, and INTERNAL if one broke."""
    files = {item.name: _place(item, done.run_dir, config) for item in wanted}
    page = files.get(PAGE)
    report = _report(done, rerun, page)
    output, code = b"", ExitCode.PASS
    # What goes to standard output comes last: it names the page that was written.
    for item in sorted(wanted, key=lambda item: files[item.name] is None):
        try:
            data, file = item.render(report), files[item.name]
            if file is None:
                output += data
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(file, data)
        except Exception as error:
            failures.told(error, f"report {item.name}")
            code = ExitCode.INTERNAL
    return output, code


def _place(item: Renderer, run_dir: Path, config: ReportConfig) -> Path | None:
    if item.name in config.to:
        return Path(config.to[item.name])
    return None if item.filename is None else run_dir / item.filename


def _report(done: Finished, rerun: str, page: Path | None) -> RunReport:
    meta = RunMeta(
        run_dir=os.fspath(done.run_dir),
        report_path=None if page is None else os.fspath(page),
        rerun=rerun,
        duration_s=done.duration_s,
        started_at=done.started_at,
        helix_version=helix_version(),
    )
    traces = done.traces if page is not None else ()
    return compose(done.scorecard, done.verdicts(), traces, suite=done.criteria, meta=meta)

"""The reports of a finished run: every renderer that `report.out` and `report.to` name."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import helix
from helix.app import failures
from helix.errors import ConfigError, ExitCode
from helix.evaluate import Finished
from helix.files import atomic_write
from helix.model.config import ReportConfig
from helix.registry import Registry, Renderer
from helix.reports.run import RunMeta, RunReport, compose
from helix.runs import RunFiles

PAGE = "html"


def renderers(config: ReportConfig, registry: Registry) -> list[Renderer]:
    """Return the renderers that a run needs, before it begins; an unknown name is an error."""
    if config.mode == "directory":
        raise ConfigError("report.mode must be auto or single in this version (got directory)")
    wanted = dict.fromkeys([*config.out, *config.to])
    return [registry.get("renderers", name) for name in wanted]


def render(
    done: Finished,
    wanted: list[Renderer],
    config: ReportConfig,
    rerun: str | None,
    waiting: tuple[str, ...] = (),
) -> tuple[bytes, ExitCode]:
    """Write the reports; return what goes to standard output, and INTERNAL if one broke."""
    files = {item.name: _place(item, done.run_dir, config) for item in wanted}
    report = _report(done, rerun, waiting, files.get(PAGE) is not None)
    output, code = b"", ExitCode.PASS
    # What goes to standard output comes last: it names the reports that were written.
    for item in sorted(wanted, key=lambda item: files[item.name] is None):
        try:
            data, file = item.render(report), files[item.name]
            if file is None:
                output += data
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(file, data)
            written = (*report.meta.written, os.fspath(file))
            report = replace(report, meta=replace(report.meta, written=written))
        except Exception as error:
            failures.told(error, f"report {item.name}")
            code = ExitCode.INTERNAL
    return output, code


def _place(item: Renderer, run_dir: Path, config: ReportConfig) -> Path | None:
    if item.name in config.to:
        return Path(config.to[item.name])
    return None if item.filename is None else run_dir / item.filename


def _report(
    done: Finished, rerun: str | None, waiting: tuple[str, ...], with_traces: bool
) -> RunReport:
    meta = RunMeta(
        run_dir=os.fspath(done.run_dir),
        baseline=done.prepared.config.gate.baseline,
        rerun=rerun,
        waiting=waiting,
        duration_s=done.duration_s,
        started_at=done.started_at,
        helix_version=helix.__version__,
    )
    return compose(
        done.scorecard,
        done.verdicts(),
        done.traces if with_traces else (),
        suite=done.criteria,
        manifest=RunFiles(done.run_dir).manifest(),
        meta=meta,
        subject=RunFiles(done.run_dir).subject(),
    )

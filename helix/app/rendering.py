"""The reports of a finished run: every renderer that `report.out` and `report.to` name."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import helix
from helix.app import failures
from helix.errors import ConfigError, ExitCode
from helix.evaluate import Finished
from helix.files import atomic_write
from helix.model.config import ReportConfig
from helix.registry import Registry, Renderer
from helix.reports.discovery import DiscoveryReport
from helix.reports.run import RunMeta, RunReport, compose
from helix.runs import RunFiles

PAGE = "html"
View = Callable[[Any], bytes]


def renderers(
    config: ReportConfig, registry: Registry, *, discovery: bool = False
) -> list[Renderer]:
    """Return the renderers that a run needs, before it begins; an unknown name is an error.

    So is, for a discovery, one that has no view of it.
    """
    if config.mode == "directory":
        raise ConfigError("report.mode must be auto or single in this version (got directory)")
    wanted = [registry.get("renderers", n) for n in dict.fromkeys([*config.out, *config.to])]
    for item in wanted:
        if discovery and item.discovery is None:
            able = [n for n, entry in registry.items("renderers").items() if entry.item.discovery]
            raise ConfigError(
                f"report.out must name renderers that show a discovery (got {item.name}): choose "
                f"from {', '.join(sorted(able))}"
            )
    return wanted


def render(
    done: Finished,
    wanted: list[Renderer],
    config: ReportConfig,
    rerun: str | None,
    waiting: tuple[str, ...] = (),
) -> tuple[bytes, ExitCode]:
    """Write the reports; return what goes to standard output, and INTERNAL if one broke."""
    report = _report(done, rerun, waiting, any(item.name == PAGE for item in wanted))
    views = [(item, item.render) for item in wanted]
    return _projected(report, views, done.run_dir, config)


def render_found(
    report: DiscoveryReport, wanted: list[Renderer], run_dir: Path, config: ReportConfig
) -> tuple[bytes, ExitCode]:
    """Write the reports of a discovery as `render` does those of a run."""
    views = [(item, item.discovery) for item in wanted if item.discovery is not None]
    return _projected(report, views, run_dir, config)


def _projected(
    report: RunReport | DiscoveryReport,
    views: list[tuple[Renderer, View]],
    run_dir: Path,
    config: ReportConfig,
) -> tuple[bytes, ExitCode]:
    output, code = b"", ExitCode.PASS
    placed = [(item, view, _place(item, run_dir, config)) for item, view in views]
    # What goes to standard output comes last: it names the reports that were written.
    for item, view, file in sorted(placed, key=lambda one: one[2] is None):
        try:
            data = view(report)
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

"""The reports of a finished run: every renderer that `report.out` and `report.to` name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import msgspec

import helix
from helix.app import console, failures
from helix.app.job import note
from helix.errors import ConfigError, ExitCode, UsageError
from helix.evaluate import Finished
from helix.files import atomic_folder, atomic_writer
from helix.model.audit import HISTORY
from helix.model.config import ReportConfig
from helix.registry import Registry, Renderer
from helix.registry.leaf import Leaf
from helix.reports.determinism import trend_told
from helix.reports.discovery import DiscoveryReport
from helix.reports.run import RunMeta, RunReport, compose
from helix.reports.stream import RunStream, stream
from helix.reports.summary import page_note
from helix.runs import RunFiles

Data = bytes | Iterable[bytes | Leaf]
View = Callable[[RunMeta], Data]


def renderers(
    config: ReportConfig, registry: Registry, *, discovery: bool = False
) -> list[Renderer]:
    """Return the renderers that a run needs, before it begins; an unknown name is an error.

    So is, for a discovery, one that has no view of it.
    """
    wanted = [registry.get("renderers", n) for n in dict.fromkeys([*config.out, *config.to])]
    for item in wanted:
        if item.ready is not None:
            item.ready()
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
    run = _stream(done, rerun, waiting, _trend(done))
    return project(run, partial(_whole, done, run), wanted, done.run_dir, config)


def project(
    run: RunStream,
    whole: Callable[[], RunReport],
    wanted: Sequence[Renderer],
    run_dir: Path,
    config: ReportConfig,
    existing: Sequence[str] = (),
) -> tuple[bytes, ExitCode]:
    """Write the reports of a run as `render` does.

    `whole` returns the run with its traces, without their steps. What goes to standard output
    names those of the `existing` reports too that are there.
    """
    held = cache(whole)

    def projected(item: Renderer, meta: RunMeta) -> Data:
        if not item.stream:
            return item.render(replace(held(), meta=meta))
        file = place_of(item, run_dir, config)
        name = run.name if file is None else file.name
        shown = replace(run, meta=meta, mode=config.mode, worst=config.worst, name=name)
        return item.render(shown)

    views = [(item, partial(projected, item)) for item in ordered(wanted)]
    output, code = _written(run.meta, views, run_dir, config, existing)
    left_out = page_note(run.scorecard, config.worst)
    if left_out and any(item.name == "html" for item in wanted):
        console.tell(f"helix: {left_out}")
    return output, code


def ordered(wanted: Iterable[Renderer]) -> list[Renderer]:
    """Return first the renderers that read trace by trace: nothing is held for them."""
    return sorted(wanted, key=_holds_all)


def _holds_all(item: Renderer) -> bool:
    return not item.stream


def render_found(
    report: DiscoveryReport,
    wanted: list[Renderer],
    run_dir: Path,
    config: ReportConfig,
    existing: Sequence[str] = (),
) -> tuple[bytes, ExitCode]:
    """Write the reports of a discovery as `render` does those of a run."""

    def projected(item: Renderer, meta: RunMeta) -> Data:
        assert item.discovery is not None
        return item.discovery(replace(report, meta=meta))

    views = [(item, partial(projected, item)) for item in wanted]
    return _written(report.meta, views, run_dir, config, existing)


def _written(
    meta: RunMeta,
    views: Sequence[tuple[Renderer, View]],
    run_dir: Path,
    config: ReportConfig,
    existing: Sequence[str] = (),
) -> tuple[bytes, ExitCode]:
    output, code = b"", ExitCode.PASS
    written, crashed = list[str](), list[dict[str, str]]()
    meta = replace(meta, verbosity=config.verbosity)
    placed = [(item, view, place_of(item, run_dir, config)) for item, view in views]
    # What goes to standard output comes last: it names the reports that were written.
    for item, view, file in sorted(placed, key=lambda one: one[2] is None):
        try:
            if file is None:
                there = (name for name in existing if Path(name).is_file())
                told = replace(meta, written=tuple(dict.fromkeys([*there, *written])))
                output += b"".join(_parts(view(told), _nowhere))
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            write(file, view(meta))
            written.append(os.fspath(file))
        except Exception as error:
            failures.told(error, f"report {item.name}")
            crashed.append({"report": item.name, "error": type(error).__name__})
            code = ExitCode.INTERNAL
    broken = {one["report"] for one in crashed}
    made = sorted(item.name for item, _ in views if item.name not in broken)
    note(run_dir, reports={"made": made, "crashed": crashed})
    return output, code


def write(file: Path, data: Data) -> None:
    """Write a report, and the folder beside it where it has more files than its own."""
    with atomic_writer(file) as page, atomic_folder(file) as leaf:
        page.writelines(_parts(data, leaf))


def _parts(data: Data, leaf: Callable[[str, bytes], None]) -> Iterator[bytes]:
    """Yield what goes into a report's own file; the files beside it go where `leaf` puts them."""
    for part in (data,) if isinstance(data, bytes) else data:
        if isinstance(part, Leaf):
            leaf(part.name, part.data)
        else:
            yield part


def _nowhere(name: str, data: bytes) -> None:
    raise ValueError(f"a report on standard output must be one text (got a file {name!r} beside)")


def place_of(item: Renderer, run_dir: Path, config: ReportConfig) -> Path | None:
    """Return the file that a renderer writes; None for standard output."""
    if item.name in config.to:
        return Path(config.to[item.name])
    return None if item.filename is None else run_dir / item.filename


def _trend(done: Finished) -> tuple[str, ...]:
    """Return the determinism trend of the run's subject and suite, and keep it in its run meta."""
    card, state = done.scorecard, done.prepared.config.paths.state
    if not (Path(state) / HISTORY).exists():
        return ()
    # Audits are not loaded for a run that has no history.
    from helix.audit.history import remembered, trend

    try:
        found = trend(remembered(state, card.subject, card.suite))
    except UsageError as error:
        failures.told(error, "determinism")
        return ()
    if found is not None:
        note(done.run_dir, determinism=msgspec.to_builtins(found))
    return trend_told(found)


def _stream(
    done: Finished, rerun: str | None, waiting: tuple[str, ...], determinism: tuple[str, ...]
) -> RunStream:
    meta = RunMeta(
        run_dir=os.fspath(done.run_dir),
        baseline=done.prepared.config.gate.baseline,
        rerun=rerun,
        waiting=waiting,
        duration_s=done.duration_s,
        started_at=done.started_at,
        helix_version=helix.__version__,
        determinism=determinism,
    )
    return stream(
        done.scorecard,
        done.verdicts,
        suite=done.criteria,
        manifest=done.manifest,
        meta=meta,
        subject=RunFiles(done.run_dir).subject(),
        originals=done.traces,
    )


def _whole(done: Finished, run: RunStream) -> RunReport:
    return compose(
        run.scorecard,
        run.lines,
        suite=done.criteria,
        manifest=done.manifest,
        meta=run.meta,
        subject=run.subject,
    )

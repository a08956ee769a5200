"""The whole line: survey, adjudicate each trace, fold the lines, write the run. Read this first.

    prepare(config) ─► look(traces) ─► choose ─► adjudicate each ─► verdicts.jsonl ─► fold

Nothing is spent before the survey is whole. Verdict lines are spooled as they finish and copied
into plan order; `scorecard.json` is written last, by rename, and marks a finished run.
"""

from __future__ import annotations

import dataclasses
import datetime
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import ValidationError

from helix import registry as registries
from helix.backends.dispatch import Tray
from helix.errors import ConfigError, ExitCode
from helix.files import atomic_write, clear_folder, held
from helix.gate import exit_code, fold, with_tests
from helix.ingest import Input
from helix.model.config import Config
from helix.model.criterion import Criterion, Suite
from helix.model.lines import encode_page
from helix.model.manifest import Manifest, Survey
from helix.model.preference import Preference
from helix.model.scorecard import Scorecard
from helix.model.trace import Trace
from helix.model.verdict import MatrixVerdictFile
from helix.planning import Prepared, prepare
from helix.quality import run_tests
from helix.registry import Registry
from helix.runmeta import RunLog
from helix.runs import RunFiles
from helix.subject import subject_of
from helix.survey import check_waivers, choose, opened, routed, write_manifest
from helix.work import OnEvent, Work


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that ended: its scorecard, where its files are, and what the process should exit with.

    `pending` counts traces that wait for dispatched answers, `broken` those that an internal
    error kept from a line; `trays` are the folders of dispatched tasks. `lines` is None where they
    are read from the run directory.
    """

    scorecard: Scorecard
    exit_code: ExitCode
    run_dir: Path
    prepared: Prepared
    source: Input
    manifest: Manifest
    duration_s: float
    started_at: str
    pending: int = 0
    broken: int = 0
    trays: tuple[Tray, ...] = ()
    lines: tuple[MatrixVerdictFile, ...] | None = None

    @property
    def run_verdict(self) -> str:
        """The gate in one word: pass, fail or incomplete."""
        return self.scorecard.run_verdict

    def verdicts(self) -> Iterator[MatrixVerdictFile]:
        """Yield the verdict lines in plan order."""
        return RunFiles(self.run_dir).lines() if self.lines is None else iter(self.lines)

    def traces(self, ids: frozenset[str]) -> Iterator[Trace]:
        """Read the input again and yield the traces of these ids."""
        subject = self.prepared.config.subject
        for item in self.source:
            if isinstance(item, Trace) and item.id in ids:
                yield routed(item, subject)

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """The rows that were adjudicated, in suite order."""
        return tuple(row.criterion for row in self.prepared.rows)


def run(
    config: Config,
    *,
    run_dir: str | Path,
    registry: Registry | None = None,
    suite: Suite | None = None,
    on_event: OnEvent | None = None,
    command: str | None = None,
    then: Callable[[Finished], None] | None = None,
    aware: Sequence[Preference] = (),
    now: datetime.datetime | None = None,
) -> Finished:
    """Evaluate and write the run directory; raises UsageError before anything is spent.

    `then` is called with the result while the folder is still held, to write reports into it.
    `aware` is recorded, and asked of nobody: preferences reach no judge and no verifier. `now` is
    the time that the run is dated by, the clock's where none is given.
    """
    began, started = time.monotonic(), now or datetime.datetime.now(datetime.UTC)
    prepared, source, survey = survey_run(config, registry, suite, today=started.date())
    folder = Path(run_dir)
    with held(folder):
        work = Work(prepared, survey, source, folder)
        work.open_judges()
        log = RunLog(folder, started, command, aware)
        _clear(folder, prepared.registry)
        atomic_write(folder / "plan.json", encode_page(prepared.plan))
        write_manifest(folder, survey)
        tools = prepared.settings.packet.tools
        subject = subject_of(config.subject, tools, survey)
        atomic_write(folder / "subject.json", encode_page(subject))
        log.event("surveyed", traces=len(survey.entries), failures=len(survey.load.failures))
        tests = run_tests(config, folder)
        usage = work.carry_out(on_event, log)
        scorecard = fold(prepared.fold, survey, RunFiles(folder).lines(), usage)
        scorecard = with_tests(scorecard, tests)
        code = _code(prepared, scorecard, work)
        duration = round(time.monotonic() - began, 3)
        log.finish(prepared, survey, scorecard, code, duration)
        atomic_write(folder / "scorecard.json", encode_page(scorecard))
        done = Finished(
            scorecard=scorecard,
            exit_code=code,
            run_dir=folder,
            prepared=prepared,
            source=source,
            manifest=survey.entries,
            duration_s=duration,
            started_at=started.isoformat(timespec="seconds"),
            pending=len(work.pending),
            broken=len(work.broken),
            trays=work.trays(log),
        )
        if then is not None:
            then(done)
        return done


def survey_run(
    config: Config,
    registry: Registry | None = None,
    suite: Suite | None = None,
    *,
    today: datetime.date,
) -> tuple[Prepared, Input, Survey]:
    """Check the configuration, read every trace once, and choose what to evaluate."""
    registry = registry or registries.load()
    prepared = prepare(config, registry, today=today, suite=suite)
    source, survey = opened(config.subject, registry)
    check_waivers(survey, config.gate.waivers)
    sampler = registry.get("samplers", config.sampling.strategy)
    return prepared, source, choose(survey, config, sampler, prepared.failed_traces)


def evaluate(
    traces: str | Path | Sequence[str | Path],
    criteria: str | Path | Suite,
    *,
    judge: str | Mapping[str, Any] = "none",
    run_dir: str | Path | None = None,
    **sections: Mapping[str, Any],
) -> Finished:
    """Evaluate traces against criteria from Python: the same line, the same scorecard.

    `traces` and `criteria` are paths as on the command line (criteria may be a Suite); `judge` is
    a backend's name or the mapping of a `judge` section (`{"backend": …, "model": …}`); further
    sections go by name: `gate={"policy": "rate"}`. Without `run_dir` nothing is left on disk but
    the reply cache of a judge that asks.
    """
    many = isinstance(traces, Sequence) and not isinstance(traces, str)
    paths = tuple(str(path) for path in traces) if many else (str(traces),)  # type: ignore[union-attr]
    subject = {**sections.pop("subject", {}), "traces": paths if len(paths) > 1 else paths[0]}
    suite = criteria if isinstance(criteria, Suite) else None
    config = _configured(
        {
            **sections,
            "subject": subject,
            "criteria": {} if suite else {"file": str(criteria)},
            "judge": {"backend": judge} if isinstance(judge, str) else dict(judge),
        }
    )
    if run_dir is not None:
        return run(config, run_dir=run_dir, suite=suite)
    with tempfile.TemporaryDirectory(prefix="helix-") as folder:
        done = run(config, run_dir=folder, suite=suite)
        return dataclasses.replace(done, lines=tuple(done.verdicts()))


def _configured(sections: Mapping[str, Any]) -> Config:
    try:
        return Config.model_validate(sections)
    except ValidationError as error:
        faults = [
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg']} (got {fault['input']!r:.80})"
            for fault in error.errors()
        ]
        raise ConfigError("; ".join(faults)) from None


def _code(prepared: Prepared, scorecard: Scorecard, work: Work) -> ExitCode:
    if work.broken:
        return ExitCode.INTERNAL
    advisory = prepared.config.gate.exit == "advisory"
    return exit_code(scorecard.run_verdict, advisory=advisory, pending=len(work.pending))


def _clear(folder: Path, registry: Registry) -> None:
    """Remove what an earlier run in the same folder says of its result, its reports included."""
    reports = [entry.item.filename for entry in registry.items("renderers").values()]
    for name in ("scorecard.json", "verdicts.jsonl", "runmeta.json", *filter(None, reports)):
        (folder / name).unlink(missing_ok=True)
        clear_folder(folder / name)


class _CallableModule(ModuleType):
    """`helix.evaluate` is this module and the function of the same name, in any import order."""

    def __call__(self, *args: Any, **named: Any) -> Finished:
        return evaluate(*args, **named)


sys.modules[__name__].__class__ = _CallableModule

__all__ = ["Finished", "evaluate", "run", "survey_run"]

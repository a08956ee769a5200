"""A finished run read back from its folder, so that its reports can be made again (METHOD 85).

What the folder does not hold is not made up: a suite or a trace that is no longer what it was is
told, and the report goes without its text.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from helix.checks import load_modules
from helix.errors import ArtifactError, ExitCode, HelixError, UsageError
from helix.ingest import Input
from helix.model.config import SubjectConfig
from helix.model.criterion import Criterion
from helix.model.manifest import LoadFailure, Manifest
from helix.model.plan import Plan
from helix.model.trace import Trace
from helix.registry import Registry
from helix.reports.determinism import trend_recorded
from helix.reports.placed import ByTrace
from helix.reports.run import RunMeta, RunReport, compose, rerun_line
from helix.reports.stream import RunStream, stream
from helix.reports.summary import listed
from helix.reports.words import NOT_RECORDED, counted
from helix.runs import RunFiles, object_of
from helix.suite import compile, load
from helix.survey import routed

SHOWN = 5
Paths = str | tuple[str, ...]
WHERE = "say where they are with --traces PATH"


def finished(folder: str) -> RunFiles:
    """Return a finished run of evaluate, build-evals or validate, or say why the folder is none."""
    path = Path(folder)
    if (path / "scorecard.json").is_file():
        return RunFiles(path)
    if (path / "discovery.json").is_file():
        raise ArtifactError(
            f"{folder} must be a run with verdicts (got a discovery, which has none)"
        )
    if not (path / "plan.json").is_file():
        raise ArtifactError(
            f"{folder} must be the folder of a run (no plan.json): give the folder that a run "
            "named as its run directory, outputs/evaluate/TIME"
        )
    plan = RunFiles(path).plan()
    words = [f"hydra.run.dir={folder}"]
    if plan.runs.get("criteriaFile"):
        words.insert(0, f"criteria.file={plan.runs['criteriaFile']}")
    if isinstance(plan.runs.get("traces"), str):
        words.insert(0, f"subject.traces={plan.runs['traces']}")
    raise ArtifactError(
        f"{folder} is a run that did not finish (no scorecard.json): type its command again and "
        f"it goes on where it stopped: helix {plan.decides.get('command', 'evaluate')} "
        f"{shlex.join(words)}, with its other settings"
    )


@dataclass(frozen=True, slots=True)
class Found:
    """The traces of a run where it read them, or at `path`; iterating reads them anew.

    Only those are given that are what they were, and others but the `unguarded`: their lines hold
    the digest, and the composer shows none that has another. `notes` says what is missing or
    changed; `failures` are the files and records that could not be read, as far as was read.
    """

    digests: Mapping[str, str]
    path: Paths | None
    subject: SubjectConfig
    registry: Registry
    unguarded: Set[str]
    notes: list[str] = field(default_factory=list)
    failures: list[LoadFailure] = field(default_factory=list)

    def read(self, ids: frozenset[str]) -> Iterator[Trace]:
        """Yield the traces of these ids that have the digest that they had."""
        lost, changed = dict.fromkeys(sorted(ids)), list[str]()
        if self.path is None or self.path == "-":
            self.notes.append(f"the traces came from standard input and are not shown; {WHERE}")
            return
        self.failures.clear()
        try:
            for item in Input.open(self.path, self.subject.format, self.registry):
                if isinstance(item, LoadFailure):
                    self.failures.append(item)
                elif item.id in lost:
                    del lost[item.id]
                    trace = routed(item, self.subject)
                    same = trace.source.digest == self.digests.get(trace.id)
                    if not same:
                        changed.append(trace.id)
                    if same or trace.id not in self.unguarded:
                        yield trace
        except (HelixError, OSError) as error:
            self.notes.append(str(error).replace("subject.traces", "the traces"))
        self._tell("is missing", "are missing", list(lost))
        self._tell("has changed since", "have changed since", changed)

    def _tell(self, one: str, many: str, names: Sequence[str]) -> None:
        if names:
            what = f"{counted(len(names), 'trace')} {one if len(names) == 1 else many}"
            told = listed(names, SHOWN, "the report says which")
            self.notes.append(f"{what} and not shown: {told}; {WHERE}")


@dataclass(frozen=True, slots=True)
class RunAgain:
    """A finished run as its reports see it; `notes` says what of it was not to be had."""

    run: RunStream
    whole: Callable[[], RunReport]
    notes: list[str]


def run_again(
    files: RunFiles,
    registry: Registry,
    *,
    traces: Paths | None = None,
    modules: Sequence[str] = (),
) -> RunAgain:
    """Return a finished run; `traces` says where its traces are now, `modules` name its checks."""
    plan, notes = files.plan(), list[str]()
    suite = _suite(plan, registry, modules, notes)
    manifest = Manifest(files.manifest())
    digests = ByTrace(manifest, lambda entry: entry.digest)
    seen, unguarded = bytearray(len(manifest)), set[str]()
    for line in files.lines():
        if (at := manifest.position(line.trajectory_id)) is not None:
            seen[at] = True
        (unguarded.add if line.provenance is None else unguarded.discard)(line.trajectory_id)
    found = Found(digests, traces or place(plan), subject(plan), registry, unguarded, notes)
    pending = sum(entry.selected and not seen[at] for at, entry in enumerate(manifest))
    card = files.scorecard()
    undone = bool(card.cells.fail + card.cells.uncertain)
    run = stream(
        card,
        files.lines,
        suite=suite,
        manifest=manifest,
        meta=_meta(files, plan, pending, undone),
        subject=files.subject(),
        originals=found.read,
    )

    def whole() -> RunReport:
        return compose(
            card,
            files.lines(),
            suite=suite,
            manifest=manifest,
            meta=run.meta,
            subject=run.subject,
        )

    return RunAgain(run, whole, notes)


def place(plan: Plan) -> Paths | None:
    """Return where a run read its traces."""
    traces = plan.runs.get("traces")
    return tuple(traces) if isinstance(traces, list | tuple) else traces


def subject(plan: Plan) -> SubjectConfig:
    """Return the subject's configuration as the plan froze it."""
    try:
        return SubjectConfig.model_validate(plan.decides["subject"])
    except (KeyError, ValueError) as error:
        raise ArtifactError(f"plan.json: its subject cannot be read: {error}") from None


def runmeta(folder: Path) -> dict[str, Any]:
    """Return how an execution went; empty where that was not recorded."""
    return object_of(folder / "runmeta.json")


def _meta(files: RunFiles, plan: Plan, pending: int, undone: bool) -> RunMeta:
    told, folder = runmeta(files.folder), os.fspath(files.folder)
    command = told.get("command")
    waits = pending and told.get("exitCode") != ExitCode.INTERNAL
    rerun: str | None = None
    if command and undone and not waits:
        rerun = rerun_line(command, folder, again=plan.runs.get("traces") == "-")
    meta = recorded_meta(files.folder, told, pending if waits else 0)
    return replace(meta, baseline=plan.runs.get("baseline"), rerun=rerun)


def recorded_meta(folder: Path, told: Mapping[str, Any], pending: int) -> RunMeta:
    """Return how an execution went as its folder says; `pending` traces wait for answers."""
    waiting: tuple[str, ...] = ()
    if pending:
        what = counted(pending, "trace")
        waiting = (
            f"Waiting: {what} for answers; answer them, then run the same command again:",
            f"  {told.get('command') or NOT_RECORDED}",
        )
    return RunMeta(
        run_dir=os.fspath(folder),
        waiting=waiting,
        duration_s=told.get("durationS"),
        started_at=told.get("startedAt"),
        helix_version=told.get("versions", {}).get("helix"),
        determinism=trend_recorded(told.get("determinism")),
    )


def _suite(
    plan: Plan, registry: Registry, modules: Sequence[str], notes: list[str]
) -> tuple[Criterion, ...]:
    """Return the rows of the run in suite order; none where the suite is not what it was."""
    file, decides = plan.runs.get("criteriaFile"), plan.decides
    if not file:
        notes.append("the suite was given as an object: what its rows say is not shown")
        return ()
    about = subject(plan)
    try:
        load_modules(modules, registry)
        suite = compile(
            load(file),
            registry,
            default_component=about.component or about.name,
            eligibility=decides["gate"]["eligibility"],
        )
    except UsageError as error:
        more = "" if modules else "; if it has checks of its own, name them with checks.modules=[…]"
        notes.append(f"the suite cannot be read, so what its rows say is not shown: {error}{more}")
        return ()
    if suite.digest != decides["suiteDigest"]:
        notes.append(f"the suite {file} has changed since, so what its rows say is not shown")
        return ()
    return tuple(row.criterion for row in suite.rows if row.id in decides["criteria"])

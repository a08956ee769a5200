"""From a configuration to what an audit is asked: the program, its inputs, what is known of it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from helix.audit import dimensions
from helix.audit.conditions import Program
from helix.audit.coordinator import Asked
from helix.audit.executions import Executor
from helix.audit.tracking import load_defects
from helix.errors import ConfigError, HelixError
from helix.files import is_file
from helix.model.config import Config
from helix.model.criterion import Criterion
from helix.model.tracked import TrackedDefects
from helix.registry import Registry
from helix.runmeta import process_identity
from helix.runs import RunFiles, object_of
from helix.suite import load

_OWN = ("audit.", "hydra.", "paths.state=", "report.verbosity=", "run.dry=")
_WILD = frozenset("*?[")


def asked(config: Config, run_dir: Path, typed: str, registry: Registry) -> Asked:
    """Return what a configuration asks of an audit; ConfigError for what cannot be audited.

    `typed` is the command as typed: what it says of a run is said again to each execution.
    """
    own = config.audit
    scored = dimensions(registry)
    names = [one.name for one in scored]
    defects = None if own.defects is None else load_defects(own.defects, names)
    executor = None if own.runs else _executor(config, run_dir, typed)
    if own.runs and (own.command or own.pythons or own.executors):
        raise ConfigError("audit.runs takes finished runs, so that audit.command, audit.pythons "
                          "and audit.executors must be empty")  # fmt: skip
    if own.runs and len({Path(run).resolve() for run in own.runs}) < max(2, len(own.runs)):
        raise ConfigError(f"audit.runs must name two runs or more (got {', '.join(own.runs)})")
    return Asked(
        own=process_identity(),
        rows=_rows,
        dimensions=scored,
        executor=executor,
        runs=tuple(RunFiles.open(run, "audit.runs").folder for run in own.runs),
        times=max(own.times, _executions(defects)),
        vary=own.vary,
        pythons=own.pythons,
        executors=own.executors,
        known_executors=tuple(registry.items("executors")),
        defects=defects,
    )


def _executions(defects: TrackedDefects | None) -> int:
    return defects.executions if defects is not None else 0


def _executor(config: Config, run_dir: Path, typed: str) -> Executor:
    own, cwd = config.audit, Path.cwd()
    program = Program(own.command) if own.command else _evaluate(config, typed)
    if not program.takes("out"):
        raise ConfigError("audit.command must hold {out}, the folder that it writes its run to")
    if run_dir.absolute() == cwd or cwd.is_relative_to(run_dir.absolute()):
        raise ConfigError("hydra.run.dir must be below or beside the working directory")
    return Executor(
        root=run_dir.absolute() / "executions",
        cwd=cwd,
        program=program,
        inputs=tuple(_inputs(config, cwd)),
        deadline_s=own.deadline_s,
    )


def _evaluate(config: Config, typed: str) -> Program:
    """Return `helix evaluate` with the words of this audit that are not the audit's own."""
    traces = config.subject.traces
    if not traces or traces == "-" or config.criteria.file is None:
        raise ConfigError(
            "an audit executes helix evaluate: add subject.traces=PATH criteria.file=SUITE.yaml, "
            "or name finished runs (audit.runs=[A,B]), or a program (audit.command=[…,{out}])"
        )
    words = shlex.split(typed)
    words = words[words.index("audit") + 1 :]
    if config.select.failed_from is not None:
        words.append(f"select.failed_from={config.select.failed_from}")
    own = (
        "limits.concurrency={concurrency}",
        "executor.name={executor}",
        f"paths.state={Path(config.paths.state).absolute()}",
        "hydra.run.dir={out}",
    )
    kept = [word for word in words if not word.lstrip("+~").startswith(_OWN)]
    return Program(
        ("{python}", "-m", "helix", "evaluate", *kept, *own),
        config.limits.concurrency,
        config.executor.name,
        helix=True,
    )


def _inputs(config: Config, cwd: Path) -> Iterator[str]:
    """Yield what is copied for each execution: what is named, else the traces."""
    for name in config.audit.inputs:
        if Path(name).is_absolute() or ".." in Path(name).parts or not (cwd / name).exists():
            raise ConfigError(f"audit.inputs must be below the working directory (got {name})")
        yield name
    if config.audit.inputs or config.audit.command:
        return
    traces = config.subject.traces or ()
    for name in (traces,) if isinstance(traces, str) else traces:
        path = Path(*_fixed(Path(name).parts))
        outside = path.is_absolute() or ".." in path.parts or not path.parts
        if not outside and (cwd / path).exists():
            yield str(path)


def _fixed(parts: Sequence[str]) -> Iterator[str]:
    for part in parts:
        if _WILD.intersection(part):
            return
        yield part


def _rows(run: RunFiles) -> tuple[Criterion, ...] | str:
    """Return the rows of the suite that a run was made of, or why they are not known."""
    plan = object_of(run.folder / "plan.json")
    runs, decides = (plan.get(name) for name in ("runs", "decides"))
    file = runs.get("criteriaFile") if isinstance(runs, dict) else None
    versions = decides.get("versions") if isinstance(decides, dict) else None
    if not isinstance(file, str) or not is_file(file):
        return "the run does not say where its suite is, or it is there no more"
    try:
        found = load(file).criteria
    except HelixError as error:
        return f"the suite cannot be read: {error}"
    known = {row.criterion_id for row in found}
    changed = sorted(set(versions if isinstance(versions, dict) else ()) - known)
    return f"the suite lacks {', '.join(changed)} by now" if changed else found

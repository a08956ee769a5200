"""The conformance suite of executors."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

from helix.audit.masking import COMPARED, masked
from helix.engine.drive import Job, Outcome, run_jobs
from helix.model.request import Pending
from helix.registry import Executor, Registry
from helix.testing import sample
from helix.testing.contract import require, require_item

_JOBS, _LIMIT = 40, 4


def executor_conforms(item: Executor, section: Mapping[str, Any] | None = None) -> None:
    """Require that an executor carries out all jobs and writes what `local` writes.

    `section` is the section `executor` of a configuration, without `name`.
    """
    who = require_item("executors", item)
    require(item.run or item.jobs, f"{who} must have run or jobs")
    if item.run is not None:
        _carries_out(who, item)
    with sample.folder() as scratch:
        sample.written(scratch)
        registry = sample.registry_with("executors", item)
        options = {**(section or {}), "name": item.name}
        for name, repeats in (("once", 1), ("twice", 2)):
            sampling = {"replicates": repeats}
            local = _files(scratch, f"local-{name}", registry, sampling=sampling)
            own = _files(scratch, f"own-{name}", registry, sampling=sampling, executor=options)
            other = [artifact for artifact in COMPARED if local[artifact] != own[artifact]]
            require(not other, f"{who} writes other bytes than local does: {', '.join(other)}")


def _files(scratch: Path, name: str, registry: Registry, **sections: Any) -> dict[str, bytes]:
    sections["paths"] = {"state": str(scratch / f"state-{name}")}
    sample.small_run(scratch, name, registry, **sections)
    return {one: masked(one, (scratch / name / one).read_bytes()) for one in COMPARED}


def _carries_out(who: str, item: Executor) -> None:
    done: list[Outcome[int]] = []
    drawn = 0
    ahead = [0]

    def jobs() -> Iterator[Job[int]]:
        nonlocal drawn
        for number in range(_JOBS):
            drawn += 1
            ahead.append(drawn - len(done))
            yield Job(number, f"job {number}", lambda number=number: _steps(number))  # type: ignore[misc]

    run_jobs(jobs(), {}, concurrency=_LIMIT, unit_s=60, on_done=done.append, executor=item.run)
    ordinals = sorted(outcome.job.ordinal for outcome in done)
    require(
        ordinals == list(range(_JOBS)),
        f"{who} must hand over the outcome of each job once (got {ordinals})",
    )
    require(
        max(ahead) <= _LIMIT, f"{who} draws jobs ahead of its room for {_LIMIT} (got {max(ahead)})"
    )
    for outcome in done:
        number = outcome.job.ordinal
        wanted = (None, False) if number == 1 else (None, True) if number == 2 else (number, False)
        require(
            (outcome.value, outcome.pending) == wanted,
            f"{who} must hand over a job's value, its wait or its error as they are (job {number})",
        )
    failed = [outcome.job.ordinal for outcome in done if outcome.error is not None]
    require(failed == [1], f"{who}: one job's error must be its own outcome alone (got {failed})")


def _steps(number: int) -> Generator[Any, Any, int]:
    """Return the number; the job of number 1 breaks, and that of number 2 waits."""
    if number == 1:
        raise ValueError("this job breaks")
    if number == 2:
        raise Pending("this job waits")
    yield from ()
    return number

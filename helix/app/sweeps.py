"""Whether a sweep drew anything: one draw is one repeat, however often it is read (METHOD 73)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from helix.errors import ArtifactError
from helix.reports.words import counted
from helix.runs import RunFiles


@dataclass(frozen=True, slots=True)
class _Job:
    """What a job of a sweep asked: requests to a judge, replies that were kept, its replicates."""

    number: int
    calls: int
    hits: int
    indices: frozenset[int]

    @property
    def idle(self) -> bool:
        """Whether every reply that it used had been drawn before."""
        return not self.calls and self.hits > 0


def warnings(folders: Sequence[Path]) -> Iterator[str]:
    """Yield what must be known of a sweep whose jobs, or some of them, only read the cache."""
    jobs = [job for number, folder in enumerate(folders, 1) if (job := _job(number, folder))]
    idle = [job for job in jobs if job.idle]
    if len(folders) < 2 or not idle:
        return
    again = [job for job in idle if any(_same(job, earlier) for earlier in jobs)]
    if len(idle) == len(jobs):
        hits = counted(sum(job.hits for job in jobs), "reply", "replies")
        yield f"Warning: this sweep drew no reply; all {hits} came from the cache."
    elif again:
        yield f"Warning: {_named(again)} drew no reply; all came from the cache."
    if again:
        yield (
            f"No repeats are in {_named(again)}, which read the draws of an earlier job: sweep "
            "with -m sampling.replicate_offset=0,1,2,3,4 to draw some."
        )
    elif len(idle) == len(jobs):
        yield "They count as the repeats that they were drawn as, each under its own index."


def _same(job: _Job, earlier: _Job) -> bool:
    return earlier.number < job.number and bool(job.indices & earlier.indices)


def _named(jobs: Sequence[_Job]) -> str:
    numbers = ", ".join(str(job.number) for job in jobs)
    return f"job {numbers}" if len(jobs) == 1 else f"jobs {numbers}"


def _job(number: int, folder: Path) -> _Job | None:
    """Return what a job asked; None for one without a scorecard, which is told elsewhere."""
    files = RunFiles(folder)
    with contextlib.suppress(ArtifactError, OSError):
        usage, sampling = files.scorecard().usage, files.plan().decides.get("sampling", {})
        first, count = sampling.get("replicate_offset", 0), sampling.get("replicates", 1)
        return _Job(number, usage.calls, usage.cache_hits, frozenset(range(first, first + count)))
    return None

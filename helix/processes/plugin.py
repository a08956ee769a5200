"""The executor that gives CPU work to other processes of this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

from helix.registry import Assignment, Executor, hookimpl


@hookimpl
def helix_register_executors(register: Callable[[Executor], None]) -> None:
    """Register the executor of many cores."""
    register(Executor("processes", "1", jobs=_jobs))


def _jobs(assignment: Assignment) -> AsyncIterator[Any]:
    """Read, check and word traces in `executor.workers` processes, as many as cores if null.

    Judges are asked by one process, which keeps limits, budget and cache. What is written is what
    `local` writes. Worth its start where code rows are decided over thousands of long traces.
    """
    from helix.processes.pool import Pool

    return Pool(assignment)

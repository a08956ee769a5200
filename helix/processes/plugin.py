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
    from helix.processes.pool import Pool

    return Pool(assignment)

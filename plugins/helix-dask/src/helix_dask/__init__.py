"""Helix over Dask: `executor=dask` carries a run out in shards, on workers of a cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

from helix.registry import Assignment, Executor, hookimpl

__all__ = ["helix_config_paths", "helix_register_executors"]


@hookimpl
def helix_register_executors(register: Callable[[Executor], None]) -> None:
    """Register the executor of a cluster."""
    register(Executor("dask", "1", jobs=_jobs))


@hookimpl
def helix_config_paths() -> list[str]:
    """Return the folder with `executor=dask`."""
    from pathlib import Path

    return [str(Path(__file__).with_name("conf"))]


def _jobs(assignment: Assignment) -> AsyncIterator[Any]:
    """Carry the run out in shards on workers of a Dask cluster, each worker asking its own judge.

    Without `executor.options.address` a cluster of `executor.workers` processes is started here.
    `executor.options.shards` is how many shards there are, four for each worker if it is not set;
    a worker that is lost costs the calls that were under way there. What is written is what `local`
    writes.
    """
    from helix_dask.jobs import Shards

    return Shards(assignment)

"""The built-in cache and executor, each imported when it is first opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from helix.errors import ConfigError
from helix.registry import CacheSettings, Executor, ReplyCache, hookimpl


@hookimpl
def helix_register_caches(register: Callable[[ReplyCache], None]) -> None:
    """Register the cache on disk."""
    register(ReplyCache("disk", "1", _open_disk))


@hookimpl
def helix_register_executors(register: Callable[[Executor], None]) -> None:
    """Register the executor of one machine."""
    register(Executor("local", "1", _drive))


def _open_disk(settings: CacheSettings) -> Any:
    """Keep replies in a SQLite database below `paths.state`, for as long as nobody prunes them."""
    from helix.engine.cache import open_cache

    if settings.config.options:
        given = ", ".join(settings.config.options)
        raise ConfigError(f"cache.options must be empty with cache.name=disk (got {given})")
    return open_cache(settings.state_dir)


async def _drive(*args: Any, **named: Any) -> None:
    """Carry the work out in this process, one event loop for all judges, `limits.concurrency` wide.

    The right one wherever a judge is waited for, and for runs of a few hundred traces.
    """
    from helix.engine.drive import drive

    await drive(*args, **named)

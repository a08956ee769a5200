"""Helix over Redis: `cache.name=redis` keeps replies where many machines find them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from helix.registry import CacheSettings, ReplyCache, hookimpl

__all__ = ["helix_register_caches"]


@hookimpl
def helix_register_caches(register: Callable[[ReplyCache], None]) -> None:
    """Register the cache in a Redis server."""
    register(ReplyCache("redis", "1", _open))


def _open(settings: CacheSettings) -> Any:
    from helix_redis.options import Options
    from helix_redis.store import RedisReplyCache

    return RedisReplyCache(Options.of(settings.config.options))

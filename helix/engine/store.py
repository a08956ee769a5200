"""The reply cache that a run's configuration names, opened, with its faults told as one kind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final

from helix.engine.asking import ReplyStore
from helix.errors import CacheError, HelixError
from helix.model.config import Config
from helix.model.request import Question, Reply, Request
from helix.redaction import redacted
from helix.registry import CacheSettings, Registry, ReplyCache

DISK: Final = "disk"


@contextlib.contextmanager
def open_store(config: Config, registry: Registry) -> Iterator[ReplyStore]:
    """Open the cache of `cache.name` for as long as the context lasts.

    Raises UnknownNameError for a name that nobody registered, and CacheError for whatever the cache
    raises: a reply that cannot be kept ends the run, since the next would be paid for in vain.
    """
    cache: ReplyCache = registry.get("caches", config.cache.name)
    with _told(cache.name):
        opened = cache.open(CacheSettings(config.cache, config.paths.state))
    with contextlib.closing(opened):
        yield _Store(cache.name, opened)


class _Store:
    def __init__(self, name: str, opened: Any) -> None:
        self._name, self._opened = name, opened

    def get(self, key: str) -> Reply | None:
        with _told(self._name):
            found: Reply | None = self._opened.get(key)
            return found

    def put(
        self,
        key: str,
        reply: Reply,
        *,
        instead_of: Reply | None = None,
        asked: Request | Question | None = None,
    ) -> Reply:
        with _told(self._name):
            stands: Reply = self._opened.put(key, reply, instead_of=instead_of, asked=asked)
            return stands


@contextlib.contextmanager
def _told(name: str) -> Iterator[None]:
    try:
        yield
    except HelixError:
        raise
    except Exception as error:
        why = redacted(f"{type(error).__name__}: {error}")
        raise CacheError(f"cache.name={name}: the reply cache cannot be used: {why}") from error

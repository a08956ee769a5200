"""The reply cache that a run's configuration names, opened, with its faults told as one kind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, Final

from helix.engine.asking import ReplyStore
from helix.engine.kept import Row
from helix.errors import CacheError, HelixError, UsageError
from helix.model.config import Config
from helix.model.request import Question, Reply, Request
from helix.redaction import redacted
from helix.registry import CacheSettings, Registry, ReplyCache

DISK: Final = "disk"
FOLDER: Final = "cache"
"""Where that cache lies below `paths.state`."""


def open_store(config: Config, registry: Registry) -> contextlib.AbstractContextManager[ReplyStore]:
    """Open the cache of `cache.name` for as long as the context lasts.

    Raises UnknownNameError for a name that nobody registered, and CacheError for whatever the cache
    raises: a reply that cannot be kept ends the run, since the next would be paid for in vain.
    """
    return open_named(CacheSettings(config.cache, config.paths.state), registry)


@contextlib.contextmanager
def open_named(settings: CacheSettings, registry: Registry) -> Iterator[Store]:
    """Open the cache that a section names, as `open_store` does."""
    cache: ReplyCache = registry.get("caches", settings.config.name)
    with _told(cache.name):
        opened = cache.open(settings)
    with contextlib.closing(opened):
        yield Store(cache.name, opened)


class Store:
    """An opened cache of whatever kind, whose faults are CacheErrors.

    `where` is the place that it tells, or its name.
    """

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

    @property
    def where(self) -> str:
        return str(getattr(self._opened, "where", f"cache.name={self._name}"))

    def rows(self) -> Iterator[Row]:
        """Yield every row, damaged ones too; UsageError where the cache cannot list them."""
        self._must("rows")
        with _told(self._name):
            yield from self._opened.rows()

    def remove(self, keys: Iterable[str]) -> int:
        """Remove replies by key, for good, and return how many were there."""
        self._must("remove")
        with _told(self._name):
            return int(self._opened.remove(keys))

    def _must(self, what: str) -> None:
        if not callable(getattr(self._opened, what, None)):
            raise UsageError(
                f"cache.name={self._name} has no {what}(), which helix cache needs to look after "
                "it; its replies are found by runs alone"
            )


@contextlib.contextmanager
def _told(name: str) -> Iterator[None]:
    try:
        yield
    except HelixError:
        raise
    except Exception as error:
        why = redacted(f"{type(error).__name__}: {error}")
        raise CacheError(f"cache.name={name}: the reply cache cannot be used: {why}") from error

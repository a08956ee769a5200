"""The reply cache: every complete reply that was paid for, as JSON text, first answer stands.

Only text is stored and only text is read: a row in any other form, a pickle among them, is an
error and is never decoded (CVE-2025-69872). Values live in the database, not in files beside it,
so that a reply is kept by one commit. Nothing is ever evicted.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import diskcache

from helix.engine.kept import Kept, decoded, encoded, from_cache
from helix.engine.store import FOLDER
from helix.errors import CacheError
from helix.files import keep_out_of_git
from helix.model.request import Question, Reply, Request

DATABASE = "cache.db"
LOCK_WAIT_S = 60.0
_PROBE = "0" * 64


class _TextDisk(diskcache.Disk):  # type: ignore[misc]
    """Keys and values are text in the database; anything else is refused, never unpickled."""

    def put(self, key: Any) -> tuple[str, bool]:
        return _text(key), True

    def get(self, key: Any, raw: Any) -> str:
        if not raw:
            raise CacheError("a key of the reply cache is not text; it was not read")
        return _text(key)

    def store(self, value: Any, read: Any, key: Any = None) -> tuple[int, int, None, str]:
        text = _text(value)
        return len(text), diskcache.core.MODE_RAW, None, text

    def fetch(self, mode: Any, filename: Any, value: Any, read: Any) -> str:
        if mode != diskcache.core.MODE_RAW or filename is not None:
            raise CacheError("an entry of the reply cache is not text; it was not read")
        return _text(value)

    def remove(self, file_path: Any) -> None:
        """Remove nothing: no entry has a file, so a row that names one is not Helix's."""


@dataclass(frozen=True, slots=True)
class CacheStats:
    """How many replies are kept, and the bytes of the database on disk."""

    replies: int
    bytes: int


class DiskReplyCache:
    """Replies by key in one SQLite database; processes may share it.

    Raises CacheError, with the folder and what to do, wherever the database fails.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(os.path.abspath(folder))
        text = str(self.folder)
        if os.path.expandvars(os.path.expanduser(text)) != text:
            raise CacheError(
                f"the reply cache cannot be in {text}: its path holds a variable; "
                "set paths.state to a folder without $ in its name"
            )
        with self._told():
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            self._cache = diskcache.Cache(
                text,
                timeout=LOCK_WAIT_S,
                disk=_TextDisk,
                eviction_policy="none",
                cull_limit=0,
                statistics=0,
                tag_index=0,
                sqlite_cache_size=2_000,
                sqlite_mmap_size=16 * 2**20,
            )
            self._probe()
        keep_out_of_git(self.folder)

    def get(self, key: str) -> Reply | None:
        """Return the kept reply, marked as from the cache, or None."""
        with self._told():
            text = self._cache.get(key)
        return None if text is None else self._decoded(key, text)

    def put(
        self,
        key: str,
        reply: Reply,
        *,
        instead_of: Reply | None = None,
        asked: Request | Question | None = None,
    ) -> Reply:
        """Keep a reply and return the one that stands: another's, if it was there first.

        `instead_of` is the kept reply that this one replaces, if it still stands. What was `asked`
        is noted beside the reply, so that it can become a recording.
        """
        text = encoded(reply, asked)
        if not (self.folder / DATABASE).exists():
            raise CacheError(
                f"the reply cache in {self.folder} is gone: it was removed or moved during the "
                "run; put it back, or type the same command to begin a new one"
            )
        with self._told():
            if instead_of is None:
                if self._cache.add(key, text):
                    return reply
                standing = self._cache.get(key)
            else:
                with self._cache.transact():
                    standing = self._cache.get(key)
                    if standing is None or self._decoded(key, standing) == from_cache(instead_of):
                        self._cache.set(key, text)
                        return reply
        return reply if standing is None else self._decoded(key, standing)

    def entries(self) -> Iterator[tuple[str, Reply, Question | None]]:
        """Yield key, reply and what it answers, in the order in which they were kept.

        The question is None where an earlier version kept the reply without it.
        """
        with self._told():
            keys = list(self._cache)
        for key in keys:
            with self._told():
                text = self._cache.get(key)
            if text is not None:
                row = self._row(key, text)
                yield key, from_cache(row.reply), row.asked

    def stats(self) -> CacheStats:
        """Return how much is kept."""
        with self._told():
            return CacheStats(replies=len(self._cache), bytes=self._cache.volume())

    def remove(self, keys: Iterable[str]) -> int:
        """Remove replies by key, for good, and return how many were there."""
        with self._told():
            return sum(bool(self._cache.delete(key)) for key in keys)

    def close(self) -> None:
        """Close the database; the cache cannot be used afterwards."""
        self._cache.close()

    def __enter__(self) -> DiskReplyCache:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def _probe(self) -> None:
        with self._cache.transact():
            self._cache.set(_PROBE, "{}")
            read = self._cache.get(_PROBE)
            self._cache.delete(_PROBE)
        if read != "{}":
            raise CacheError("what is written to the reply cache does not come back")

    def _decoded(self, key: str, text: str) -> Reply:
        return from_cache(self._row(key, text).reply)

    def _row(self, key: str, text: str) -> Kept:
        try:
            return decoded(text)
        except (ValueError, RecursionError) as error:
            raise CacheError(
                f"reply {key} in {self.folder} is damaged: {error}; "
                f"to ask again, move the folder {self.folder} away"
            ) from None

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except CacheError as error:
            raise CacheError(
                f"{error}: {self.folder} is not Helix's own; move it away and run again"
            ) from None
        # A damaged table of settings sets any attribute of diskcache's to anything.
        except (sqlite3.DatabaseError, TypeError, AttributeError, ValueError) as error:
            raise CacheError(
                f"the reply cache in {self.folder} cannot be used: {error}; "
                + _what_to_do(error, self.folder)
            ) from error
        except diskcache.Timeout as error:
            raise CacheError(
                f"the reply cache in {self.folder} cannot be written: it is locked by another "
                "process, read-only, or its disk is full; set paths.state to another folder"
            ) from error
        except OSError as error:
            raise CacheError(
                f"the reply cache in {self.folder} cannot be opened: {error.strerror or error}; "
                "set paths.state to a folder that can be written"
            ) from error


def _what_to_do(error: Exception, folder: Path) -> str:
    """Return what mends a fault of the database, by SQLite's own name of it."""
    name = str(getattr(error, "sqlite_errorname", ""))
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        return (
            "make room on its disk, or set paths.state to another; the same command goes on, and "
            "asks for nothing that was kept"
        )
    if name.startswith(("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_CANTOPEN")):
        return f"make it writable (chmod -R u+rwX {folder}) or set paths.state; then run it again"
    return (
        f"if it is damaged, move the folder away (mv {folder} {folder}.damaged; kept replies are "
        "asked again) or set paths.state"
    )


def open_cache(state_dir: str) -> DiskReplyCache:
    """Return the reply cache of a state folder, made on first use with mode 0700."""
    return DiskReplyCache(Path(state_dir) / FOLDER)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise CacheError(f"the reply cache holds text only (got {type(value).__name__})")
    return value

"""Looking after a reply cache: read every row, bring replies together, remove by rule.

Rows are read through a connection that cannot write, one at a time, so that neither the size of a
cache nor a damaged row keeps the others from being read. Nothing here chooses between replies:
the one that stands goes on standing, and a conflict is told.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from helix.engine.asking import ReplyStore
from helix.engine.cache import DATABASE, DiskReplyCache, open_cache
from helix.engine.kept import Row, read_row
from helix.engine.store import FOLDER, Store, open_named
from helix.errors import CacheError, UsageError
from helix.model.canonical import canonical_bytes, digest_bytes
from helix.model.request import Question, Reply, Usage
from helix.registry import CacheSettings, Registry

_ROWS = """
SELECT key, value, store_time,
       typeof(key) = 'text' AND typeof(value) = 'text' AND filename IS NULL
FROM Cache ORDER BY rowid
"""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two replies that say different things under one key: the digest of each."""

    key: str
    stands: str
    refused: str


@dataclass(slots=True)
class Merged:
    """What came of bringing replies together; `left_out` are damaged or cannot be placed."""

    added: int = 0
    present: int = 0
    conflicts: list[Conflict] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Rule:
    """What may go; what is given must all hold, and what is not known of a reply keeps it.

    `before` is a time in seconds, `model` the pinned one, `used` whether runs may need a question.
    """

    before: float | None = None
    model: str | None = None
    used: Callable[[Question], bool] | None = None

    def removes(self, row: Row) -> bool | None:
        """Whether a row may go; None where it does not say what the rule asks for."""
        if self.before is not None:
            if row.stored is None:
                return None
            if row.stored >= self.before:
                return False
        if self.model is None and self.used is None:
            return True
        asked = row.kept.asked if row.kept else None
        if asked is None:
            return None
        if self.model is not None and asked.pin.model != self.model:
            return False
        return self.used is None or not self.used(asked)


@dataclass(slots=True)
class Pruned:
    """What a rule names: the keys and their bytes, how many stay, and how many do not say."""

    keys: list[str] = field(default_factory=list)
    bytes: int = 0
    stay: int = 0
    unknown: int = 0


def rows(folder: Path) -> Iterator[Row]:
    """Yield every row of a cache as it was kept, damaged ones too; nothing where there is none.

    Raises CacheError where the database itself is damaged.
    """
    if not (folder / DATABASE).is_file():
        return
    with _reading(folder) as database:
        for key, value, stored, is_text in database.execute(_ROWS):
            name = key.decode("utf-8", "backslashreplace") if type(key) is bytes else repr(key)
            size = len(value) if type(value) is bytes else 0
            if not is_text:
                yield Row(name, size, stored, None, "it is not text")
            else:
                yield read_row(name, value, stored)


def check(folder: Path) -> None:
    """Raise CacheError where the structure of the database is damaged."""
    if not (folder / DATABASE).is_file():
        return
    with _reading(folder) as database:
        found = b"; ".join(row[0] for row in database.execute("PRAGMA quick_check(3)"))
    if found != b"ok":
        raise CacheError(_broken(folder, found.decode("utf-8", "replace")))


def merge(into: ReplyStore, others: Iterable[Row], merged: Merged) -> None:
    """Keep what is missing by key; what stands under a key stands, and a conflict is noted."""
    for row in others:
        if row.kept is None:
            merged.left_out.append(f"{row.key}: {row.fault}")
            continue
        reply, asked = row.kept.reply, row.kept.asked
        before = into.get(row.key)
        stands = into.put(row.key, reply, asked=asked) if before is None else before
        if before is None and stands is reply:
            merged.added += 1
        elif (ours := said(stands)) == (theirs := said(reply)):
            merged.present += 1
        else:
            merged.conflicts.append(Conflict(row.key, ours, theirs))


def prune(rows: Iterable[Row], rule: Rule) -> Pruned:
    """Return what a rule names; damaged rows stay, since it is not known what they are."""
    found = Pruned()
    for row in rows:
        goes = rule.removes(row) if row.kept is not None else None
        if goes:
            found.keys.append(row.key)
            found.bytes += row.bytes
        else:
            found.stay += 1
            found.unknown += goes is None
    return found


def said(reply: Reply) -> str:
    """Return the digest of what a reply says: neither its price nor the name of the draw."""
    plain = msgspec.structs.replace(reply, usage=Usage(), draw=None, source="live")
    return digest_bytes(canonical_bytes(msgspec.to_builtins(plain)))


@dataclass(frozen=True, slots=True)
class Of:
    """What replies are grouped by in the statistics; None where a reply does not say."""

    role: str | None
    model: str | None


@dataclass(slots=True)
class Tally:
    """What is kept: rows, the bytes of their text, how many are damaged, the first and last time.

    `by` counts those that can be read by role and model.
    """

    replies: int = 0
    bytes: int = 0
    damaged: int = 0
    first: float | None = None
    last: float | None = None
    by: Counter[Of] = field(default_factory=Counter)


def tally(found: Iterable[Row]) -> Tally:
    """Count rows; a time is None where no row says when it was kept."""
    told = Tally()
    for row in found:
        told.replies += 1
        told.bytes += row.bytes
        if row.stored is not None:
            told.first = row.stored if told.first is None else min(told.first, row.stored)
            told.last = row.stored if told.last is None else max(told.last, row.stored)
        if row.kept is None:
            told.damaged += 1
            continue
        asked = row.kept.asked
        told.by[Of(asked.unit.role, asked.pin.model) if asked else Of(None, None)] += 1
    return told


@contextlib.contextmanager
def _reading(folder: Path) -> Iterator[sqlite3.Connection]:
    uri = f"{(folder / DATABASE).absolute().as_uri()}?mode=ro"
    try:
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as database:
            database.text_factory = bytes
            yield database
    except sqlite3.Error as error:
        raise CacheError(_broken(folder, str(error))) from error


def _broken(folder: Path, why: str) -> str:
    return (
        f"the reply cache in {folder} cannot be read: {why}; if it is damaged, move the folder "
        f"away (mv {folder} {folder}.damaged), and kept replies are asked again"
    )


@dataclass(frozen=True, slots=True)
class OnDisk:
    """The cache of a state folder, which is not made where there is none yet."""

    state: str

    @property
    def where(self) -> str:
        return str(Path(self.state) / FOLDER)

    def check(self) -> None:
        """Raise CacheError where the structure of the database is damaged."""
        check(Path(self.where))

    def rows(self) -> Iterator[Row]:
        """Yield every row, damaged ones too; nothing where there is no cache."""
        return rows(Path(self.where))

    def open(self) -> contextlib.AbstractContextManager[DiskReplyCache]:
        """Open it to be changed, made on first use."""
        return open_cache(self.state)


@dataclass(frozen=True, slots=True)
class Shared:
    """A plugin's cache, by its name and options."""

    settings: CacheSettings
    registry: Registry

    @property
    def where(self) -> str:
        with self.open() as store:
            return store.where

    def check(self) -> None:
        """Nothing is known of its structure."""

    def rows(self) -> Iterator[Row]:
        """Yield every row, damaged ones too."""
        with self.open() as store:
            yield from store.rows()

    def open(self) -> contextlib.AbstractContextManager[Store]:
        """Open it, as a run would."""
        return open_named(self.settings, self.registry)


Cache = OnDisk | Shared


def another(state: str | Path, into: Cache) -> Path:
    """Return the cache of a state folder, or a cache that is named itself, to merge from.

    Raises UsageError where there is none, and for the cache to merge into.
    """
    folder = Path(state)
    folder = folder if (folder / DATABASE).is_file() else folder / FOLDER
    if not (folder / DATABASE).is_file():
        raise UsageError(
            f"helix cache merge takes state folders with a reply cache (got {state}, where there "
            f"is no {FOLDER}/{DATABASE})"
        )
    if isinstance(into, OnDisk) and folder.resolve() == Path(into.where).resolve():
        raise UsageError(f"helix cache merge takes other caches than the one of --state ({state})")
    return folder

"""The conformance suite of reply caches."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import msgspec

from helix.engine.kept import Kept
from helix.model.config import CacheConfig
from helix.model.request import Pin, Question, Reply, Unit, Usage
from helix.registry import CacheSettings, ReplyCache
from helix.testing import sample
from helix.testing.contract import require, require_item

_WHOLE = Reply(
    'a "reply" \0 with \ud800 and é\n',
    finish_reason="length",
    returned_model="m-1",
    reasoning="thought",
    usage=Usage(1, None, 3),
    effective={"temperature": None},
    made_by="m",
    draw="d",
)
_ASKED = Question(
    unit=Unit("judge", "trajectory", "t", "d" * 64, ("c",), "c" * 64, 0),
    nonce="n" * 32,
    pin=Pin("backend", "m-1", "who", extra={"top_k": 1}),
    prompt="p" * 64,
)


def cache_conforms(item: ReplyCache, settings: CacheSettings | None = None) -> None:
    """Require that a cache keeps replies as they came, that the first stands, and nothing is lost.

    One that offers `rows`, for `helix cache`, must list what it keeps, and `remove` it by key.
    `settings` is what it is opened with, of a store that is empty; without it that is a new state
    folder, and no option.
    """
    who = require_item("caches", item)
    with sample.folder() as scratch:
        given = settings or CacheSettings(CacheConfig(name=item.name), str(scratch / "state"))

        @contextlib.contextmanager
        def opened() -> Any:
            with contextlib.closing(item.open(given)) as store:
                yield store

        _keeps(who, opened)
        _lets_the_first_stand(who, opened)
        _replaces(who, opened)
        with opened() as store:
            if hasattr(store, "rows"):
                _lists(who, store)


def _keeps(who: str, opened: Callable[[], Any]) -> None:
    key = "a" * 64
    with opened() as store:
        require(store.get(key) is None, f"{who}: what was never put must be None")
        require(store.put(key, _WHOLE) == _WHOLE, f"{who}: put must return the reply that stands")
    kept = msgspec.structs.replace(_WHOLE, source="cache")
    with opened() as store:
        found = store.get(key)
        require(found is not None, f"{who} loses a reply when it is closed and opened again")
        require(found == kept, f"{who} gives back another reply than it was given (got {found})")
        require(store.get("b" * 64) is None, f"{who} answers for a key that was never put")


def _lets_the_first_stand(who: str, opened: Callable[[], Any]) -> None:
    key = "c" * 64
    with opened() as one, opened() as other:
        one.put(key, Reply("first"))
        stands = other.put(key, Reply("second"))
        require(
            stands == Reply("first", source="cache"),
            f"{who}: put must return the reply that was there first, as from the cache",
        )
        require(one.get(key).text == "first", f"{who}: a later reply takes the place of the first")


def _replaces(who: str, opened: Callable[[], Any]) -> None:
    key = "d" * 64
    with opened() as store:
        store.put(key, Reply("broken"))
        broken = store.get(key)
        store.put(key, Reply("better"), instead_of=broken)
        require(
            store.get(key).text == "better", f"{who}: instead_of must replace the reply it names"
        )
        store.put(key, Reply("late"), instead_of=broken)
        require(
            store.get(key).text == "better",
            f"{who}: instead_of must replace nothing once another reply stands",
        )


def _lists(who: str, store: Any) -> None:
    key = "e" * 64
    store.put(key, _WHOLE, asked=_ASKED)
    found = sorted(store.rows(), key=lambda row: row.key)
    keys = [row.key for row in found]
    wanted = [digit * 64 for digit in "acde"]
    require(keys == wanted, f"{who}: rows must yield each row once (got {keys})")
    row = found[-1]
    require(row.kept is not None, f"{who}: rows calls a reply damaged that get returns")
    require(
        row.kept == Kept(_WHOLE, _ASKED),
        f"{who}: rows must yield a reply and what was asked as they were put (got {row.kept})",
    )
    require(row.bytes > 0, f"{who}: rows must say of how many bytes a row is")
    gone = store.remove([key, "f" * 64])
    require(gone == 1, f"{who}: remove must return how many replies were there (got {gone})")
    require(store.get(key) is None, f"{who}: remove must remove a reply")
    require(store.get("a" * 64) is not None, f"{who}: remove removes other replies than it names")

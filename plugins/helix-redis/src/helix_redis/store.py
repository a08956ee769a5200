"""Replies under `prefix + key` in a Redis server: text as on disk, first answer stands."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import uuid4

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from helix.engine.kept import Kept, Row, decoded, encoded, from_cache, read_row
from helix.errors import CacheError
from helix.model.request import Question, Reply, Request
from helix.redaction import redacted
from helix.reports.visible import one_line
from helix_redis.faults import told, unsuited
from helix_redis.options import Options

_PROBE, _PROBE_MS = b"probe:", 60_000
_AT_ONCE, _TOLD = 1_000, 1_000


class RedisReplyCache:
    """A connection to one server and the replies below its prefix; machines may share them.

    Raises CacheError, with the address and what to type, wherever the server fails.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._client = redis.Redis(
            **options.where(),
            db=options.db,
            username=options.username,
            password=options.password(),
            socket_timeout=options.timeout,
            socket_connect_timeout=options.timeout,
            # A connection that the server let go of is opened again once; then it is a fault.
            retry=Retry(NoBackoff(), 1),
            # The older protocol: an ACL need not allow HELLO.
            protocol=2,
        )
        try:
            self._look()
            self._probe()
        except BaseException:
            self.close()
            raise

    def get(self, key: str) -> Reply | None:
        """Return the kept reply, marked as from the cache, or None."""
        with self._told(key):
            data = self._client.get(self._name(key))
        return None if data is None else self._reply(key, data)

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
        data = encoded(reply, asked).encode("ascii")
        with self._told(key):
            if instead_of is None:
                stands = self._first(key, data)
            else:
                stands = self._replaced(key, data, instead_of)
        # A write whose answer was lost is sent again, and then finds itself.
        return reply if stands is None or stands == data else self._reply(key, stands)

    @property
    def where(self) -> str:
        """The server and the database, as they are told."""
        return f"{self._options.address} (db {self._options.db})"

    def rows(self) -> Iterator[Row]:
        """Yield every row in the order of keys, damaged ones too; the server notes no times."""
        begin = len(self._options.prefix)
        pattern = re.sub(r"([*?\[\]\\^-])", r"\\\1", self._options.prefix) + "*"
        with self._told():
            found = set(self._client.scan_iter(match=pattern, count=_AT_ONCE))
        names = sorted(name for name in found if not name[begin:].startswith(_PROBE))
        for at in range(0, len(names), _AT_ONCE):
            batch = names[at : at + _AT_ONCE]
            with self._told():
                values: Any = self._client.mget(batch)
            for name, value in zip(batch, values, strict=True):
                key = name[begin:].decode("utf-8", "backslashreplace")
                if value is not None:
                    yield read_row(key, value)
                elif self._is_there(name):
                    yield Row(key, 0, None, None, "it is not text")

    def remove(self, keys: Iterable[str]) -> int:
        """Remove replies by key, for good, and return how many were there."""
        names, gone = list(map(self._name, keys)), 0
        for at in range(0, len(names), _AT_ONCE):
            with self._told():
                gone += int(self._client.delete(*names[at : at + _AT_ONCE]))  # type: ignore[arg-type]
        return gone

    def close(self) -> None:
        """Close the connections; the cache cannot be used afterwards."""
        self._client.close()

    def _first(self, key: str, data: bytes) -> Any:
        """Keep data where nothing is; return what is there instead, if anything is."""
        while not self._client.set(self._name(key), data, nx=True):
            # It may be removed before it is read; then this one can stand.
            if (standing := self._client.get(self._name(key))) is not None:
                return standing
        return None

    def _replaced(self, key: str, data: bytes, instead_of: Reply) -> Any:
        """Put data in the place of a reply; return what is there if that is another one."""
        name, named = self._name(key), from_cache(instead_of)
        with self._client.pipeline() as pipe:
            while True:
                try:
                    pipe.watch(name)
                    standing: Any = pipe.get(name)
                    if standing is not None and self._reply(key, standing) != named:
                        return standing
                    pipe.multi()
                    pipe.set(name, data)
                    pipe.execute()
                    return None
                except redis.WatchError:
                    continue

    def _look(self) -> None:
        """Refuse a server that is known to lose replies; one that says nothing is tried."""
        with self._told(), contextlib.suppress(redis.exceptions.NoPermissionError):
            why = unsuited(dict(self._client.info()), self._options)  # type: ignore[arg-type]
            if why is not None:
                raise CacheError(self._about(why))

    def _probe(self) -> None:
        """Do once all that a run will do, under a name that nobody else uses."""
        key, first, second = f"{_PROBE.decode()}{uuid4().hex}", Reply("first"), Reply("second")
        with self._told(key):
            kept = self._client.set(
                self._name(key), encoded(first, None).encode("ascii"), nx=True, px=_PROBE_MS
            )
        self.put(key, second, instead_of=first)
        found = self.get(key)
        with self._told(key):
            gone = self._client.delete(self._name(key))
        if not (kept and gone) or found != from_cache(second):
            raise CacheError(self._about("what is written to it does not come back"))

    def _is_there(self, name: bytes) -> bool:
        with self._told():
            return bool(self._client.exists(name))

    def _name(self, key: str) -> str:
        return self._options.prefix + key

    def _reply(self, key: str, data: bytes) -> Reply:
        return from_cache(self._row(key, data).reply)

    def _row(self, key: str, data: bytes) -> Kept:
        try:
            return decoded(data.decode("ascii"))
        except (ValueError, RecursionError) as error:
            raise CacheError(
                self._about(
                    f"reply {key} is damaged: {error}; to ask again, type redis-cli -n "
                    f"{self._options.db} DEL {self._name(key)}"
                )
            ) from None

    @contextlib.contextmanager
    def _told(self, key: str | None = None) -> Iterator[None]:
        try:
            yield
        except redis.RedisError as error:
            name = None if key is None else self._name(key)
            raise CacheError(self._about(told(error, self._options, name))) from None

    def _about(self, text: str) -> str:
        """Return a fault with the place that it is at, on one line and without the password."""
        whole = f"the reply cache at {self.where}: {text}"
        return one_line(redacted(whole, self._options.password_env), _TOLD)

"""How a request is answered: by the cache, by the same request in flight, or by the backend."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, TypeVar

import msgspec

from helix.engine.limits import Limits, wait_before
from helix.engine.meter import Meter
from helix.engine.pace import Told, pause
from helix.errors import BackendError, HelixError, PinError
from helix.model.request import (
    NoReply,
    Pending,
    Question,
    Reply,
    ReplySource,
    Request,
    Unavailable,
    Unit,
)
from helix.redaction import redacted, redacted_in
from helix.registry import Backend, Judge

A = TypeVar("A", Reply | NoReply, Reply | NoReply | Unavailable)
_STOPPED = NoReply("unavailable", "nobody waited for this any more, so it was not asked")
_TOLD = 500
_LOOKED_BACK = 64


def _unheard(what: str, seconds: float) -> None:
    """Tell nobody what a request waits for."""


class ReplyStore(Protocol):
    """A cache of replies by key, as `helix.engine.cache.DiskReplyCache` is one."""

    def get(self, key: str) -> Reply | None: ...

    def put(
        self,
        key: str,
        reply: Reply,
        *,
        instead_of: Reply | None = None,
        asked: Request | Question | None = None,
    ) -> Reply: ...


@dataclass(slots=True)
class _Flight:
    """One request on its way, and how many wait for it."""

    task: asyncio.Task[Reply | NoReply]
    waiting: int = 0


class Asker:
    """Answers the requests of one role; an async context manager that opens its backend.

    A reply is kept before it is used, and identical requests in flight are asked once. Retries
    happen only where the backend says that asking again may help, and after a missed deadline.
    `usable` (for `cache.refresh=unusable`) says whether a kept reply may stand; one that may not
    is asked again, once a run. Backends that are not cacheable replay: no cache, no limits but the
    deadline. An asker serves one run.
    """

    def __init__(
        self,
        judge: Judge,
        backend: Backend,
        limits: Limits,
        *,
        store: ReplyStore | None = None,
        usable: Callable[[Request, Reply], bool] | None = None,
    ) -> None:
        self._judge, self._backend, self._limits = judge, backend, limits
        self._store = store if judge.cacheable else None
        self._usable = usable
        self._drawn: set[str] = set()
        self._flights: dict[str, _Flight] = {}
        self._draws: dict[tuple[str, str], int] = {}
        self._stopped = asyncio.Event()

    async def __aenter__(self) -> Asker:
        try:
            self._backend = await self._backend.__aenter__()
        except HelixError:
            raise
        except Exception as error:
            raise BackendError(
                f"judge backend '{self._judge.name}' could not be opened: {_told(error)}"
            ) from error
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.stop()
        try:
            if self._flights:
                await asyncio.wait([flight.task for flight in self._flights.values()])
        finally:
            await self._backend.__aexit__(kind, error, at)

    def stop(self) -> None:
        """Start no further attempt; those in flight end, and their replies are kept."""
        self._stopped.set()

    @property
    def meter(self) -> Meter:
        """What the run has used so far."""
        return self._limits.meter

    async def ask(self, request: Request, told: Told = _unheard) -> Reply | NoReply:
        """Return the reply, or why there is none in this run.

        `told` hears what is waited for and for how many seconds: a rate limit, a retry. Raises
        Pending where a task now waits for its answer, and CacheError, PinError or BackendError
        where no further request can be served.
        """
        if not self._judge.cacheable:
            return await self._attempts(request, request.recording_key, None, told)
        key = request.cache_key(self._judge.protocol)
        flight = self._flights.get(key)
        if flight is not None:
            self.meter.shared += 1
            return _from(await self._landed(flight), "shared")
        kept = self._store.get(key) if self._store else None
        if kept is not None and self._stands(key, request, kept):
            self.meter.cache_hits += 1
            return kept
        return await self._landed(self._launch(key, request, kept, told))

    def _stands(self, key: str, request: Request, kept: Reply) -> bool:
        if self._usable is None or key in self._drawn or self._usable(request, kept):
            return True
        self._drawn.add(key)
        return False

    def _launch(self, key: str, request: Request, stale: Reply | None, told: Told) -> _Flight:
        async def fly() -> Reply | NoReply:
            try:
                answer = await self._attempts(request, key, flight, told)
                if isinstance(answer, Reply) and (other := self._drawn_as(request, answer)):
                    return other
                if self._store is not None and isinstance(answer, Reply):
                    return self._store.put(key, answer, instead_of=stale, asked=request)
                return answer
            finally:
                del self._flights[key]

        flight = self._flights[key] = _Flight(asyncio.create_task(fly()))
        # An exception is looked at here too, since all who waited for it may be gone.
        flight.task.add_done_callback(lambda task: task.cancelled() or task.exception())
        return flight

    def _drawn_as(self, request: Request, reply: Reply) -> NoReply | None:
        """Return why a reply is no repeat: it was drawn under another replicate (METHOD 73).

        A cache between here and the model gives one answer twice. Kept replies are looked at too,
        since the repeats of a sweep are drawn by one run each.
        """
        if reply.draw is None:
            return None
        own = request.unit.replicate
        known = (msgspec.structs.replace(request, unit=_plain(request)).recording_key, reply.draw)
        first = self._draws.setdefault(known, own)
        if first == own and self._store is not None:
            first = next(self._kept_as(request, reply.draw), own)
        if first == own:
            return None
        return NoReply(
            "judge-error",
            f"the answer to replicate {own} is the one to replicate {first} ('{reply.draw}'): one "
            "draw is one repeat; turn off the cache between Helix and the model",
        )

    def _kept_as(self, request: Request, draw: str) -> Iterator[int]:
        """Yield the earlier replicates, the nearest ones, under which a draw is kept."""
        own = request.unit.replicate
        for at in range(max(0, own - _LOOKED_BACK), own):
            unit = msgspec.structs.replace(request.unit, replicate=at)
            asked = msgspec.structs.replace(request, unit=unit)
            kept = self._store.get(asked.cache_key(self._judge.protocol)) if self._store else None
            if kept is not None and kept.draw == draw:
                yield at

    async def _landed(self, flight: _Flight) -> Reply | NoReply:
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1

    async def _attempts(
        self, request: Request, key: str, flight: _Flight | None, told: Told
    ) -> Reply | NoReply:
        pace = self._limits.pace(request.pin)
        tried = counted = 0
        while True:
            answer = await self._attempt(request, flight, told)
            if isinstance(answer, Reply | NoReply):
                return answer
            tried += 1
            # What is refused because many ask is no fault of the question: it is asked by fewer.
            counted += not (answer.rate_limited and pace.admitted > 1)
            if not answer.retry or counted > self._limits.config.retries:
                times = f" (tried {tried} times)" if tried > 1 else ""
                return NoReply(answer.cause, answer.text + times)
            seconds = wait_before(tried, key, answer.retry_after)
            if too_long := pace.too_long(seconds):
                return NoReply(answer.cause, f"{answer.text} ({too_long})")
            told("rate limit" if answer.rate_limited else "retry", seconds)
            await pause(seconds, self._stopped)

    async def _attempt(
        self, request: Request, flight: _Flight | None, told: Told
    ) -> Reply | NoReply | Unavailable:
        if flight is None:
            answer = _STOPPED if self._stopped.is_set() else await self._call(request)
            self.meter.recorded += isinstance(answer, Reply)
            return _from(answer, "recorded")
        pace = self._limits.pace(request.pin)
        try:
            async with pace.turn(self._stopped, told) as began, self._limits.slots:
                answer = await self._paid(request, flight)
                pace.heard(answer, began)
                return answer
        except Unavailable as error:
            return error

    async def _paid(self, request: Request, flight: _Flight) -> Reply | NoReply | Unavailable:
        """Call within the budget, unless nobody waits for it any more."""
        if self._stopped.is_set() or not flight.waiting:
            return _STOPPED
        budget = self._limits.budget
        hold = await budget.reserve(request, self._judge.price)
        if isinstance(hold, str):
            return NoReply("budget", hold)
        answer: Reply | NoReply | Unavailable | None = None
        try:
            if self._stopped.is_set() or not flight.waiting:
                return _STOPPED
            self.meter.calls += 1
            answer = await self._call(request)
            return answer
        finally:
            budget.settle(hold, answer)

    async def _call(self, request: Request) -> Reply | NoReply | Unavailable:
        deadline = self._limits.config.deadline_s
        try:
            async with asyncio.timeout(deadline) as limit:
                reply: object = await self._backend.ask(request)
        except Unavailable as error:
            error.text = redacted(error.text)
            return error
        except (Pending, BackendError, PinError):
            raise
        except (Exception, SystemExit) as error:
            if isinstance(error, TimeoutError) and limit.expired():
                text = f"no answer within limits.deadline_s={deadline:g}"
                return Unavailable(text, "timeout", retry=True)
            return NoReply("judge-error", _told(error))
        if not isinstance(reply, Reply):
            text = f"backend '{self._judge.name}' must return Reply (got {type(reply).__name__})"
            return NoReply("judge-error", text)
        try:
            # What is recorded already stays as it is.
            plain = msgspec.to_builtins(reply)
            told = redacted_in(plain) if self._judge.cacheable else plain
            return msgspec.convert(told, Reply)
        except (msgspec.ValidationError, TypeError, ValueError) as error:
            named = f"backend '{self._judge.name}' returned no sound Reply: {error}"
            return NoReply("judge-error", redacted(named)[:_TOLD])


def _plain(request: Request) -> Unit:
    """Return what a request is about, whichever repeat of it it is."""
    return msgspec.structs.replace(request.unit, replicate=0)


def _from(answer: A, source: ReplySource) -> A:
    return msgspec.structs.replace(answer, source=source) if isinstance(answer, Reply) else answer


def _told(error: BaseException) -> str:
    return redacted(f"{type(error).__name__}: {error}")[:_TOLD]

"""How fast one provider is asked: less when it says too often, slowly more when it answers.

A refusal for asking too often halves the share of `limits.concurrency` and `limits.rate` that is
used (once for all attempts that were under way), an answer adds a little of it back; a provider
that named a time to wait is left alone by everybody for that long.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable

from helix.model.config import LimitsConfig
from helix.model.request import NoReply, Reply, Unavailable

LEAST_SHARE = 1 / 16
ROUNDS_TO_RECOVER = 8
Told = Callable[[str, float], None]


class Pace:
    """Admits the attempts at one provider."""

    def __init__(self, limits: LimitsConfig) -> None:
        self._most, self._rate, self._unit_s = limits.concurrency, limits.rate, limits.unit_s
        self._share, self._running = 1.0, 0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._quiet_until = self._next = self._eased = 0.0

    @property
    def admitted(self) -> int:
        """How many attempts may run at once now."""
        return max(1, int(self._most * self._share))

    def too_long(self, seconds: float) -> str | None:
        """Return the sentence that says that no unit can wait that long, None where one can."""
        if seconds <= self._unit_s:
            return None
        bound = f"limits.unit_s={self._unit_s:g}"
        return f"the provider asked to be left alone for longer than {bound}"

    @contextlib.asynccontextmanager
    async def turn(self, stopped: asyncio.Event, told: Told) -> AsyncIterator[float]:
        """Wait for room and for the time to ask; yield when the attempt began.

        Once `stopped` is set nobody waits for a time any more: what follows must look at it.
        Raises Unavailable where the provider is to be left alone for longer than a unit may take.
        """
        await self._room()
        try:
            await self._time(stopped, told)
            yield _now()
        finally:
            self._running -= 1
            self._wake()

    def heard(self, answer: Reply | NoReply | Unavailable, began: float) -> None:
        """Take in how an attempt ended."""
        now = _now()
        if isinstance(answer, Reply):
            step = max(self._most, ROUNDS_TO_RECOVER) * self.admitted
            self._share = min(1.0, self._share + 1 / step)
            self._wake()
        if not isinstance(answer, Unavailable):
            return
        if answer.retry_after is not None:
            self._quiet_until = max(self._quiet_until, now + answer.retry_after)
        if answer.rate_limited and began >= self._eased:
            self._share = max(self._share / 2, min(1 / self._most, LEAST_SHARE))
            self._eased = now

    async def _room(self) -> None:
        if self._running < self.admitted and not self._queue:
            self._running += 1
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(waiter)
        try:
            await waiter
        except BaseException:
            if waiter.done() and not waiter.cancelled():
                self._running -= 1
                self._wake()
            raise

    def _wake(self) -> None:
        while self._queue and self._running < self.admitted:
            waiter = self._queue.popleft()
            if not waiter.done():
                self._running += 1
                waiter.set_result(None)

    async def _time(self, stopped: asyncio.Event, told: Told) -> None:
        turn = self._claim()
        while not stopped.is_set():
            now = _now()
            if too_long := self.too_long(self._quiet_until - now):
                raise Unavailable(too_long)
            if now < turn:
                if self._quiet_until > now:
                    told("rate limit", turn - now)
                await pause(turn - now, stopped)
            elif now < self._quiet_until:
                turn = self._claim()
            else:
                return

    def _claim(self) -> float:
        """Return the time of the next attempt, a gap after the one before where a rate is set."""
        turn = max(_now(), self._next, self._quiet_until)
        if self._rate is not None:
            self._next = turn + 1 / (self._rate * self._share)
        return turn


async def pause(seconds: float, stopped: asyncio.Event) -> None:
    """Wait some seconds, or until the run is stopped."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stopped.wait()


def _now() -> float:
    return asyncio.get_running_loop().time()

"""Bounds on what a run may do at once, how often it tries, and how much it spends."""

from __future__ import annotations

import asyncio
from types import TracebackType

from helix.engine.meter import Meter
from helix.model.canonical import digest_bytes
from helix.model.config import LimitsConfig

FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 60.0
_MICRO = 1_000_000
_UNKNOWN = "usage was not recorded, so the budget cannot be kept"


def share_of(limits: LimitsConfig, index: int, count: int) -> LimitsConfig:
    """Return one shard's part of what a run may spend and of its rate; all parts make the whole."""

    def part(whole: int | None) -> int | None:
        return None if whole is None else whole // count + (index < whole % count)

    changes = {
        "max_calls": part(limits.max_calls),
        "max_tokens": part(limits.max_tokens),
        "max_cost_usd": None if limits.max_cost_usd is None else limits.max_cost_usd / count,
        "rate": None if limits.rate is None else limits.rate / count,
    }
    return limits if count == 1 else limits.model_copy(update=changes)


class Budget:
    """The hard budget of a run, shared by judge and verifier.

    A call is reserved before it is made. Tokens and money are known only afterwards: no call
    starts once what was recorded has reached the bound, or a reply did not record what is bounded.
    """

    def __init__(self, limits: LimitsConfig, meter: Meter) -> None:
        self._limits, self._meter = limits, meter
        self._reserved = 0

    def reserve(self) -> str | None:
        """Reserve one call; return None, or the sentence that says which bound forbids it."""
        limits, meter = self._limits, self._meter
        if limits.max_calls is not None and self._reserved >= limits.max_calls:
            return f"limits.max_calls={limits.max_calls} is spent"
        if limits.max_tokens is not None:
            used = (meter.prompt_tokens, meter.completion_tokens)
            tokens = sum(tally.total for tally in used)
            if tokens >= limits.max_tokens:
                return f"limits.max_tokens={limits.max_tokens} is spent ({tokens} recorded)"
            if any(tally.unrecorded for tally in used):
                return f"limits.max_tokens={limits.max_tokens}: {_UNKNOWN}"
        if limits.max_cost_usd is not None:
            micro = meter.cost_micro_usd.total
            if micro >= limits.max_cost_usd * _MICRO:
                spent = micro / _MICRO
                return f"limits.max_cost_usd={limits.max_cost_usd} is spent ({spent} recorded)"
            if meter.cost_micro_usd.unrecorded:
                return f"limits.max_cost_usd={limits.max_cost_usd}: {_UNKNOWN}"
        self._reserved += 1
        return None


class Throttle:
    """Admits attempts: at most `concurrency` at once, and `rate` a second where one is set."""

    def __init__(self, limits: LimitsConfig) -> None:
        self._slots = asyncio.Semaphore(limits.concurrency)
        self._gap = 0.0 if limits.rate is None else 1 / limits.rate
        self._next = 0.0

    async def __aenter__(self) -> None:
        await self._slots.acquire()
        try:
            await self._wait_for_turn()
        except BaseException:
            self._slots.release()
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._slots.release()

    async def _wait_for_turn(self) -> None:
        if not self._gap:
            return
        now = asyncio.get_running_loop().time()
        turn = max(now, self._next)
        self._next = turn + self._gap
        if turn > now:
            await asyncio.sleep(turn - now)


def wait_before(attempt: int, key: str, retry_after: float | None) -> float:
    """Return the seconds to wait before attempt 1, 2, … of a request.

    Exponential, capped, between half and the whole of it by a hash of the key, so that a run is
    repeatable and requests spread out. A provider's Retry-After is a floor and is not capped.
    """
    whole: float = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** (attempt - 1))
    share = int(digest_bytes(key.encode(), str(attempt).encode())[:8], 16) / 0xFFFFFFFF
    return max(whole * (0.5 + share / 2), retry_after or 0.0)


class Limits:
    """The bounds of one run and what it used so far, shared by all who ask in it."""

    def __init__(self, config: LimitsConfig | None = None) -> None:
        self.config = config or LimitsConfig()
        self.meter = Meter()
        self.budget = Budget(self.config, self.meter)
        self.throttle = Throttle(self.config)

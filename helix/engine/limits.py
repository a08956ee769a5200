"""Bounds on what a run may do at once, how often it tries, and how much it spends."""

from __future__ import annotations

import asyncio

from helix.engine.budget import Budget
from helix.engine.meter import Meter
from helix.engine.pace import Pace
from helix.model.canonical import digest_bytes
from helix.model.config import LimitsConfig
from helix.model.request import Pin

FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 60.0


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


def wait_before(attempt: int, key: str, retry_after: float | None) -> float:
    """Return the seconds to wait before attempt 1, 2, … of a request.

    Exponential, capped, between half and the whole of it by a hash of the key, so that a run is
    repeatable and requests spread out. A provider's Retry-After is a floor and is not capped.
    """
    whole: float = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** (attempt - 1))
    share = int(digest_bytes(key.encode(), str(attempt).encode())[:8], 16) / 0xFFFFFFFF
    return max(whole * (0.5 + share / 2), retry_after or 0.0)


class Limits:
    """The bounds of one run and what it used so far, shared by all who ask in it.

    `slots` bounds what is under way at all providers together; each has a pace of its own.
    """

    def __init__(self, config: LimitsConfig | None = None) -> None:
        self.config = config or LimitsConfig()
        self.meter = Meter()
        self.budget = Budget(self.config, self.meter)
        self.slots = asyncio.Semaphore(self.config.concurrency)
        self._paces: dict[tuple[str, str, str | None], Pace] = {}

    def pace(self, pin: Pin) -> Pace:
        """Return the pace of the pin's provider: judge and verifier of one model share it."""
        key = (pin.backend, pin.model, pin.base_url)
        if key not in self._paces:
            self._paces[key] = Pace(self.config)
        return self._paces[key]

"""What the engine's tests ask with: requests, askers, and a clock that skips waits."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Generator, Iterable
from dataclasses import replace
from typing import Any, TypeVar

import msgspec

from helix.backends.scripted import Scripted
from helix.engine.asking import Asker
from helix.engine.drive import Job, Outcome, drive
from helix.engine.limits import Limits
from helix.model.config import LimitsConfig
from helix.model.request import Message, NoReply, Pin, Reply, Request, Unit
from helix.registry import Judge

T = TypeVar("T")

SCRIPTED = Judge("scripted", "1", 1, lambda settings: Scripted(str))
REPLAYING = replace(SCRIPTED, name="replaying", cacheable=False)
PIN = Pin(backend="scripted", model="scripted-1", identity="judge")


def request(number: int = 0, *, text: str = "", role: Any = "judge") -> Request:
    """A request about trace `number`; equal arguments make equal requests."""
    unit = Unit(role, "trajectory", f"t{number}", f"d{number}", ("a", "b"), "c", 0)
    return Request(unit, PIN, (Message("user", text or f"Trace {number}."),), "n")


def pinned(**changes: Any) -> Request:
    """The request about trace 0 with another pin."""
    return msgspec.structs.replace(request(), pin=msgspec.structs.replace(PIN, **changes))


def asker(
    script: Callable[[Request], Any], *, judge: Judge = SCRIPTED, **named: Any
) -> tuple[Asker, Limits]:
    """An asker whose backend is the function, and its limits; limits are given by their keys."""
    options = {key: named.pop(key) for key in ("store", "usable") if key in named}
    limits = named.pop("limits", None) or Limits(LimitsConfig(**named))
    return Asker(judge, Scripted(script), limits, **options), limits


def job(number: int, *requests: Request) -> Job[list[Reply | NoReply]]:
    """A job that asks the requests one after the other and returns the answers."""

    def steps() -> Generator[Request, Reply | NoReply, list[Reply | NoReply]]:
        answers = []
        for one in requests:
            answers.append((yield one))
        return answers

    return Job(number, f"job {number}", steps)


class _Skipping(selectors.DefaultSelector):
    """A selector that never sleeps for a timer: it moves its loop's clock instead."""

    def __init__(self) -> None:
        super().__init__()
        self.skipped = 0.0

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            return super().select(None)
        self.skipped += max(timeout, 0.0)
        return super().select(0)


class SkippingLoop(asyncio.SelectorEventLoop):
    """An event loop in which timers are due at once and in order; for coroutine scripts only."""

    def __init__(self) -> None:
        self._skipping = _Skipping()
        super().__init__(self._skipping)

    def time(self) -> float:
        return self._skipping.skipped


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end without waiting for timers."""
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        return runner.run(main)


async def ask_all(asker: Asker, requests: Iterable[Request]) -> list[Reply | NoReply]:
    """Ask all requests at once and return the answers in order."""
    async with asker:
        return list(await asyncio.gather(*(asker.ask(one) for one in requests)))


async def driven(
    jobs: Iterable[Job[Any]], asker: Asker, *, concurrency: int = 4, unit_s: float = 240.0
) -> list[Outcome[Any]]:
    """Drive jobs with one asker for all roles and return the outcomes in order of the plan."""
    done: list[Outcome[Any]] = []
    async with asker:
        await drive(
            jobs,
            {"judge": asker, "verifier": asker},
            concurrency=concurrency,
            unit_s=unit_s,
            on_done=done.append,
        )
    return sorted(done, key=lambda outcome: outcome.job.ordinal)

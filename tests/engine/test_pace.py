"""How fast a provider is asked: less when it says too often, slowly more when it answers."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import msgspec
import pytest
from asked import PIN, ask_all, asker, request, run

from helix.engine.limits import Limits
from helix.model.config import LimitsConfig
from helix.model.request import NoReply, Pin, Reply, Request, Unavailable

TOO_OFTEN = Unavailable("429", retry=True, rate_limited=True)


class Provider:
    """A judge that notes when each request came and how many were there at once."""

    def __init__(self, answer: Any, takes: float = 1.0) -> None:
        self.answer, self.takes = answer, takes
        self.came: list[tuple[float, str]] = []
        self.running = 0
        self.at_once: list[int] = []

    async def __call__(self, asked: Request) -> Any:
        self.running += 1
        number = len(self.came) + 1
        self.at_once.append(self.running)
        self.came.append((asyncio.get_running_loop().time(), asked.unit.trace_id))
        try:
            await asyncio.sleep(self.takes)
            said = self.answer(number, asked)
        finally:
            self.running -= 1
        if isinstance(said, Exception):
            raise said
        return said

    def function(self) -> Any:
        """The provider as a coroutine function."""

        async def judge(asked: Request) -> Any:
            return await self(asked)

        return judge


def test_a_provider_that_allows_four_at_once_is_soon_asked_by_about_four() -> None:
    provider: Provider

    def answer(number: int, asked: Request) -> Any:
        return TOO_OFTEN if provider.running > 4 else "yes"

    provider = Provider(answer)
    one, limits = asker(provider.function(), concurrency=32, retries=0)
    answers = run(ask_all(one, [request(n) for n in range(400)]))
    assert all(isinstance(a, Reply) for a in answers)
    later = provider.at_once[200:]
    assert max(later) <= 9
    assert sum(later) / len(later) > 2
    assert limits.meter.calls < 700


def test_a_provider_that_refuses_everybody_is_soon_given_up() -> None:
    provider = Provider(lambda number, asked: TOO_OFTEN)
    one, _ = asker(provider.function(), concurrency=8, retries=2)
    answers = run(ask_all(one, [request(n) for n in range(8)]))
    assert {a.cause for a in answers if isinstance(a, NoReply)} == {"unavailable"}
    assert len(provider.came) <= 8 * 6


def test_refusals_of_attempts_that_were_under_way_together_count_once() -> None:
    limits = Limits(LimitsConfig(concurrency=32))
    provider = Provider(lambda number, asked: TOO_OFTEN if number <= 32 else "yes")
    one, _ = asker(provider.function(), limits=limits, retries=2)
    admitted: list[int] = []

    async def main() -> None:
        async with one:
            asked = [asyncio.create_task(one.ask(request(n))) for n in range(32)]
            await asyncio.sleep(1.1)
            admitted.append(limits.pace(PIN).admitted)
            await asyncio.gather(*asked)

    run(main())
    assert admitted == [16]


def test_answers_win_the_whole_limit_back() -> None:
    provider = Provider(lambda number, asked: TOO_OFTEN if number == 1 else "yes")
    one, limits = asker(provider.function(), concurrency=8)
    run(ask_all(one, [request(0)]))
    after = limits.pace(PIN).admitted
    again, _ = asker(provider.function(), limits=limits)
    run(ask_all(again, [request(n) for n in range(1, 60)]))
    assert (after, limits.pace(PIN).admitted) == (4, 8)


def test_a_rate_that_is_set_is_halved_too_and_wins_back() -> None:
    provider = Provider(lambda number, asked: TOO_OFTEN if number == 1 else "yes", takes=0.0)
    one, _ = asker(provider.function(), rate=10.0, concurrency=1, retries=1)
    run(ask_all(one, [request(n) for n in range(40)]))
    times = [time for time, _ in provider.came]
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert max(gaps) == pytest.approx(0.2, abs=0.05)
    assert gaps[-1] == pytest.approx(0.1, abs=0.001)


def test_a_provider_that_named_a_time_is_left_alone_by_everybody_for_that_long() -> None:
    slow_down = Unavailable("busy", retry=True, retry_after=30.0, rate_limited=True)
    provider = Provider(lambda number, asked: slow_down if number == 1 else "yes")
    one, _ = asker(provider.function(), concurrency=2)
    answers = run(ask_all(one, [request(n) for n in range(6)]))
    assert all(isinstance(a, Reply) for a in answers)
    # The first two came together; the first was refused after a second.
    assert [time < 1 for time, _ in provider.came] == [True] * 2 + [False] * 5
    assert min(time for time, _ in provider.came[2:]) >= 31.0


def test_another_provider_is_asked_meanwhile() -> None:
    other = msgspec.structs.replace(PIN, model="another")
    busy = Unavailable("busy", retry=True, retry_after=60.0)
    provider = Provider(
        lambda number, asked: busy if asked.pin.model == PIN.model and number < 3 else "yes"
    )
    one, _ = asker(provider.function(), concurrency=4)
    requests = [request(0), *(_pinned(other, n) for n in range(1, 9))]
    run(ask_all(one, requests))
    assert [name for time, name in provider.came if time > 59] == ["t0"]


def _pinned(pin: Pin, number: int) -> Request:
    return msgspec.structs.replace(request(number), pin=pin)


def test_judge_and_verifier_of_one_model_keep_one_pace() -> None:
    limits = Limits(LimitsConfig())
    same = msgspec.structs.replace(PIN, identity="verifier")
    assert limits.pace(PIN) is limits.pace(same)
    assert limits.pace(PIN) is not limits.pace(msgspec.structs.replace(PIN, base_url="http://x"))


def test_a_time_longer_than_a_unit_may_take_is_not_waited_for() -> None:
    provider = Provider(lambda number, asked: Unavailable("over", retry=True, retry_after=3_600.0))
    one, limits = asker(provider.function(), concurrency=1, unit_s=240.0)
    first, second = run(ask_all(one, [request(0), request(1)]))
    told = "the provider asked to be left alone for longer than limits.unit_s=240"
    assert first == NoReply("unavailable", f"over ({told})")
    assert second == NoReply("unavailable", told)
    assert limits.meter.calls == 1


def test_what_is_waited_for_is_told() -> None:
    says = [Unavailable("down", retry=True), Unavailable("slow", retry=True, retry_after=9.0), "y"]
    provider = Provider(lambda number, asked: says[number - 1])
    heard: list[tuple[str, int]] = []

    async def main() -> None:
        async with asker(provider.function())[0] as one:
            await one.ask(request(), lambda what, seconds: heard.append((what, round(seconds))))

    run(main())
    assert [what for what, _ in heard] == ["retry", "retry"]
    assert heard[1] == ("retry", 9)


def test_a_stop_ends_the_wait_for_a_time() -> None:
    busy = Unavailable("busy", retry=True, retry_after=100.0, rate_limited=True)
    provider = Provider(lambda number, asked: busy)
    one, _ = asker(provider.function(), concurrency=1)

    async def main() -> tuple[float, list[Any]]:
        loop = asyncio.get_running_loop()
        async with one:
            asked = asyncio.gather(*(one.ask(request(n)) for n in range(3)))
            await asyncio.sleep(5)
            one.stop()
            answers = await asked
        return loop.time(), answers

    ended, answers = run(main())
    assert ended < 10
    assert [a.cause for a in answers] == ["unavailable"] * 3
    assert len(provider.came) == 1


def test_no_place_is_lost_when_those_who_wait_go_away() -> None:
    provider = Provider(lambda number, asked: "yes")
    one, _ = asker(provider.function(), concurrency=1)

    async def main() -> Any:
        async with one:
            tasks = [asyncio.create_task(one.ask(request(n))) for n in range(5)]
            await asyncio.sleep(0.5)
            for task in tasks[1:4]:
                task.cancel()
            return await tasks[4]

    assert isinstance(run(main()), Reply)
    # A request that nobody waits for any more is not made.
    assert [name for _, name in provider.came] == ["t0", "t4"]

"""The hard budget: what a call may take is reserved before it, what it took is settled after."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import msgspec
import pytest
from asked import PIN, SCRIPTED, ask_all, asker, request, run
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.engine.limits import Limits, share_of
from helix.model.config import LimitsConfig
from helix.model.request import NoReply, Price, Reply, Request, Unavailable, Usage
from helix.registry import Judge

SMALL = msgspec.structs.replace(PIN, max_tokens=20)
PRICED = dataclasses.replace(SCRIPTED, price=lambda pin: Price(prompt=10.0, completion=50.0))


def small(number: int, *, role: Any = "judge", text: str = "") -> Request:
    """The request about trace `number`, its answer bounded to 20 tokens."""
    return msgspec.structs.replace(request(number, role=role, text=text), pin=SMALL)


def said(usage: Usage, takes: float = 1.0) -> Any:
    """A judge that answers with this usage."""

    async def judge(asked: Request) -> Reply:
        await asyncio.sleep(takes)
        return Reply("yes", usage=usage)

    return judge


def refusals(answers: list[Reply | NoReply]) -> list[str]:
    """What the budget said."""
    return [a.text for a in answers if isinstance(a, NoReply) and a.cause == "budget"]


@pytest.mark.parametrize(
    ("bound", "text"),
    [
        (
            {"max_tokens": 300},
            "limits.max_tokens=300 leaves 60, and the next call may take 120: 100 for the prompt, "
            "20 for the answer",
        ),
        ({"max_tokens": 240}, "limits.max_tokens=240 is spent (240 recorded)"),
        (
            {"max_cost_usd": 0.005},
            "limits.max_cost_usd=0.005 leaves 0.001000, and the next call may cost 0.002000",
        ),
        ({"max_cost_usd": 0.004}, "limits.max_cost_usd=0.004 is spent (0.004 recorded)"),
    ],
)
def test_a_call_that_may_pass_the_bound_is_not_made(bound: dict[str, Any], text: str) -> None:
    one, limits = asker(said(Usage(100, 20, 2_000)), concurrency=1, **bound)
    answers = run(ask_all(one, [small(n) for n in range(4)]))
    assert refusals(answers) == [text] * 2
    assert limits.meter.calls == 2
    assert limits.meter.totals().prompt_tokens == 200


def test_without_max_tokens_an_answer_is_reserved_at_its_usual_bound() -> None:
    one, limits = asker(said(Usage(10, 20)), max_tokens=4_000)
    answers = run(ask_all(one, [request()]))
    (text,) = refusals(answers)
    assert text.endswith("the next call may take 4098: 2 for the prompt, 4096 for the answer")
    assert limits.meter.calls == 0


def test_a_call_that_may_not_fit_waits_for_those_under_way_to_take_less() -> None:
    # Each may take 22 + 20 and takes 2: one by one they fit until less than a whole call is left.
    one, limits = asker(said(Usage(1, 1)), max_tokens=60, concurrency=8)
    answers = run(ask_all(one, [small(n, text=f"{n:02}".ljust(88, "x")) for n in range(30)]))
    assert limits.meter.calls == 10
    assert len(refusals(answers)) == 20
    assert limits.meter.totals().prompt_tokens == 10


def test_until_a_price_is_seen_calls_go_one_at_a_time() -> None:
    at_once: list[int] = []
    running = 0

    async def judge(asked: Request) -> Reply:
        nonlocal running
        running += 1
        at_once.append(running)
        await asyncio.sleep(1)
        running -= 1
        return Reply("yes", usage=Usage(2, 2, 40))

    one, _ = asker(judge, max_cost_usd=1.0, concurrency=4)
    run(ask_all(one, [small(n) for n in range(9)]))
    assert at_once == [1, 1, 2, 3, 4, 1, 2, 3, 4]


def test_a_price_that_the_backend_knows_is_reserved_from_the_first_call_on() -> None:
    one, limits = asker(said(Usage(2, 20, 1_020)), judge=PRICED, max_cost_usd=0.0025)
    answers = run(ask_all(one, [small(n) for n in range(4)]))
    assert limits.meter.calls == 2
    assert (
        refusals(answers)
        == ["limits.max_cost_usd=0.0025 leaves 0.000460, and the next call may cost 0.001020"] * 2
    )


def test_judge_and_verifier_spend_one_budget() -> None:
    shared = Limits(LimitsConfig(max_tokens=100))
    judge, _ = asker(said(Usage(2, 20)), limits=shared)
    verifier, _ = asker(said(Usage(2, 20)), limits=shared)

    async def main() -> list[Reply | NoReply]:
        first = await ask_all(judge, [small(n) for n in range(3)])
        return first + await ask_all(verifier, [small(n, role="verifier") for n in range(3)])

    answers = run(main())
    assert [isinstance(answer, Reply) for answer in answers] == [True] * 4 + [False] * 2
    assert shared.meter.calls == 4


@pytest.mark.parametrize(
    ("fault", "calls"),
    [
        (Unavailable("busy", retry=True, rate_limited=True), 20),
        (Unavailable("down", retry=True), 20),
        (Unavailable("no answer in time", "timeout", retry=True), 4),
        (Unavailable("cut off", retry=True, billed=True), 4),
        (ValueError("the reply has no choices"), 4),
    ],
)
def test_what_a_call_without_a_reply_may_have_cost_stays_reserved(
    fault: Exception, calls: int
) -> None:
    async def judge(asked: Request) -> Reply:
        raise fault

    one, limits = asker(judge, max_tokens=100, retries=1, concurrency=1)
    run(ask_all(one, [small(n) for n in range(10)]))
    assert limits.meter.calls == calls


def test_a_deadline_that_was_missed_before_a_price_was_seen_is_paid_at_that_price() -> None:
    async def judge(asked: Request) -> Reply:
        await asyncio.sleep(99 if asked.unit.trace_id == "t0" else 1)
        return Reply("yes", usage=Usage(2, 20, 22_000))

    one, limits = asker(judge, max_cost_usd=0.05, deadline_s=5, retries=0, concurrency=1)
    answers = run(ask_all(one, [small(n) for n in range(4)]))
    assert [type(a) for a in answers] == [NoReply, Reply, NoReply, NoReply]
    assert limits.meter.calls == 2
    assert refusals(answers)[0].startswith("limits.max_cost_usd=0.05 leaves 0.006000")


def test_after_a_stop_what_waits_for_the_budget_is_not_asked() -> None:
    one, limits = asker(said(Usage(2, 2, 40)), max_cost_usd=1.0)

    async def main() -> list[Reply | NoReply]:
        async with one:
            asked = asyncio.gather(*(one.ask(small(n)) for n in range(3)))
            await asyncio.sleep(0.5)
            one.stop()
            return await asked

    answers = run(main())
    assert [type(a) for a in answers] == [Reply, NoReply, NoReply]
    assert refusals(answers) == []
    assert limits.meter.calls == 1


calls = st.tuples(st.integers(1, 200), st.integers(0, 50), st.integers(0, 20), st.integers(0, 3))


@settings(max_examples=60, deadline=None)
@given(
    asked=st.lists(calls, max_size=25),
    concurrency=st.integers(1, 8),
    bound=st.sampled_from(["max_tokens", "max_cost_usd", "max_calls"]),
    most=st.integers(0, 400),
)
def test_no_bound_is_ever_passed_by_calls_that_keep_to_their_estimates(
    asked: list[tuple[int, int, int, int]], concurrency: int, bound: str, most: int
) -> None:
    async def judge(one: Request) -> Reply:
        size, prompt, answer, takes = asked[int(one.unit.trace_id[1:])]
        await asyncio.sleep(takes)
        prompt = min(prompt, -(-size // 4))
        return Reply("yes", usage=Usage(prompt, answer, prompt * 10 + answer * 50))

    value = most / 10_000 if bound == "max_cost_usd" else most
    judge_item: Judge = PRICED
    one, limits = asker(judge, judge=judge_item, concurrency=concurrency, **{bound: value})
    requests = [small(n, text=f"{n}".ljust(size, "x")) for n, (size, *_) in enumerate(asked)]
    answers = run(ask_all(one, requests))
    used = limits.meter
    spent = {
        "max_tokens": used.prompt_tokens.total + used.completion_tokens.total,
        "max_cost_usd": used.cost_micro_usd.total / 1_000_000,
        "max_calls": used.calls,
    }
    assert spent[bound] <= value
    assert len(answers) == len(asked)
    assert all(isinstance(a, Reply) or a.cause == "budget" for a in answers)


def test_shards_share_a_budget_without_losing_a_call() -> None:
    whole = LimitsConfig(max_calls=10, max_tokens=1_001, max_cost_usd=0.9, rate=6.0)
    parts = [share_of(whole, index, 3) for index in range(3)]
    assert [part.max_calls for part in parts] == [4, 3, 3]
    assert sum(part.max_tokens or 0 for part in parts) == 1_001
    assert sum(part.max_cost_usd or 0 for part in parts) == pytest.approx(0.9)
    assert [part.rate for part in parts] == [2.0] * 3

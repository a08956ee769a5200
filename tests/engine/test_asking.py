"""How requests are answered: cache, single flight, retries, budget, deadline."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from asked import REPLAYING, ask_all, asker, request, run

from helix.engine.cache import open_cache
from helix.engine.limits import wait_before
from helix.errors import BackendError, PinError
from helix.model.request import NoReply, Pending, Reply, Request, Unavailable, Usage


class Script:
    """A judge that says each thing in turn (the last for ever) and notes what it was asked."""

    def __init__(self, *says: Any, takes: float = 0.0) -> None:
        self.says, self.takes = list(says), takes
        self.asked: list[str] = []
        self.times: list[float] = []
        self.at_once = self.most_at_once = 0

    async def __call__(self, request: Request) -> Any:
        said = self.says.pop(0) if len(self.says) > 1 else self.says[0]
        self.asked.append(request.unit.trace_id)
        self.times.append(asyncio.get_running_loop().time())
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(self.takes)
        finally:
            self.at_once -= 1
        if isinstance(said, BaseException):
            raise said
        return said

    def function(self) -> Any:
        """The script as a coroutine function."""

        async def judge(request: Request) -> Any:
            return await self(request)

        return judge


BUSY = Unavailable("busy", retry=True)


def test_a_reply_is_kept_before_it_is_used_and_asked_once(tmp_path: Path) -> None:
    script = Script("yes", takes=1)
    with open_cache(str(tmp_path)) as store:
        first, limits = asker(script.function(), store=store)
        (said,) = run(ask_all(first, [request()]))
        assert said == Reply("yes", "stop", source="live")
        again, later = asker(script.function(), store=store)
        (kept,) = run(ask_all(again, [request()]))
    assert kept == Reply("yes", "stop", source="cache")
    assert script.asked == ["t0"]
    assert (limits.meter.calls, limits.meter.cache_hits) == (1, 0)
    assert (later.meter.calls, later.meter.cache_hits) == (0, 1)


def test_identical_requests_in_flight_are_asked_once() -> None:
    script = Script("yes", takes=1)
    one, limits = asker(script.function())
    answers = run(ask_all(one, [request(), request(), request(1)]))
    assert [a.source for a in answers if isinstance(a, Reply)] == ["live", "shared", "live"]
    assert script.asked == ["t0", "t1"]
    assert (limits.meter.calls, limits.meter.shared) == (2, 1)


def test_one_who_stops_waiting_does_not_stop_the_others() -> None:
    script = Script("yes", takes=5)

    async def main() -> Reply | NoReply:
        async with asker(script.function())[0] as one:
            impatient = asyncio.create_task(one.ask(request()))
            patient = asyncio.create_task(one.ask(request()))
            await asyncio.sleep(1)
            impatient.cancel()
            return await patient

    assert isinstance(run(main()), Reply)
    assert script.asked == ["t0"]


def test_a_reply_that_nobody_waits_for_any_more_is_still_kept(tmp_path: Path) -> None:
    with open_cache(str(tmp_path)) as store:

        async def main() -> None:
            async with asker(Script("yes", takes=5).function(), store=store)[0] as one:
                task = asyncio.create_task(one.ask(request()))
                await asyncio.sleep(1)
                task.cancel()

        run(main())
        assert store.get(request().cache_key(1)) is not None


@pytest.mark.parametrize(
    ("says", "calls", "answer"),
    [
        ([BUSY, BUSY, "yes"], 3, "yes"),
        ([BUSY], 4, "unavailable: busy (tried 4 times)"),
        ([Unavailable("no key")], 1, "unavailable: no key"),
        ([Unavailable("refused", "refusal")], 1, "refusal: refused"),
        ([ValueError("odd")], 1, "judge-error: ValueError: odd"),
        ([TimeoutError("its own")], 1, "judge-error: TimeoutError: its own"),
        ([17], 1, "judge-error: TypeError: the script must return Reply, str or dict (got int)"),
        (
            [Reply(text=5)],  # type: ignore[arg-type]
            1,
            "judge-error: backend 'scripted' returned no sound Reply: Expected `str`, got `int` - "
            "at `$.text`",
        ),
        (["", "never asked"], 1, ""),
    ],
)
def test_a_request_is_tried_again_only_where_that_may_help(
    says: list[Any], calls: int, answer: str
) -> None:
    script = Script(*says)
    one, limits = asker(script.function(), retries=3)
    (said,) = run(ask_all(one, [request()]))
    assert (said.text if isinstance(said, Reply) else f"{said.cause}: {said.text}") == answer
    assert len(script.asked) == limits.meter.calls == calls


def test_failures_are_never_kept_and_malformed_replies_are(tmp_path: Path) -> None:
    with open_cache(str(tmp_path)) as store:
        script = Script(Unavailable("down"), ValueError("odd"), "{not json", Reply("", "refusal"))
        one, _ = asker(script.function(), store=store)
        run(ask_all(one, [request(0), request(1), request(2), request(3)]))
        kept = [store.get(request(n).cache_key(1)) for n in range(4)]
    assert [reply and reply.text for reply in kept] == [None, None, "{not json", ""]
    assert kept[3] and kept[3].finish_reason == "refusal"


@pytest.mark.parametrize("attempt", [1, 2, 3, 9])
def test_waits_grow_are_capped_and_are_the_same_every_time(attempt: int) -> None:
    whole = min(60.0, 2.0 ** (attempt - 1))
    waits = [wait_before(attempt, key, None) for key in ("a", "b", "c")]
    assert waits == [wait_before(attempt, key, None) for key in ("a", "b", "c")]
    assert all(whole / 2 <= wait <= whole for wait in waits)
    assert len(set(waits)) == 3
    assert wait_before(attempt, "a", 90.0) == 90.0


def test_a_providers_retry_after_is_waited_for() -> None:
    script = Script(Unavailable("slow down", retry=True, retry_after=30.0), "yes")
    run(ask_all(asker(script.function())[0], [request()]))
    assert script.times[1] - script.times[0] == pytest.approx(30.0)


def test_calls_beyond_the_budget_are_not_made_and_retries_count() -> None:
    script = Script(BUSY, "yes", takes=1)
    one, limits = asker(script.function(), max_calls=3, concurrency=1)
    answers = run(ask_all(one, [request(n) for n in range(4)]))
    assert limits.meter.calls == len(script.asked) == 3
    refused = [a for a in answers if isinstance(a, NoReply)]
    assert refused == [NoReply("budget", "limits.max_calls=3 is spent")] * 2


@pytest.mark.parametrize("unknown", [{"max_tokens": 9_000}, {"max_cost_usd": 0.5}])
@pytest.mark.parametrize(
    "reply",
    [
        Reply("yes"),
        Reply("yes", usage=Usage(prompt_tokens=3, cost_micro_usd=None)),
        Reply("yes", usage=Usage(-3, -1, -9)),
    ],
)
def test_a_budget_that_cannot_be_kept_stops_after_the_reply_that_recorded_nothing(
    unknown: dict[str, Any], reply: Reply
) -> None:
    one, limits = asker(Script(reply).function(), concurrency=1, **unknown)
    answers = run(ask_all(one, [request(n) for n in range(3)]))
    ((key, bound),) = unknown.items()
    text = f"limits.{key}={bound}: usage was not recorded, so the budget cannot be kept"
    assert answers[1:] == [NoReply("budget", text)] * 2
    assert limits.meter.calls == 1


@pytest.mark.parametrize("fault", [ValueError, Unavailable])
def test_no_complaint_of_a_judge_holds_a_secret_of_the_environment(
    fault: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESK_TOKEN", "planted-0123456789")

    def judge(asked: Request) -> Reply:
        raise fault("https://desk/?t=planted-0123456789 is not there")

    (answer,) = run(ask_all(asker(judge)[0], [request()]))
    assert isinstance(answer, NoReply)
    assert answer.text.endswith("https://desk/?t=[DESK_TOKEN] is not there")


def test_no_reply_that_is_kept_holds_a_secret_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DESK_TOKEN", "planted-0123456789")
    told = "you sent planted-0123456789"
    said = Reply(told, "stop", told, told, effective={"headers": [told]}, made_by=told)
    with open_cache(str(tmp_path)) as store:
        one, _ = asker(Script(said).function(), store=store)
        (answer,) = run(ask_all(one, [request()]))
        kept = [reply for _, reply, _ in store.entries()]
    clean = "you sent [DESK_TOKEN]"
    wanted = Reply(clean, "stop", clean, clean, effective={"headers": [clean]}, made_by=clean)
    assert answer == wanted
    assert kept == [msgspec.structs.replace(wanted, source="cache")]


def test_a_judge_that_exits_ends_its_own_question_and_nothing_else() -> None:
    async def judge(asked: Request) -> str:
        if asked.unit.trace_id == "t0":
            sys.exit(0)
        return "yes"

    one, _ = asker(judge)
    first, second = run(ask_all(one, [request(0), request(1)]))
    assert first == NoReply("judge-error", "SystemExit: 0")
    assert isinstance(second, Reply)


def test_a_sum_beside_a_call_that_may_have_been_billed_without_a_reply_is_none() -> None:
    async def judge(asked: Request) -> Reply:
        await asyncio.sleep(99 if asked.unit.trace_id == "t0" else 1)
        return Reply("yes", usage=Usage(2, 20, 40))

    one, limits = asker(judge, deadline_s=5, retries=0)
    run(ask_all(one, [request(0), request(1)]))
    totals = limits.meter.totals()
    assert (totals.calls, limits.meter.prompt_tokens.total) == (2, 2)
    assert (totals.prompt_tokens, totals.completion_tokens, totals.cost_micro_usd) == (
        None,
        None,
        None,
    )


def test_a_sum_over_a_reply_that_recorded_nothing_is_none_and_not_what_the_others_add_up_to() -> (
    None
):
    script = Script(Reply("a", usage=Usage(2, 1)), Reply("b", usage=Usage(prompt_tokens=7)))
    one, limits = asker(script.function())
    run(ask_all(one, [request(0), request(1)]))
    totals = limits.meter.totals()
    assert (totals.prompt_tokens, totals.completion_tokens, totals.cost_micro_usd) == (
        9,
        None,
        None,
    )
    assert (limits.meter.completion_tokens.total, limits.meter.completion_tokens.unrecorded) == (
        1,
        1,
    )


def test_an_attempt_has_a_deadline_and_is_tried_again() -> None:
    script = Script("yes", takes=30)
    one, limits = asker(script.function(), deadline_s=10, retries=1)
    (answer,) = run(ask_all(one, [request()]))
    text = "no answer within limits.deadline_s=10 (tried 2 times)"
    assert answer == NoReply("timeout", text)
    assert limits.meter.calls == 2


@pytest.mark.parametrize("concurrency", [1, 3])
def test_no_more_attempts_run_at_once_than_the_limit(concurrency: int) -> None:
    script = Script("yes", takes=1)
    one, _ = asker(script.function(), concurrency=concurrency)
    run(ask_all(one, [request(n) for n in range(10)]))
    assert script.most_at_once == concurrency


def test_attempts_keep_the_rate() -> None:
    script = Script("yes")
    run(ask_all(asker(script.function(), rate=2.0)[0], [request(n) for n in range(5)]))
    gaps = [after - before for before, after in zip(script.times, script.times[1:], strict=False)]
    assert gaps == pytest.approx([0.5] * 4, abs=1e-3)


def test_a_task_that_waits_is_told_to_all_who_asked_for_it() -> None:
    async def main() -> list[Any]:
        async with asker(Script(Pending("k1"), takes=1).function())[0] as one:
            tasks = [one.ask(request()), one.ask(request())]
            return await asyncio.gather(*tasks, return_exceptions=True)

    found = run(main())
    assert [type(one) for one in found] == [Pending, Pending]


@pytest.mark.parametrize("error", [PinError("another model"), BackendError("gone")])
def test_what_no_unit_can_absorb_is_raised(error: Exception) -> None:
    with pytest.raises(type(error)):
        run(ask_all(asker(Script(error).function())[0], [request()]))


def test_replays_are_neither_counted_nor_kept_nor_limited(tmp_path: Path) -> None:
    script = Script("yes")
    with open_cache(str(tmp_path)) as store:
        one, limits = asker(script.function(), judge=REPLAYING, store=store, max_calls=0)
        (reply,) = run(ask_all(one, [request()]))
        assert store.stats().replies == 0
    assert isinstance(reply, Reply) and reply.source == "recorded"
    assert (limits.meter.calls, limits.meter.recorded) == (0, 1)


def test_a_kept_reply_that_is_not_usable_is_drawn_again_once(tmp_path: Path) -> None:
    script = Script("broken", "still broken", "never asked")
    with open_cache(str(tmp_path)) as store:
        run(ask_all(asker(script.function(), store=store)[0], [request()]))

        async def main() -> list[Reply | NoReply]:
            judge = script.function()
            async with asker(judge, store=store, usable=lambda asked, reply: False)[0] as one:
                return [await one.ask(request()), await one.ask(request())]

        first, second = run(main())
        assert (first.text, second.text) == ("still broken", "still broken")
        assert isinstance(second, Reply) and second.source == "cache"
    assert len(script.asked) == 2


def test_after_a_stop_nothing_more_is_asked_and_what_is_kept_is_given(tmp_path: Path) -> None:
    script = Script("yes")
    with open_cache(str(tmp_path)) as store:
        run(ask_all(asker(script.function(), store=store)[0], [request()]))

        async def main() -> list[Reply | NoReply]:
            async with asker(script.function(), store=store)[0] as one:
                one.stop()
                return [await one.ask(request()), await one.ask(request(1))]

        kept, missing = run(main())
    assert isinstance(kept, Reply)
    assert isinstance(missing, NoReply) and missing.cause == "unavailable"
    assert script.asked == ["t0"]


class _Broken:
    async def __aenter__(self) -> Any:
        raise OSError("no socket")

    async def __aexit__(self, *exc: object) -> None:
        raise AssertionError("was never open")

    async def ask(self, request: Request) -> Reply:
        raise AssertionError("was never open")


def test_a_backend_that_does_not_open_is_named() -> None:
    from helix.engine.asking import Asker
    from helix.engine.limits import Limits

    with pytest.raises(BackendError, match="'replaying' could not be opened: OSError: no socket"):
        run(ask_all(Asker(REPLAYING, _Broken(), Limits()), [request()]))


def repeat(at: int) -> Request:
    one = request()
    return msgspec.structs.replace(one, unit=msgspec.structs.replace(one.unit, replicate=at))


def test_one_draw_for_two_replicates_is_refused_in_a_run_and_between_runs(tmp_path: Path) -> None:
    def cached(asked: Request) -> Reply:
        return Reply(text="{}", draw="answer-7" if asked.unit.replicate < 3 else "answer-8")

    with open_cache(str(tmp_path)) as store:
        first, second = run(ask_all(asker(cached, store=store)[0], [repeat(0), repeat(1)]))
        assert isinstance(first, Reply) and isinstance(second, NoReply)
        assert second.cause == "judge-error"
        assert "to replicate 1 is the one to replicate 0 ('answer-7')" in second.text
        later = [repeat(2), repeat(3), repeat(0)]
        answers = run(ask_all(asker(cached, store=store)[0], later))
        assert [type(answer) for answer in answers] == [NoReply, Reply, Reply]
        assert store.stats().replies == 2


def test_answers_without_a_name_may_be_alike(tmp_path: Path) -> None:
    with open_cache(str(tmp_path)) as store:
        asking, _ = asker(lambda _: "{}", store=store)
        answers = run(ask_all(asking, [repeat(0), repeat(1)]))
        assert all(isinstance(answer, Reply) for answer in answers)
        assert store.stats().replies == 2

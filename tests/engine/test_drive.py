"""Driving jobs: routing, back-pressure, time caps, isolation of faults, interruption."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from asked import asker, driven, job, request, run

from helix.engine.cache import open_cache
from helix.engine.drive import Event, Job, Outcome, drive, run_jobs
from helix.errors import CacheError, ExitCode, PinError
from helix.model.request import NoReply, Pending, Reply, Request
from helix.registry import load
from tests.moments import HELD, LIMIT_S, TOLD, go, hold, until


async def _echo(asked: Request) -> str:
    await asyncio.sleep(1)
    return f"{asked.unit.role} read {asked.unit.trace_id}"


def _texts(outcome: Outcome[Any]) -> list[str]:
    return [answer.text for answer in outcome.value]


def test_a_job_gets_each_answer_back_where_it_asked() -> None:
    jobs = [job(n, request(n), request(n, role="verifier")) for n in range(3)]
    assert [_texts(outcome) for outcome in run(driven(jobs, asker(_echo)[0]))] == [
        [f"judge read t{n}", f"verifier read t{n}"] for n in range(3)
    ]


def test_a_request_goes_to_the_asker_of_its_role() -> None:
    async def main() -> list[str]:
        done: list[Outcome[Any]] = []
        judge, verifier = asker(lambda asked: "by judge")[0], asker(lambda asked: "by verifier")[0]
        async with judge, verifier:
            await drive(
                [job(0, request(), request(role="verifier"))],
                {"judge": judge, "verifier": verifier},
                concurrency=1,
                unit_s=9,
                on_done=done.append,
            )
        return _texts(done[0])

    assert asyncio.run(main()) == ["by judge", "by verifier"]


def test_jobs_are_not_drawn_ahead_of_room() -> None:
    drawn, done = 0, 0
    ahead = []

    def jobs() -> Iterator[Job[Any]]:
        nonlocal drawn
        for number in range(50):
            drawn += 1
            ahead.append(drawn - done)
            yield job(number, request(number)) if number % 3 else job(number)

    def finished(outcome: Outcome[Any]) -> None:
        nonlocal done
        done += 1

    async def main() -> None:
        async with asker(_echo)[0] as one:
            await drive(jobs(), {"judge": one}, concurrency=4, unit_s=99, on_done=finished)

    run(main())
    assert done == 50
    assert max(ahead) == 4


def test_jobs_that_ask_nothing_are_done_without_an_asker_and_in_order() -> None:
    done: list[Outcome[Any]] = []
    run_jobs((job(n) for n in range(40)), {}, concurrency=1, unit_s=1, on_done=done.append)
    assert [outcome.job.ordinal for outcome in done] == list(range(40))
    assert all(outcome.value == [] for outcome in done)


def test_jobs_that_ask_nothing_do_not_hold_up_those_that_wait() -> None:
    order = []

    async def at_once(asked: Request) -> str:
        return "at once"

    async def main() -> None:
        jobs = [job(0, request()), *(job(n) for n in range(1, 400))]
        async with asker(at_once)[0] as one:
            await drive(
                jobs,
                {"judge": one},
                concurrency=4,
                unit_s=LIMIT_S,
                on_done=lambda outcome: order.append(outcome.job.ordinal),
            )

    asyncio.run(main())
    assert sorted(order) == list(range(400))
    assert order.index(0) < 200


def test_a_unit_over_its_time_ends_with_what_it_has() -> None:
    async def slow(asked: Request) -> str:
        await asyncio.sleep(30)
        return asked.unit.trace_id

    jobs = [job(0, request(0), request(1), request(2), request(3)), job(1, request(9))]
    one, limits = asker(slow)
    long, short = run(driven(jobs, one, unit_s=70))
    over = "limits.unit_s=70 was over before an answer came"
    assert _texts(long) == ["t0", "t1", over, over]
    assert [answer.cause for answer in long.value if isinstance(answer, NoReply)] == ["timeout"] * 2
    assert _texts(short) == ["t9"]
    assert limits.meter.calls == 4


def test_a_missed_deadline_is_not_the_end_of_the_unit() -> None:
    async def slow_at_first(asked: Request) -> str:
        await asyncio.sleep(30 if asked.unit.trace_id == "t0" else 1)
        return asked.unit.trace_id

    one, _ = asker(slow_at_first, deadline_s=10, retries=0)
    (outcome,) = run(driven([job(0, request(0), request(1))], one))
    assert _texts(outcome) == ["no answer within limits.deadline_s=10", "t1"]


def test_a_task_that_waits_sets_its_job_aside_and_the_rest_goes_on() -> None:
    async def dispatch(asked: Request) -> str:
        if asked.unit.trace_id == "t1":
            raise Pending("key-1")
        return "here"

    waits, goes_on = run(driven([job(0, request(1)), job(1, request(2))], asker(dispatch)[0]))
    assert (waits.pending, waits.waits_for, waits.value) == (True, "key-1", None)
    assert not goes_on.pending
    assert _texts(goes_on) == ["here"]


def _faulty(when: str) -> Any:
    def steps() -> Generator[Request, Reply | NoReply, None]:
        if when == "before it asks":
            raise ZeroDivisionError(when)
        yield request()
        raise ZeroDivisionError(when)

    return steps


@pytest.mark.parametrize("when", ["before it asks", "after it asked"])
def test_a_fault_of_one_job_is_its_own(when: str) -> None:
    jobs = [Job(0, "faulty", _faulty(when)), job(1, request(1))]
    broken, fine = run(driven(jobs, asker(_echo)[0]))
    assert isinstance(broken.error, ZeroDivisionError)
    assert broken.value is None
    assert fine.error is None
    assert _texts(fine) == ["judge read t1"]


def test_a_role_that_nobody_answers_is_the_fault_of_its_job() -> None:
    async def main() -> list[Outcome[Any]]:
        done: list[Outcome[Any]] = []
        await drive([job(0, request())], {}, concurrency=1, unit_s=1, on_done=done.append)
        return done

    (outcome,) = run(main())
    assert isinstance(outcome.error, KeyError)


def test_what_no_unit_can_absorb_ends_the_run_in_order() -> None:
    done: list[int] = []

    async def judge(asked: Request) -> str:
        await asyncio.sleep(5 if asked.unit.trace_id == "t0" else 1)
        if asked.unit.trace_id == "t1":
            raise PinError("returned model must be m (got n)")
        return "yes"

    async def main() -> None:
        one, _ = asker(judge)
        async with one:
            await drive(
                (job(n, request(n)) for n in range(99)),
                {"judge": one},
                concurrency=2,
                unit_s=99,
                on_done=lambda outcome: done.append(outcome.job.ordinal),
            )

    with pytest.raises(PinError, match="got n"):
        run(main())
    assert done == [0]


@pytest.mark.parametrize("where", ["jobs", "on_done"])
def test_what_the_caller_raises_comes_out_after_what_is_in_flight(where: str) -> None:
    done: list[int] = []

    def jobs() -> Iterator[Job[Any]]:
        yield job(0, request(0))
        yield from (job(number) for number in range(1, 40))
        raise OSError("the input is gone")

    def finished(outcome: Outcome[Any]) -> None:
        if where == "on_done" and outcome.job.ordinal == 39:
            raise OSError("the disk is full")
        done.append(outcome.job.ordinal)

    async def main() -> None:
        async with asker(_echo)[0] as one:
            await drive(jobs(), {"judge": one}, concurrency=3, unit_s=99, on_done=finished)

    with pytest.raises(OSError, match=r"gone|full"):
        run(main())
    assert done == [*range(1, 40 if where == "jobs" else 39), 0]


def test_a_cache_that_breaks_in_the_middle_ends_the_run(tmp_path: Path) -> None:
    with open_cache(str(tmp_path)) as store:

        async def judge(asked: Request) -> str:
            database = sqlite3.connect(tmp_path / "cache" / "cache.db")
            with database:
                row = (asked.cache_key(1), b"not text")
                database.execute(
                    "INSERT INTO Cache(key, raw, mode, value) VALUES (?, 1, 4, ?)", row
                )
            database.close()
            return "yes"

        jobs = (job(n, request(n)) for n in range(9))
        with pytest.raises(CacheError):
            run(driven(jobs, asker(judge, store=store)[0], concurrency=1))


def test_events_say_what_is_waited_for() -> None:
    seen: list[tuple[str, int, str]] = []

    def note(event: Event) -> None:
        seen.append((event.kind, event.job.ordinal, event.detail))

    async def main() -> None:
        async with asker(lambda asked: "yes")[0] as one:
            await drive(
                [job(0), job(1, request())],
                {"judge": one},
                concurrency=1,
                unit_s=1,
                on_done=lambda outcome: None,
                on_event=note,
            )

    asyncio.run(main())
    assert seen == [
        ("done", 0, ""),
        ("asking", 1, "judge"),
        ("answered", 1, "live"),
        ("done", 1, ""),
    ]


def test_plain_functions_run_side_by_side_as_many_as_the_limit() -> None:
    together = threading.Barrier(12, timeout=LIMIT_S)

    def judge(asked: Request) -> str:
        together.wait()
        return "yes"

    jobs = [job(n, request(n)) for n in range(12)]
    done: list[Outcome[Any]] = []
    one, _ = asker(judge, concurrency=12)
    run_jobs(jobs, {"judge": one}, concurrency=12, unit_s=LIMIT_S, on_done=done.append)
    assert [_texts(outcome) for outcome in done] == [["yes"]] * 12


def test_an_error_of_a_judge_has_no_error_of_the_loop_as_its_context() -> None:
    seen: list[BaseException | None] = []

    async def judge(asked: Request) -> str:
        try:
            raise ValueError("no provider")
        except ValueError as error:
            seen.append(error.__context__)
        return "yes"

    one, _ = asker(judge)
    run_jobs([job(0, request())], {"judge": one}, concurrency=1, unit_s=9, on_done=lambda _: None)
    assert seen == [None]


def test_jobs_run_where_a_loop_already_runs() -> None:
    done: list[Outcome[Any]] = []

    async def notebook() -> None:
        one, _ = asker(lambda asked: "yes")
        run_jobs([job(0, request())], {"judge": one}, concurrency=1, unit_s=9, on_done=done.append)

    asyncio.run(notebook())
    assert _texts(done[0]) == ["yes"]


def test_errors_come_out_where_a_loop_already_runs() -> None:
    def broken() -> Iterator[Job[Any]]:
        raise OSError("the input is gone")
        yield

    async def notebook() -> None:
        run_jobs(broken(), {}, concurrency=1, unit_s=9, on_done=lambda outcome: None)

    with pytest.raises(OSError, match="gone"):
        asyncio.run(notebook())


def test_the_registered_executor_carries_jobs_out() -> None:
    done: list[Outcome[Any]] = []
    run_jobs(
        [job(0)],
        {},
        concurrency=1,
        unit_s=1,
        on_done=done.append,
        executor=load([]).get("executors", "local").run,
    )
    assert done[0].value == []


def _script(code: str, *arguments: str) -> subprocess.Popen[str]:
    here = Path(__file__).parent
    paths = os.pathsep.join([str(here), str(here.parents[1])])
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": paths},
    )


HANGS = """
import time
from asked import asker, job, request
from helix.engine.drive import run_jobs
one, _ = asker(lambda request: time.sleep(3600), deadline_s=0.1, retries=0)
run_jobs([job(0, request())], {"judge": one}, concurrency=1, unit_s=9,
         on_done=lambda outcome: print(outcome.value[0].cause))
"""


def test_a_function_that_hangs_holds_up_neither_the_run_nor_its_end() -> None:
    output, _ = _script(HANGS).communicate(timeout=LIMIT_S)
    assert output == "timeout\n"


# In a notebook whose only answer comes when the run has been told to end.
NOTEBOOK = (
    TOLD
    + """
from asked import asker, job, request
from helix.engine.drive import run_jobs

async def judge(request):
    print("asked", flush=True)
    await told()
    return "yes"

async def cell():
    one, _ = asker(judge)
    jobs = (job(n, request(n)) for n in range(99))
    try:
        run_jobs(jobs, {"judge": one}, concurrency=1, unit_s=600,
                 on_done=lambda outcome: print("done", flush=True))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
loop = asyncio.new_event_loop()
loop.run_until_complete(cell())
"""
)


def test_an_interrupt_where_a_loop_already_runs_ends_in_order() -> None:
    process = _script(NOTEBOOK)
    assert process.stdout and process.stdout.readline() == "asked\n"
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=LIMIT_S)
    assert output == "done\ninterrupted\n"


# The interruption comes when the thread of the run has begun, and nothing in it.
NOT_BEGUN = """
import asyncio, os, signal, sys, threading, time
from asked import asker, job, request
from helix.engine.drive import run_jobs

def first(*event):
    sys.settrace(None)
    threading.settrace(None)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.5)

async def cell():
    one, _ = asker(lambda request: print("asked", flush=True))
    threading.settrace(first)
    try:
        run_jobs((job(n, request(n)) for n in range(9)), {"judge": one}, concurrency=1, unit_s=600,
                 on_done=lambda outcome: print("done", flush=True))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
asyncio.new_event_loop().run_until_complete(cell())
"""


def test_an_interrupt_before_the_loop_there_has_begun_ends_it_too() -> None:
    output, _ = _script(NOT_BEGUN).communicate(timeout=LIMIT_S)
    assert output == "interrupted\n"


# A run of 40 units, 4 at once, each asking once or twice; every ask leaves a line in a file.
RUN = (
    HELD
    + """
import os, sys
from pathlib import Path
from asked import asker, job, request
from helix.engine.cache import open_cache
from helix.engine.drive import run_jobs

folder = Path(sys.argv[1])
asks = os.open(folder / "asks", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def judge(request):
    os.write(asks, (request.unit.trace_id + "\\n").encode())
    held(folder / "asks")
    return request.unit.trace_id
def note(outcome):
    print("done", outcome.job.ordinal, *[answer.text for answer in outcome.value], flush=True)
with open_cache(str(folder)) as store:
    one, limits = asker(judge, store=store, concurrency=4)
    jobs = (job(n, request(n), *([request(n + 100)] if n % 2 else [])) for n in range(40))
    try:
        run_jobs(jobs, {"judge": one}, concurrency=4, unit_s=600, on_done=note)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        sys.exit(130)
"""
)
ASKS = 60


def _start(folder: Path) -> subprocess.Popen[str]:
    return _script(RUN, str(folder))


def _asked(folder: Path) -> list[str]:
    file = folder / "asks"
    return file.read_text(encoding="utf-8").split() if file.exists() else []


def _held_at(folder: Path, number: int) -> subprocess.Popen[str]:
    """A run that has asked so often, and waits for its answers."""
    hold(folder, number)
    process = _start(folder)
    until(lambda: len(_asked(folder)) >= number, process)
    return process


def _whole(output: str) -> list[str]:
    lines = [line for line in output.splitlines() if line.startswith("done")]
    return sorted(lines, key=lambda line: int(line.split()[1]))


EXPECTED = [f"done {n} t{n}" + (f" t{n + 100}" if n % 2 else "") for n in range(40)]


def test_a_killed_run_asks_again_only_what_was_in_flight(tmp_path: Path) -> None:
    for moment in (3, 17, 33):
        process = _held_at(tmp_path, len(_asked(tmp_path)) + moment)
        process.kill()
        process.communicate()
    go(tmp_path)
    asked_before = _asked(tmp_path)
    with open_cache(str(tmp_path)) as store:
        numbers = [n for n in range(140) if store.get(request(n).cache_key(1))]
    kept = {f"t{n}" for n in numbers}
    assert len(asked_before) - len(kept) <= 3 * 4

    output, _ = _start(tmp_path).communicate()
    asked_after = _asked(tmp_path)[len(asked_before) :]
    assert _whole(output) == EXPECTED
    assert not kept & set(asked_after)
    assert len(kept) + len(asked_after) == ASKS

    again, _ = _start(tmp_path).communicate()
    assert _whole(again) == EXPECTED
    assert len(_asked(tmp_path)) == len(asked_before) + len(asked_after)


def test_an_interrupted_run_hands_over_what_was_in_flight_and_resumes(tmp_path: Path) -> None:
    process = _held_at(tmp_path, 15)
    process.send_signal(signal.SIGINT)
    go(tmp_path)
    output, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == ExitCode.INTERRUPTED
    assert output.splitlines()[-1] == "interrupted"
    done = _whole(output)
    assert 0 < len(done) < len(EXPECTED)
    assert set(done) <= set(EXPECTED)
    with open_cache(str(tmp_path)) as store:
        kept = store.stats().replies
    asked = _asked(tmp_path)
    assert kept == len(asked) == len(set(asked)) < ASKS

    resumed, _ = _start(tmp_path).communicate()
    assert _whole(resumed) == EXPECTED
    assert len(_asked(tmp_path)) == ASKS

"""Running jobs side by side: a job yields requests and receives answers until it returns.

Jobs are drawn one by one as there is room, never ahead of it. One job's fault, wait or time cap
is its own outcome and stops nobody else.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
)
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from helix.engine.asking import Asker
from helix.engine.distant import Answer, Distant, Ended
from helix.engine.meter import Meter
from helix.errors import BackendError, CacheError, PinError
from helix.model.request import NoReply, Pending, Request

T = TypeVar("T")
Conversation = Generator[Request, Answer, T]
EndsTheRun = (CacheError, BackendError, PinError)
EventKind = Literal["begin", "asking", "waiting", "answered", "done", "stopping"]
_BREATHE_EVERY = 16
Steps = Conversation[T] | Distant[T]


@dataclass(frozen=True, slots=True)
class Job(Generic[T]):
    """One unit of work: its place in the plan, a name for people, and how to start it."""

    ordinal: int
    key: str
    start: Callable[[], Conversation[T]]


@dataclass(frozen=True, slots=True)
class DistantJob(Generic[T]):
    """A job whose conversation is, or was, held elsewhere."""

    ordinal: int
    key: str
    start: Callable[[], Steps[T]]


AnyJob = Job[T] | DistantJob[T]


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """How a job ended: with a value, with a task that waits (its key), or with an error."""

    job: AnyJob[T]
    value: T | None = None
    pending: bool = False
    waits_for: str | None = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """Something to tell a person who waits.

    `detail` is a role (asking), what holds the request back for `seconds` (waiting: rate limit,
    retry), a reply's source or a cause (answered); `used` is what the run has used so far, `total`
    how many jobs there will be (begin). The run as a whole begins and, when interrupted, stops.
    """

    kind: EventKind
    job: AnyJob[Any] | None = None
    detail: str = ""
    seconds: float = 0.0
    used: Meter | None = None
    total: int = 0


Drawn = Iterator[Job[T]] | AsyncIterator[AnyJob[T]]
Jobs = Iterable[Job[T]] | AsyncIterator[AnyJob[T]]
OnDone = Callable[[Outcome[T]], None]
OnEvent = Callable[[Event], None]


async def drive(
    jobs: Jobs[T],
    askers: Mapping[str, Asker],
    *,
    concurrency: int,
    unit_s: float,
    on_done: OnDone[T],
    on_event: OnEvent | None = None,
) -> None:
    """Carry out all jobs, `concurrency` at once, and hand each outcome to `on_done` as it comes.

    A request goes to the asker of its role. A job that has asked for `unit_s` seconds is answered
    NoReply (cause timeout) from then on, so that it ends with what it has. When interrupted, what
    is in flight ends and is handed over; a job that would need another question is left out.
    Raises what `jobs` or `on_done` raised, and CacheError, BackendError or PinError of an asker,
    after the same orderly end.
    """
    await _Drive(askers, concurrency, unit_s, on_done, on_event).carry_out(
        jobs if isinstance(jobs, AsyncIterator) else iter(jobs)
    )


def run_jobs(
    jobs: Jobs[T],
    askers: Mapping[str, Asker],
    *,
    concurrency: int,
    unit_s: float,
    on_done: OnDone[T],
    on_event: OnEvent | None = None,
    executor: Callable[..., Awaitable[None]] | None = None,
) -> None:
    """Open the askers, carry out all jobs, close the askers; for callers without an event loop.

    `executor` takes the place of `drive`. Jobs that are made elsewhere are closed at the end.
    Inside a running loop (a notebook) the work is done in a thread of its own, and so are the
    calls of `jobs` and `on_done`.
    """

    async def main() -> None:
        async with contextlib.AsyncExitStack() as stack:
            for asker in dict.fromkeys(askers.values()):
                await stack.enter_async_context(asker)
            if isinstance(jobs, AsyncIterator) and hasattr(jobs, "aclose"):
                stack.push_async_callback(jobs.aclose)
            await (executor or drive)(
                jobs,
                askers,
                concurrency=concurrency,
                unit_s=unit_s,
                on_done=on_done,
                on_event=on_event,
            )

    if _in_a_loop():
        _run_in_thread(main)
    else:
        # Not inside an `except`: every error of a judge would have that one as its context.
        asyncio.run(main())


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class _Drive(Generic[T]):
    """The state of one `drive`."""

    def __init__(
        self,
        askers: Mapping[str, Asker],
        concurrency: int,
        unit_s: float,
        on_done: OnDone[T],
        on_event: OnEvent | None,
    ) -> None:
        self._askers, self._concurrency, self._unit_s = askers, concurrency, unit_s
        self._over = NoReply("timeout", f"limits.unit_s={unit_s:g} was over before an answer came")
        self._on_done, self._on_event = on_done, on_event
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = False
        self._broken: Exception | None = None

    async def carry_out(self, jobs: Drawn[T]) -> None:
        try:
            await self._draw(jobs)
            await self._settle()
        except BaseException:
            self._stop()
            self._tell("stopping")
            await self._settle_or_cancel()
            raise
        if self._broken is not None:
            raise self._broken

    async def _draw(self, jobs: Drawn[T]) -> None:
        drawn = 0
        while True:
            while len(self._tasks) >= self._concurrency:
                await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
            if self._tasks or drawn % _BREATHE_EVERY == 0:
                await asyncio.sleep(0)
            if self._stopping:
                return
            job: AnyJob[T] | None
            if isinstance(jobs, AsyncIterator):
                job = await anext(jobs, None)
            else:
                job = next(jobs, None)
            if job is None or self._stopping:
                return
            drawn += 1
            self._begin(job)

    def _begin(self, job: AnyJob[T]) -> None:
        try:
            steps = job.start()
            request = next(steps)
        except StopIteration as end:
            self._finish(Outcome(job, end.value))
        except Pending as waiting:
            self._finish(Outcome(job, pending=True, waits_for=waiting.key))
        except EndsTheRun:
            raise
        except Exception as error:
            self._finish(Outcome(job, error=error))
        else:
            task = asyncio.create_task(self._carry(job, steps, request))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _carry(self, job: AnyJob[T], steps: Steps[T], request: Request) -> None:
        try:
            outcome = await self._converse(job, steps, request)
            if outcome is not None:
                self._finish(outcome)
        except Exception as error:
            self._broken = self._broken or error
            self._stop()
        finally:
            with contextlib.suppress(Exception):
                steps.close()

    async def _converse(
        self, job: AnyJob[T], steps: Steps[T], request: Request
    ) -> Outcome[T] | None:
        ends = asyncio.get_running_loop().time() + self._unit_s
        late: NoReply | None = None
        try:
            while True:
                try:
                    answer = late or await self._answer(job, request, ends)
                except Pending as task:
                    # A conversation may have more to ask; else the task comes back out of it.
                    step = await _heard(steps.throw(task))
                else:
                    if isinstance(answer, NoReply):
                        if self._stopping:
                            return None
                        late = answer if answer is self._over else None
                    step = await _heard(steps.send(answer))
                if isinstance(step, Ended):
                    return Outcome(job, step.value)
                request = step
        except StopIteration as end:
            return Outcome(job, end.value)
        except Pending as task:
            return Outcome(job, pending=True, waits_for=task.key)
        except EndsTheRun:
            raise
        except Exception as error:
            return Outcome(job, error=error)

    async def _answer(self, job: AnyJob[T], request: Request, ends: float) -> Answer:
        asker = self._askers[request.unit.role]
        self._tell("asking", job, request.unit.role, asker=asker)
        limit = asyncio.timeout_at(ends)
        open = True

        def told(what: str, seconds: float) -> None:
            # A request in flight may outlive the job that asked it.
            if open:
                self._tell("waiting", job, what, seconds, asker)

        try:
            async with limit:
                answer: Answer = await asker.ask(request, told)
        except TimeoutError:
            if not limit.expired():
                raise
            answer = self._over
        finally:
            open = False
        said = answer.cause if isinstance(answer, NoReply) else answer.source
        self._tell("answered", job, said, asker=asker)
        return answer

    def _finish(self, outcome: Outcome[T]) -> None:
        self._on_done(outcome)
        self._tell("done", outcome.job)

    def _tell(
        self,
        kind: EventKind,
        job: AnyJob[T] | None = None,
        detail: str = "",
        seconds: float = 0.0,
        asker: Asker | None = None,
    ) -> None:
        if self._on_event is not None:
            used = None if asker is None else asker.meter
            self._on_event(Event(kind, job, detail, seconds, used))

    def _stop(self) -> None:
        self._stopping = True
        for asker in self._askers.values():
            asker.stop()

    async def _settle(self) -> None:
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _settle_or_cancel(self) -> None:
        try:
            await self._settle()
        except asyncio.CancelledError:
            for task in self._tasks:
                task.cancel()
            raise


async def _heard(step: Request | Awaitable[Request | Ended[T]]) -> Request | Ended[T]:
    return step if isinstance(step, Request) else await step


def _run_in_thread(main: Callable[[], Awaitable[None]]) -> None:
    """Run a coroutine in a loop of its own; an interrupt here is an interrupt there."""
    interrupt: list[Callable[[], object]] = []
    failed: list[BaseException] = []
    interrupted = threading.Event()
    ended = threading.Event()  # A join that was interrupted once does not wait a second time.

    async def watched() -> None:
        task = asyncio.current_task()
        assert task is not None
        loop = asyncio.get_running_loop()
        interrupt.append(lambda: loop.call_soon_threadsafe(task.cancel))
        if interrupted.is_set():  # Before there was anything to cancel.
            task.cancel()
        await main()

    def body() -> None:
        try:
            asyncio.run(watched())
        except BaseException as error:
            failed.append(error)
        finally:
            ended.set()

    try:
        threading.Thread(target=body, name="helix-drive").start()
        ended.wait()
    except KeyboardInterrupt:
        interrupted.set()
        for cancel in interrupt:
            cancel()
        ended.wait()
        raise
    if failed:
        raise failed[0]

"""The workers of a run and what they have in hand: chunks go out as there is room for what returns.

If a worker ends, what it had in hand is done again: a chunk record by record, so that only a
record that ends workers is given up, and a conversation with the answers that it has been given,
so that no judge is asked twice.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from helix import errors, registry
from helix.adjudication import Written
from helix.engine.distant import Answer, Ended, Over
from helix.engine.drive import DistantJob, Steps
from helix.errors import ExecutorError, HelixError
from helix.model.lines import decode_line
from helix.model.request import Pending, Request
from helix.processes.parts import Parts
from helix.processes.wire import (
    Begin,
    Chunk,
    Part,
    Ready,
    Refused,
    Result,
    Results,
    Said,
    Step,
)
from helix.processes.workers import GONE, Process
from helix.registry import Assignment

TRIES: Final = 3
AHEAD: Final = 32
"""Jobs that may wait to be drawn; beyond them no worker is given more."""


@dataclass(slots=True)
class _Errand:
    """A message to a worker, how often its worker ended, and where a step's answer goes."""

    message: Chunk | Step
    deaths: int = 0
    answer: asyncio.Future[Result] | None = None


class Pool:
    """An asynchronous iterator of jobs whose conversations live in workers."""

    def __init__(self, assignment: Assignment) -> None:
        config, survey = assignment.config, assignment.survey
        self._begin = _begin(assignment)
        self._entries, self._replicates = survey.entries, config.sampling.replicates
        formats = registry.load().items("formats")
        self._parts = Parts(assignment, {name: entry.item for name, entry in formats.items()})
        chosen = survey.entries.chosen()
        self._size = max(1, min(config.executor.workers or cores(), chosen))
        self._ready: deque[DistantJob[Written]] = deque()
        self._again: deque[_Errand] = deque()
        self._steps: list[deque[_Errand]] = [deque() for _ in range(self._size)]
        self._out, self._dry = 0, set[int]()
        self._changed, self._work = asyncio.Event(), asyncio.Event()
        self._serving: list[asyncio.Task[None]] = []
        self._broken: HelixError | None = None

    def __aiter__(self) -> Pool:
        return self

    async def __anext__(self) -> DistantJob[Written]:
        if not self._serving:
            self._serving = [asyncio.create_task(self._serve(at)) for at in range(self._size)]
        while True:
            if self._broken is not None:
                raise self._broken
            if self._ready:
                job = self._ready.popleft()
                if len(self._ready) == AHEAD - 1:
                    self._work.set()
                return job
            if len(self._dry) == self._size and not self._out:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()

    async def aclose(self) -> None:
        """End the workers."""
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def step(self, at: int, step: Step) -> Result:
        """Go on with a conversation, in the worker that holds it if that still runs."""
        if self._broken is not None:
            raise self._broken
        errand = _Errand(step, answer=asyncio.get_running_loop().create_future())
        self._steps[at].append(errand)
        self._work.set()
        assert errand.answer is not None
        return await errand.answer

    async def _serve(self, at: int) -> None:
        """Keep one worker running and occupied; give up where TRIES in a row cannot begin."""
        ended_early = 0
        try:
            while True:
                process = await _started()
                try:
                    if how := await self._unbegun(process):
                        ended_early += 1
                        if ended_early == TRIES:
                            raise _never_began(how)
                    else:
                        ended_early = 0
                        await self._occupy(at, process)
                finally:
                    await process.end()
        except HelixError as error:
            self._break(error)
        except Exception as error:
            self._break(ExecutorError(f"executor=processes: {type(error).__name__}: {error}"))

    async def _unbegun(self, process: Process) -> str:
        """Have a worker prepare the run; return how it ended if it did so before that, else ""."""
        try:
            _accepted(await process.tell(self._begin))
        except GONE:
            return await process.end()
        return ""

    async def _occupy(self, at: int, process: Process) -> None:
        """Give a worker all that there is for it, until it ends."""
        while True:
            errand = await self._errand(at)
            try:
                said = await process.tell(errand.message)
            except GONE:
                self._lost(at, errand, await process.end())
                return
            self._took(at, errand, said)

    async def _errand(self, at: int) -> _Errand:
        while True:
            if self._steps[at]:
                return self._steps[at].popleft()
            if self._again:
                return self._again.popleft()
            if at not in self._dry and len(self._ready) < AHEAD:
                if parts := self._parts.take(at):
                    self._out += 1
                    return _Errand(Chunk(parts))
                self._dry.add(at)
                self._changed.set()
            self._work.clear()
            await self._work.wait()

    def _took(self, at: int, errand: _Errand, said: object) -> None:
        if not isinstance(said, Results):
            error = _error(said) if isinstance(said, Refused) else _strange()
            if errand.answer is not None:
                self._given_up(errand, ExecutorError(str(error)))
            raise error
        if isinstance(errand.message, Step):
            assert errand.answer is not None
            if not errand.answer.done():
                errand.answer.set_result(said.results[0])
            return
        parts = errand.message.parts
        self._came(self._job(at, result, parts[result.part]) for result in said.results)

    def _came(self, jobs: Iterable[DistantJob[Written]]) -> None:
        self._out -= 1
        self._ready.extend(jobs)
        self._changed.set()

    def _lost(self, at: int, errand: _Errand, how: str) -> None:
        """See to it that what a worker had in hand when it ended is done again, or given up."""
        errand.deaths += 1
        message = errand.message
        if isinstance(message, Chunk) and len(message.parts) > 1:
            self._again.extend(_Errand(Chunk((part,))) for part in message.parts)
            self._out += len(message.parts) - 1
        elif errand.deaths < TRIES:
            (self._steps[at] if errand.answer else self._again).appendleft(errand)
        else:
            why = f"the process that worked on it ended {TRIES} times ({how})"
            self._given_up(errand, ExecutorError(why))
        self._work.set()

    def _given_up(self, errand: _Errand, error: ExecutorError) -> None:
        if errand.answer is not None:
            if not errand.answer.done():
                errand.answer.set_exception(error)
            return
        assert isinstance(errand.message, Chunk)
        ordinals = errand.message.parts[0].ordinals
        self._came(
            self._made(ordinal * self._replicates + replicate, Over(error))
            for ordinal in ordinals
            for replicate in range(self._replicates)
        )

    def _job(self, at: int, result: Result, part: Part) -> DistantJob[Written]:
        if result.written is not None:
            return self._made(result.ordinal, Over(result.written))
        if result.request is None:
            return self._made(result.ordinal, Over(_failed(result)))
        return self._made(result.ordinal, _Elsewhere(self, at, result, part))

    def _made(self, ordinal: int, conversation: Steps[Written]) -> DistantJob[Written]:
        key = self._entries[ordinal // self._replicates].id
        return DistantJob(ordinal, key, lambda: conversation)

    def _break(self, error: HelixError) -> None:
        self._broken = self._broken or error
        for errand in (errand for steps in self._steps for errand in steps):
            self._given_up(errand, ExecutorError(str(error)))
        self._changed.set()


class _Elsewhere:
    """A conversation in a worker: its first request, and all answers that it was given."""

    def __init__(self, pool: Pool, at: int, result: Result, part: Part) -> None:
        assert result.request is not None
        self._pool, self._at, self._ordinal, self._part = pool, at, result.ordinal, part
        self._first = result.request
        self._answers: tuple[Said, ...] = ()

    def __next__(self) -> Request:
        return self._first.request()

    async def send(self, answer: Answer | Pending) -> Request | Ended[Written]:
        """Give an answer; return what is asked next, or what the conversation came to."""
        self._answers = (*self._answers, Said.of(answer))
        step = Step(self._ordinal, self._part, self._answers)
        result = await self._pool.step(self._at, step)
        if result.written is not None:
            return Ended(result.written)
        if result.waits is not None:
            raise Pending(decode_line(result.waits, str))
        if result.request is None:
            raise _failed(result)
        return result.request.request()

    throw = send

    def close(self) -> None:
        """Nothing: a worker's conversations end with it."""


async def _started() -> Process:
    """Start a worker; one that is no longer wanted when it has started is ended."""
    starting = asyncio.ensure_future(Process.start())
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await (await starting).end()
        raise


def _never_began(how: str) -> ExecutorError:
    return ExecutorError(
        f"executor=processes: {TRIES} workers ended, one after the other, before they could begin "
        f"({how}); use executor=local"
    )


def _failed(result: Result) -> ExecutorError:
    return ExecutorError(decode_line(result.error or b'""', str))


def _accepted(said: object) -> None:
    if isinstance(said, Refused):
        raise _error(said)
    if not isinstance(said, Ready):
        raise _strange()


def _strange() -> ExecutorError:
    return ExecutorError("executor=processes: a worker gave an answer to another question")


def _error(refused: Refused) -> HelixError:
    kind, text = getattr(errors, refused.kind, None), decode_line(refused.text, str)
    if isinstance(kind, type) and issubclass(kind, HelixError):
        return kind(text)
    return ExecutorError(f"executor=processes: a worker failed: {refused.kind}: {text}")


def _begin(assignment: Assignment) -> Begin:
    suite = assignment.suite
    return Begin(
        config=assignment.config.model_dump_json().encode(),
        suite=None if suite is None else suite.model_dump_json(by_alias=True).encode(),
        today=assignment.today.isoformat(),
        plan=assignment.plan,
        tools=assignment.survey.tools,
        roles=assignment.survey.roles,
    )


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

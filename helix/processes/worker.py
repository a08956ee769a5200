"""A worker: prepares the run once, then reads, checks and words what it is told to, until the end.

It asks nobody. A conversation that it does not hold, because another worker began it, is begun
again and given the answers so far: a conversation is a function of its trace and its answers.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import BinaryIO

from helix import registry as registries
from helix.adjudication import Bench, written
from helix.engine.distant import Answer
from helix.engine.drive import Conversation, Job
from helix.errors import ConfigError, ExecutorError
from helix.ingest.reading import FileReader
from helix.ingest.streams import Found
from helix.judging import Adjudicated
from helix.model.config import Config
from helix.model.criterion import Suite
from helix.model.lines import decode_line, encode_line
from helix.model.manifest import LoadFailure, ManifestEntry
from helix.model.request import Pending, Request
from helix.model.trace import Trace
from helix.planning import prepare
from helix.processes.wire import (
    HEADER,
    Asked,
    Begin,
    Chunk,
    Part,
    Ready,
    Refused,
    Result,
    Results,
    Step,
    ToWorker,
    frame,
    to_worker,
)
from helix.registry import Format
from helix.survey import changed, routed

_Held = tuple[Conversation[Adjudicated], int]


class Worker:
    """One run, prepared anew, and the conversations that wait for an answer."""

    def __init__(self, begin: Begin) -> None:
        config = Config.model_validate_json(begin.config)
        suite = None if begin.suite is None else Suite.model_validate_json(begin.suite)
        registry = registries.load()
        today = datetime.date.fromisoformat(begin.today)
        prepared = prepare(config, registry, today=today, suite=suite)
        if prepared.plan.digest != begin.plan:
            raise ConfigError(
                f"executor={config.executor.name}: another process cannot prepare this run (plan "
                f"{prepared.plan.digest[:12]}, not {begin.plan[:12]}): a registry or a check that "
                "exists in this process alone cannot go to others; use executor=local"
            )
        self._bench = Bench.of(prepared, begin.tools, begin.roles)
        formats = {name: entry.item for name, entry in registry.items("formats").items()}
        self._formats: dict[str, Format] = formats
        self._held: dict[int, _Held] = {}
        self._open: tuple[str, int, Iterator[Trace | LoadFailure]] | None = None

    def do(self, message: ToWorker) -> Results:
        """Carry out one message."""
        if isinstance(message, Chunk):
            begun = (self._begun(message, at) for at in range(len(message.parts)))
            return Results(tuple(chain.from_iterable(begun)))
        if isinstance(message, Step):
            return Results((self._stepped(message),))
        raise ExecutorError("a run begins once")

    def _begun(self, chunk: Chunk, at: int) -> Iterator[Result]:
        part = chunk.parts[at]
        for job in self._jobs(part, self._reading(part)):
            try:
                conversation = job.start()
                request = next(conversation)
            except StopIteration as end:
                yield Result(job.ordinal, at, written=written(end.value))
            except Exception as error:
                yield Result(job.ordinal, at, error=_told(error))
            else:
                self._held[job.ordinal] = (conversation, 0)
                yield Result(job.ordinal, at, request=Asked.of(request))

    def _stepped(self, step: Step) -> Result:
        conversation, given = self._held.pop(step.ordinal, (None, 0))
        try:
            if conversation is None:
                conversation, given = self._again(step), 0
            request = _given(conversation, [said.answer() for said in step.answers[given:]])
        except StopIteration as end:
            return Result(step.ordinal, written=written(end.value))
        except Pending as task:
            return Result(step.ordinal, waits=encode_line(task.key))
        except Exception as error:
            return Result(step.ordinal, error=_told(error))
        self._held[step.ordinal] = (conversation, len(step.answers))
        return Result(step.ordinal, request=Asked.of(request))

    def _again(self, step: Step) -> Conversation[Adjudicated]:
        for job in self._jobs(step.part, self._read(step.part)):
            if job.ordinal == step.ordinal:
                conversation = job.start()
                next(conversation)
                return conversation
        raise ExecutorError("the trace is not where it was")

    def _jobs(self, part: Part, items: Iterator[Trace | LoadFailure]) -> Iterator[Job[Adjudicated]]:
        entries = [decode_line(data, ManifestEntry) for data in part.entries]
        traces = (item for item in items if isinstance(item, Trace))
        for entry in entries:
            trace = next(traces, None)
            if trace is None or entry.id != trace.id or entry.digest != trace.source.digest:
                raise changed(entry.file)
            if entry.selected:
                subject = self._bench.prepared.config.subject
                yield from self._bench.jobs(entry, routed(trace, subject))

    def _reading(self, part: Part) -> Iterator[Trace | LoadFailure]:
        """Return the part's traces; a file that was read up to before them is read on."""
        if part.format is not None:
            return self._read(part)
        held, self._open = self._open, None
        if held is not None and held[0] == part.path and held[1] <= part.skip:
            _pass(held[2], part.skip - held[1])
            items = held[2]
        else:
            items = self._read(part)
        self._open = (part.path, part.skip + len(part.entries), items)
        return items

    def _read(self, part: Part) -> Iterator[Trace | LoadFailure]:
        found = Found(decode_line(part.name, str), part.path, alone=False)
        formats = tuple(self._formats.values())
        if part.format is not None:
            reader = FileReader(found, formats, self._formats[part.format])
            return reader.lines(part.offset, part.size, part.skip)
        forced = self._formats.get(self._bench.prepared.config.subject.format)
        items = iter(FileReader(found, formats, forced))
        _pass(items, part.skip)
        return items


def _given(conversation: Conversation[Adjudicated], answers: Sequence[Answer | Pending]) -> Request:
    request: Request | None = None
    for answer in answers:
        if isinstance(answer, Pending):
            request = conversation.throw(answer)
        else:
            request = conversation.send(answer)
    assert request is not None
    return request


def _pass(items: Iterator[Trace | LoadFailure], traces: int) -> None:
    while traces and (item := next(items, None)) is not None:
        traces -= isinstance(item, Trace)


def main() -> None:
    """Serve the run at the other end of standard input and output, until it hangs up."""
    source, target = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # What a check prints must not be taken for an answer.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    if hasattr(os, "register_at_fork"):
        # What a check forks off must not hold them open when this process is gone.
        for end in (source, target):
            os.register_at_fork(after_in_child=end.close)
    worker: Worker | None = None
    while (message := _next(source)) is not None:
        answer: Ready | Results | Refused
        try:
            if isinstance(message, Begin):
                worker, answer = Worker(message), Ready()
            elif worker is not None:
                answer = worker.do(message)
        except Exception as error:
            answer = Refused(type(error).__name__, encode_line(str(error)))
        target.write(frame(answer))
        target.flush()


def _next(source: BinaryIO) -> ToWorker | None:
    header = source.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    size = HEADER.unpack(header)[0]
    data = source.read(size)
    return to_worker(data) if len(data) == size else None


def _told(error: Exception) -> bytes:
    return encode_line(f"{type(error).__name__}: {error}")


BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from helix.processes.worker import main; main()"
)


def command() -> list[str]:
    """Return the command that starts a worker: this interpreter, with this process's paths."""
    return [sys.executable, "-c", BOOT, json.dumps(sys.path)]

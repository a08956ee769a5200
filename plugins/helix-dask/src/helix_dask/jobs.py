"""The jobs of a run that a cluster carries out: a task per shard, a finished job per line."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Final
from uuid import uuid4

import msgspec
from distributed import Client, LocalCluster, as_completed

from helix import errors
from helix.adjudication import Written
from helix.engine.distant import Over
from helix.engine.drive import DistantJob
from helix.engine.store import open_store
from helix.errors import ConfigError, ExecutorError, HelixError
from helix.model.config import Config
from helix.model.lines import decode_line
from helix.model.request import Question, Reply
from helix.registry import Assignment, load
from helix.survey import share
from helix_dask.shard import ARTIFACTS, Done, Kept, Share, carry_out

EACH: Final = 4
OPTIONS: Final = ("address", "shards", "state")


class Shards:
    """An asynchronous iterator of jobs that are over: their lines came from a shard."""

    def __init__(self, assignment: Assignment) -> None:
        self._assignment, self._options = assignment, _options(assignment)
        sampling = assignment.config.sampling
        self._replicates, self._offset = sampling.replicates, sampling.replicate_offset
        chosen = [entry for entry in assignment.survey.entries if entry.selected]
        self._ordinals = {entry.id: entry.ordinal for entry in chosen}
        self._due = len(chosen) * self._replicates
        self._ready: deque[DistantJob[Written]] = deque()
        self._stack = contextlib.AsyncExitStack()
        self._futures: Any = None
        self._client: Any = None

    def __aiter__(self) -> Shards:
        return self

    async def __anext__(self) -> DistantJob[Written]:
        if self._futures is None:
            self._futures = aiter(await self._submitted())
        while not self._ready:
            future = await anext(self._futures, None)
            if future is None and self._due:
                raise ExecutorError(
                    f"executor=dask: {self._due} lines are missing: a judge that is waited for "
                    "(dispatch) needs shards that are runs: shard.index, shard.count and helix "
                    "report merge"
                )
            if future is None:
                raise StopAsyncIteration
            try:
                data = await future.result()
            except Exception as error:
                raise ExecutorError(
                    f"executor=dask: a shard was lost ({type(error).__name__}: {error}); the same "
                    "command asks only what was not answered"
                ) from None
            self._take(msgspec.msgpack.decode(data, type=Done))
            future.release()
        return self._ready.popleft()

    async def aclose(self) -> None:
        """Let go of the cluster, and end it if it was started here."""
        await self._stack.aclose()

    async def _submitted(self) -> Any:
        config, address = self._assignment.config, self._options["address"]
        if address is None:
            cluster = LocalCluster(
                n_workers=config.executor.workers,
                threads_per_worker=1,
                dashboard_address=None,
                asynchronous=True,
            )
            address = await self._stack.enter_async_context(cluster)
        client = await self._stack.enter_async_context(Client(address, asynchronous=True))
        count = self._options["shards"] or await shards_for(client)
        wanted = {share(name, count) for name in self._ordinals}
        name = uuid4().hex
        futures = [
            client.submit(carry_out, self._share(at, count), key=f"helix-{name}-{at}", pure=False)
            for at in sorted(wanted)
        ]
        return as_completed(futures)

    def _share(self, index: int, count: int) -> bytes:
        assignment = self._assignment
        suite = assignment.suite
        return msgspec.msgpack.encode(
            Share(
                config=assignment.config.model_dump_json().encode(),
                suite=None if suite is None else suite.model_dump_json(by_alias=True).encode(),
                today=assignment.today.isoformat(),
                plan=assignment.plan,
                index=index,
                count=count,
                folder=os.getcwd(),
                state=None if self._options["state"] == "shared" else f"helix-{assignment.plan}",
            )
        )

    def _take(self, done: Done) -> None:
        """Make a job of each line that a shard wrote, and of each trace that broke there."""
        if done.error is not None:
            raise _raised(*done.error)
        self._assignment.used(done.usage)
        _keep(self._assignment.config, done.kept)
        verdicts, *beside = (_by_trace(done.artifacts[part]) for part in ARTIFACTS)
        for trace, why in done.lost.items():
            verdicts.setdefault(trace, ())
            self._add(trace, range(self._replicates), ExecutorError(why))
        for trace, lines in verdicts.items():
            # Lines beside the verdicts do not say of which repeat they are: the first holds all.
            sides = [found.get(trace, ()) for found in beside]
            for line in lines:
                at = decode_line(line, dict).get("replicate", 0) - self._offset
                self._add(trace, (at,), Written(line, *sides))
                sides = []

    def _add(self, trace: str, replicates: Iterable[int], end: Written | Exception) -> None:
        ordinal = self._ordinals[trace]
        for at in replicates:
            job = DistantJob(ordinal * self._replicates + at, trace, lambda: Over(end))
            self._ready.append(job)
            self._due -= 1


def _options(assignment: Assignment) -> dict[str, Any]:
    config = assignment.config
    given = {"address": None, "shards": None, "state": "shared", **config.executor.options}
    for name in given:
        if name not in OPTIONS:
            raise ConfigError(
                f"executor.options must be of {', '.join(OPTIONS)} (got {name})"
                + errors.did_you_mean(name, OPTIONS)
            )
    shards = given["shards"]
    if shards is not None and (type(shards) is not int or shards < 1):
        raise ConfigError(f"executor.options.shards must be 1 or more (got {shards})")
    if given["state"] not in ("shared", "own"):
        raise ConfigError(f"executor.options.state must be shared or own (got {given['state']})")
    if config.shard.count != 1:
        raise ConfigError(
            f"shard.count must be 1 with executor=dask, which makes shards of its own (got "
            f"{config.shard.count}); set executor.options.shards"
        )
    if config.subject.traces == "-":
        raise ConfigError(
            "subject.traces must be files with executor=dask (got standard input): workers read "
            "them by their paths"
        )
    return given


def _by_trace(data: bytes) -> dict[str, tuple[bytes, ...]]:
    """Return the lines of an artifact by the trace that they are of, without their ends."""
    found: dict[str, list[bytes]] = {}
    for line in filter(None, data.split(b"\n")):
        held = decode_line(line, dict)
        name = next(held[key] for key in ("trajectoryId", "traceId", "trace") if key in held)
        found.setdefault(name, []).append(line)
    return {name: tuple(lines) for name, lines in found.items()}


def _keep(config: Config, kept: Sequence[Kept]) -> None:
    """Keep the replies that workers of their own state asked for; the first stands."""
    if kept:
        with open_store(config, load()) as cache:
            for item in kept:
                asked = None if item.asked is None else decode_line(item.asked, Question)
                cache.put(item.key, decode_line(item.reply, Reply), asked=asked)


def _raised(kind: str, text: str) -> HelixError:
    found = getattr(errors, kind, None)
    if isinstance(found, type) and issubclass(found, HelixError):
        return found(text)
    return ExecutorError(text)


async def shards_for(client: Client) -> int:
    """Return how many shards keep the workers of a cluster busy to the end.

    What a client tells of its scheduler names few or no workers; `ncores` asks for all of them.
    """
    return EACH * (len(await client.ncores()) or 1)

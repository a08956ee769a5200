"""One shard, on a worker: a whole run of its share, of which the lines go back.

A worker is trusted as this machine is: it gets the configuration and reads the files that it names.
"""

from __future__ import annotations

import datetime
import json
import os
import tempfile
from pathlib import Path
from typing import Final

import msgspec
from distributed import get_worker

from helix.engine.cache import open_cache
from helix.errors import HelixError
from helix.evaluate import run
from helix.model.config import Config
from helix.model.criterion import Suite
from helix.model.lines import encode_line
from helix.model.scorecard import UsageTotals

ARTIFACTS: Final = ("verdicts", "decisions", "failures", "candidates")


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is given: the run as data, which share of it, and where to keep replies.

    With `state` replies are kept in that folder below the worker's own folder, and come back.
    """

    config: bytes
    suite: bytes | None
    today: str
    plan: str
    index: int
    count: int
    folder: str
    state: str | None = None


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """A reply that a worker keeps, by its key, and what it answers."""

    key: str
    reply: bytes
    asked: bytes | None = None


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a share: its line artifacts as they are, what it used, who has no line.

    `error` is the class and text of what kept the share from being carried out.
    """

    artifacts: dict[str, bytes] = {}
    usage: UsageTotals = UsageTotals()
    lost: dict[str, str] = {}
    kept: tuple[Kept, ...] = ()
    error: tuple[str, str] | None = None


def carry_out(data: bytes) -> bytes:
    """Carry out a share and return what came of it, both as MessagePack."""
    share = msgspec.msgpack.decode(data, type=Share)
    try:
        done = _carried_out(share)
    except HelixError as error:
        done = Done(error=(type(error).__name__, str(error)))
    return msgspec.msgpack.encode(done)


def _carried_out(share: Share) -> Done:
    # Paths of the configuration are those of the run; a worker has one run at a time.
    os.chdir(share.folder)
    config = Config.model_validate_json(share.config)
    config = config.model_copy(
        update={
            "shard": config.shard.model_copy(update={"index": share.index, "count": share.count}),
            "executor": config.executor.model_copy(update={"name": "local", "options": {}}),
            "gate": config.gate.model_copy(
                update={"today": datetime.date.fromisoformat(share.today)}
            ),
        }
    )
    state = None
    if share.state is not None:
        state = str(Path(get_worker().local_directory, share.state))
        config = config.model_copy(
            update={
                "paths": config.paths.model_copy(update={"state": state}),
                "cache": config.cache.model_copy(update={"name": "disk", "options": {}}),
            }
        )
    suite = None if share.suite is None else Suite.model_validate_json(share.suite)
    with tempfile.TemporaryDirectory(prefix="helix-") as name:
        done = run(config, run_dir=name, suite=suite)
        if done.prepared.plan.digest != share.plan:
            raise HelixError(
                "executor=dask: a worker prepared another plan than this machine: Helix, plugins, "
                "the suite and paths.state must be the same on both"
            )
        files = {part: Path(name, f"{part}.jsonl").read_bytes() for part in ARTIFACTS}
        lost = dict(_lost(Path(name)))
    kept = () if state is None else tuple(_kept(state))
    return Done(artifacts=files, usage=done.scorecard.usage, lost=lost, kept=kept)


def _lost(folder: Path) -> list[tuple[str, str]]:
    lines = (folder / "events.jsonl").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    return [(e["trace"], e["error"]) for e in events if e["kind"] == "internal-error"]


def _kept(state: str) -> list[Kept]:
    with open_cache(state) as cache:
        return [
            Kept(key, encode_line(reply), None if asked is None else encode_line(asked))
            for key, reply, asked in cache.entries()
        ]

"""How this execution went: runmeta.json and events.jsonl, which are never compared (METHOD 45)."""

from __future__ import annotations

import datetime
import functools
import hashlib
import platform
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import helix
from helix.errors import ExitCode
from helix.files import atomic_write
from helix.model.canonical import canonical_bytes
from helix.model.config import Config
from helix.model.lines import encode_line, encode_page
from helix.model.manifest import Survey
from helix.model.preference import Preference
from helix.model.scorecard import Scorecard
from helix.planning import Prepared
from helix.registry import Registry


class RunLog:
    """The events of one execution as they happen, and its summary at the end.

    `command` is what was typed, for the command that runs the failures again; `aware` is what of
    the operator's memory the run may know.
    """

    def __init__(
        self,
        folder: Path,
        started: datetime.datetime,
        command: str | None = None,
        aware: Sequence[Preference] = (),
    ) -> None:
        self._folder, self._started, self._command = folder, started, command
        self._aware = aware
        self._events = folder / "events.jsonl"
        # In the place of whatever is there: a link that somebody left would be written through.
        atomic_write(self._events, b"")
        self.event("started")

    def event(self, kind: str, **facts: Any) -> None:
        """Append one event with the time at which it happened."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        with open(self._events, "ab") as file:
            file.write(encode_line({"at": now, "kind": kind, **facts}) + b"\n")

    def finish(
        self,
        prepared: Prepared,
        survey: Survey,
        scorecard: Scorecard,
        code: ExitCode,
        duration_s: float,
    ) -> None:
        """Write the summary: pins, seed, versions, digests, times, exit code."""
        config, asks = prepared.config, prepared.judge.asks
        self.event("finished", exitCode=int(code), runVerdict=scorecard.run_verdict)
        common = described(config, prepared.registry, self._folder, self._started, self._command)
        meta = {
            **common,
            "durationS": round(duration_s, 3),
            "exitCode": int(code),
            "runVerdict": scorecard.run_verdict,
            "model": prepared.pin.model if asks else None,
            "temperature": prepared.pin.temperature if asks else None,
            "judgeSeed": prepared.pin.seed if asks else None,
            "versions": {
                **common["versions"],
                "suite": prepared.suite.suite.version,
                "criteria": prepared.plan.decides["versions"],
            },
            "digests": {**scorecard.digests, "traces": traces_digest(survey)},
            "awareness": awareness(self._aware),
        }
        atomic_write(self._folder / "runmeta.json", encode_page(meta))


def described(
    config: Config,
    registry: Registry,
    folder: Path,
    started: datetime.datetime,
    command: str | None,
) -> dict[str, Any]:
    """Return what the run meta of every command records.

    `generatedAt` is the time that the run was given, which dates its waivers too. A run id is
    unique in its namespace, the folder that the run directory lies in.
    """
    plugins = sorted(registry.plugins.items())
    at = started.isoformat(timespec="seconds")
    return {
        "schemaVersion": "1.0",
        "runId": config.run.id or folder.name,
        "runIdNamespace": folder.absolute().parent.name,
        "process": process_identity(),
        "startedAt": at,
        "generatedAt": at,
        "command": command,
        "seed": config.sampling.seed,
        "stateRoot": config.paths.state,
        "versions": {
            "helix": helix.__version__,
            "python": platform.python_version(),
            "plugins": [{"name": name, "version": version} for name, version in plugins],
        },
    }


def traces_digest(survey: Survey) -> str:
    """Return the digest of all traces, in order; manifest.jsonl holds that of each."""
    total = hashlib.sha256()
    for entry in survey.entries:
        total.update(canonical_bytes([entry.id, entry.digest]) + b"\n")
    return total.hexdigest()


@functools.cache
def process_identity() -> str:
    """Return who this process is: two runs that bear the same were made by one (METHOD 71)."""
    return secrets.token_hex(16)


def awareness(known: Iterable[Preference]) -> dict[str, Any]:
    """Return what of the memory a run knew, as run meta records it (METHOD 70, 80)."""
    return {"memory": [{"name": one.name, "digest": one.digest} for one in known]}

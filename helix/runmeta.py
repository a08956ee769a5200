"""How this execution went: runmeta.json and events.jsonl, which are never compared (METHOD 45)."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import helix
from helix.errors import ExitCode
from helix.files import atomic_write
from helix.model.lines import encode_line, encode_page
from helix.model.preference import Preference
from helix.model.scorecard import Scorecard
from helix.planning import Prepared


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
        self._events.write_bytes(b"")
        self.event("started")

    def event(self, kind: str, **facts: Any) -> None:
        """Append one event with the time at which it happened."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        with open(self._events, "ab") as file:
            file.write(encode_line({"at": now, "kind": kind, **facts}) + b"\n")

    def finish(
        self, prepared: Prepared, scorecard: Scorecard, code: ExitCode, duration_s: float
    ) -> None:
        """Write the summary: pin, seed, versions, digests, times, exit code."""
        config = prepared.config
        plugins = sorted({(name, version) for name, version in prepared.registry.plugins.items()})
        self.event("finished", exitCode=int(code), runVerdict=scorecard.run_verdict)
        meta = {
            "schemaVersion": "1.0",
            "runId": config.run.id or self._folder.name,
            "startedAt": self._started.isoformat(timespec="seconds"),
            "durationS": round(duration_s, 3),
            "exitCode": int(code),
            "runVerdict": scorecard.run_verdict,
            "model": prepared.pin.model if prepared.judge.asks else None,
            "temperature": prepared.pin.temperature if prepared.judge.asks else None,
            "seed": config.sampling.seed,
            "stateRoot": config.paths.state,
            "command": self._command,
            "versions": {
                "helix": helix.__version__,
                "python": platform.python_version(),
                "plugins": [{"name": name, "version": version} for name, version in plugins],
                "suite": prepared.suite.suite.version,
            },
            "digests": scorecard.digests,
            "awareness": awareness(self._aware),
        }
        atomic_write(self._folder / "runmeta.json", encode_page(meta))


def awareness(known: Iterable[Preference]) -> dict[str, Any]:
    """Return what of the memory a run knew, as run meta records it (METHOD 70, 80)."""
    return {"memory": [{"name": one.name, "digest": one.digest} for one in known]}

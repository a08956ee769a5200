"""One run of a Hydra command: its body, and what is left in its directory of how it ended."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helix.app import console, failures
from helix.app.loading import imported
from helix.errors import ExitCode
from helix.files import atomic_write
from helix.model.config import Config

RUNMETA = "runmeta.json"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command's body returns: bytes for standard output, and the exit code."""

    output: bytes
    exit_code: ExitCode


def execute(command: str, config: Config, run_dir: Path, words: Sequence[str]) -> ExitCode:
    """Carry a run out and return its exit code, which is also written to its directory.

    `words` are those of the command as typed. Nothing but an interruption is raised, so that one
    job never cancels a sweep.
    """
    _record(run_dir, None)
    try:
        module = imported(f"helix.app.commands.{command.replace('-', '_')}")
        outcome: Outcome = module.run(
            config, run_dir, shlex.join(["helix", command, *_kept(words)])
        )
        console.say_bytes(outcome.output)
        code = outcome.exit_code
    except KeyboardInterrupt:
        _record(run_dir, ExitCode.INTERRUPTED)
        raise
    except BaseException as error:
        # SystemExit too: a check or script that calls exit(0) has not passed the gate.
        code = failures.told(error)
    _record(run_dir, code)
    return code


def exit_code(run_dir: Path) -> ExitCode:
    """Return the exit code that a run left in its directory; INTERNAL if it left none."""
    try:
        return ExitCode(_read(run_dir / RUNMETA)["exitCode"])
    except (KeyError, ValueError):
        return ExitCode.INTERNAL


def _kept(words: Sequence[str]) -> list[str]:
    """Leave out what a rerun of the failures says anew."""
    return [w for w in words if not w.lstrip("+").startswith(("select.failed_from=", "hydra."))]


def _record(run_dir: Path, code: ExitCode | None) -> None:
    if not run_dir.is_dir():
        return
    meta = _read(run_dir / RUNMETA)
    meta.pop("exitCode", None)
    if code is not None:
        meta["exitCode"] = int(code)
    elif not meta:
        return
    text = json.dumps(meta, indent=2, sort_keys=True, ensure_ascii=False)
    with contextlib.suppress(OSError):
        atomic_write(run_dir / RUNMETA, (text + "\n").encode("utf-8", "backslashreplace"))


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}

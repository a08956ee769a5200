"""One run of a Hydra command: its body, and what is left in its directory of how it ended."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helix.app import console, failures
from helix.app.conf import conf_dir
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


def execute(
    command: str, config: Config, run_dir: Path, words: Sequence[str], *, tidy: bool = True
) -> ExitCode:
    """Carry a run out and return its exit code, which is also written to its directory.

    `words` are those of the command as typed. Nothing but an interruption is raised, so that one
    job never cancels a sweep. With `tidy`, folders that an error left empty are removed.
    """
    _record(run_dir, None)
    absent = [folder for folder in (run_dir, *run_dir.parents) if not folder.exists()]
    try:
        module = imported(f"helix.app.commands.{command.replace('-', '_')}")
        typed = shlex.join([*invoked(), command, *_kept(words)])
        outcome: Outcome = module.run(config, run_dir, typed)
        note(run_dir, configRoot=str(conf_dir()))
        console.say_bytes(outcome.output)
        code = outcome.exit_code
    except KeyboardInterrupt:
        _record(run_dir, ExitCode.INTERRUPTED)
        raise
    except BaseException as error:
        # SystemExit too: a check or script that calls exit(0) has not passed the gate.
        code = failures.told(error)
        for folder in absent if tidy else ():
            with contextlib.suppress(OSError):
                folder.rmdir()
    _record(run_dir, code)
    return code


def invoked() -> list[str]:
    """Return the words that start this program again, short where the shell would find it."""
    program = Path(sys.argv[0])
    if program.name == "__main__.py":
        return [_on_path(Path(sys.executable)), "-m", "helix"]
    return [_on_path(program) if program.stem == "helix" else "helix"]


def _on_path(program: Path) -> str:
    """Return a program's name where the shell finds it in that very folder, else its path.

    The folder is what counts: an environment's python is a link to one that lacks its packages.
    """
    found = shutil.which(program.name)
    with contextlib.suppress(OSError):
        if found is not None and os.path.samefile(Path(found).parent, program.parent):
            return program.name
    return str(program)


def exit_code(run_dir: Path) -> ExitCode:
    """Return the exit code that a run left in its directory; INTERNAL if it left none."""
    try:
        return ExitCode(_read(run_dir / RUNMETA)["exitCode"])
    except (KeyError, ValueError):
        return ExitCode.INTERNAL


def gate(run_dir: Path) -> str:
    """Return in a few words how a run's gate stands."""
    verdict = _read(run_dir / RUNMETA).get("runVerdict")
    return f"gate {verdict}" if verdict else "no verdict"


def _kept(words: Sequence[str]) -> list[str]:
    """Leave out what a rerun of the failures says anew."""
    return [w for w in words if not w.lstrip("+").startswith(("select.failed_from=", "hydra."))]


def note(run_dir: Path, **facts: Any) -> None:
    """Add facts to what a run left of how its execution went."""
    meta = _read(run_dir / RUNMETA)
    if meta:
        _write(run_dir, {**meta, **facts})


def _record(run_dir: Path, code: ExitCode | None) -> None:
    if not run_dir.is_dir():
        return
    meta = _read(run_dir / RUNMETA)
    meta.pop("exitCode", None)
    if code is not None:
        meta["exitCode"] = int(code)
    elif not meta:
        return
    _write(run_dir, meta)


def _write(run_dir: Path, meta: dict[str, Any]) -> None:
    text = json.dumps(meta, indent=2, sort_keys=True, ensure_ascii=False)
    with contextlib.suppress(OSError):
        atomic_write(run_dir / RUNMETA, (text + "\n").encode("utf-8", "backslashreplace"))


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}

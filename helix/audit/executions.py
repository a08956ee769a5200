"""Executions are processes: each has a place of its own and leaves a run and who it was.

They run one after the other in one and the same place, so that a path is the same in all of them
unless the directory is what varies, and are set aside when they have ended. What stands in the
working directory is reachable there under its name: inputs as copies, all else as links.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from helix.audit import executor
from helix.audit.conditions import Conditions, Program
from helix.audit.masking import COMPARED
from helix.children import kill_group
from helix.errors import ExitCode, UsageError
from helix.model.audited import Execution
from helix.redaction import redacted
from helix.runs import object_of

RECORD = "execution.json"
RUN = "run"
HERE = "here"
ELSEWHERE = "a place elsewhere"
T = TypeVar("T")
_UNFINISHED = (ExitCode.INTERNAL, ExitCode.WAITING)


@dataclass(frozen=True, slots=True)
class Executor:
    """Starts executions of a program below `root`, over what stands in `cwd`.

    `inputs` are paths relative to `cwd` that are copied for each. `deadline_s` bounds each one.
    """

    root: Path
    cwd: Path
    program: Program
    inputs: tuple[str, ...] = ()
    deadline_s: float = 3600.0

    def clear(self) -> None:
        """Remove the executions that an earlier audit left in the same folder."""
        for record in self.root.glob(f"*/{RECORD}"):
            shutil.rmtree(record.parent, ignore_errors=True)

    def execute(self, conditions: Conditions, number: int) -> Execution:
        """Carry one execution out in a process of its own; it is kept under its number."""
        place = self.root / (ELSEWHERE if "directory" in conditions.varied else HERE)
        shutil.rmtree(place, ignore_errors=True)
        work, out = place / "work", place / RUN
        work.mkdir(parents=True)
        backwards = "order" in conditions.varied
        reach(self.cwd, work, {Path(x) for x in self.inputs}, self.root, backwards=backwards)
        task = {
            "name": conditions.name,
            "varied": list(conditions.varied),
            "command": self.program.filled(conditions, out),
            "folder": str(work),
            "stdout": str(place / "stdout.txt"),
            "stderr": str(place / "stderr.txt"),
            "record": str(place / RECORD),
        }
        late = not _ended(task, conditions.environment(), self.deadline_s)
        shutil.rmtree(work, ignore_errors=True)
        for name in ("stdout.txt", "stderr.txt"):
            _without_secrets(place / name)
        kept = self.root / str(number)
        shutil.rmtree(kept, ignore_errors=True)
        # A program may have removed it all.
        place.mkdir(parents=True, exist_ok=True)
        os.replace(place, kept)
        return self._said(conditions, kept, late=late)

    def _said(self, conditions: Conditions, kept: Path, *, late: bool) -> Execution:
        record = object_of(kept / RECORD)
        code = record.get("exitCode")
        failed = record.get("failed")
        if late:
            failed = f"it did not end within {self.deadline_s:g} s"
        elif failed is None and not (kept / RUN / "scorecard.json").is_file():
            failed = f"it wrote no scorecard.json to {{out}} (exit {code}){_last(kept)}"
        elif failed is None and (led := _led_out(kept)):
            failed = f"{led} leads out of {{out}}: what stands elsewhere is no run of its own"
        elif failed is None and self.program.helix and code in _UNFINISHED:
            failed = f"the run is not whole (exit {code}){_last(kept)}"
        return Execution(
            name=conditions.name,
            run=str(kept / RUN),
            identity=record.get("identity"),
            varied=conditions.varied,
            python=conditions.version if self.program.takes("python") else None,
            exit_code=code,
            failed=failed,
            started_at=record.get("startedAt"),
            ended_at=record.get("endedAt"),
        )


def taken(folder: Path) -> Execution:
    """Return a finished run as an execution, with what it says of who made it."""
    meta = object_of(folder / "runmeta.json")
    record = object_of(folder.parent / RECORD)
    versions = _of(meta.get("versions"), dict) or {}
    varied = _of(record.get("varied"), list) or []
    return Execution(
        name=str(folder),
        run=str(folder),
        identity=_of(meta.get("process"), str) or _of(record.get("identity"), str),
        varied=tuple(name for name in varied if isinstance(name, str)),
        python=_of(versions.get("python"), str),
        exit_code=_of(meta.get("exitCode", record.get("exitCode")), int),
    )


def _of(value: Any, kind: type[T]) -> T | None:
    """Return what a run says of itself, None where it is nothing of its kind."""
    return value if isinstance(value, kind) else None


def refuse_shared(executions: Iterable[Execution], own: str) -> None:
    """Raise UsageError for an execution of one's own process, or two of one (METHOD 71).

    A run says itself which process made it; a program that hands out an old run for a new one
    is found by that.
    """
    seen: dict[str, tuple[int, str]] = {}
    for at, execution in enumerate(executions):
        for identity in _identities(execution):
            if identity == own:
                raise UsageError(
                    f"{execution.name} must be made by another process than the audit's: who "
                    "compares executions makes none of them"
                )
            before, name = seen.setdefault(identity, (at, execution.name))
            if before != at:
                raise UsageError(
                    f"{name} and {execution.name} must be two executions (one process made both): "
                    "run the second in a process of its own"
                )


def reach(
    source: Path, target: Path, copied: set[Path], avoid: Path, *, backwards: bool = False
) -> None:
    """Make what stands in `source` reachable in `target`: `copied` as copies, the rest as links.

    The folders that lead to `avoid`, where the executions are, are left out.
    """
    for entry in sorted(source.iterdir(), reverse=backwards):
        name = Path(entry.name)
        below = {path.relative_to(name) for path in copied if path.parts[:1] == name.parts}
        if avoid.is_relative_to(entry):
            continue
        if Path(".") in below:
            _copy(entry, target / name, backwards=backwards)
        elif below:
            (target / name).mkdir()
            reach(entry, target / name, below, avoid, backwards=backwards)
        else:
            (target / name).symlink_to(entry)


def _copy(source: Path, target: Path, *, backwards: bool) -> None:
    if not source.is_dir():
        shutil.copy2(source, target)
        return
    target.mkdir()
    for entry in sorted(source.iterdir(), reverse=backwards):
        _copy(entry, target / entry.name, backwards=backwards)


def _ended(task: dict[str, Any], environment: dict[str, str], deadline_s: float) -> bool:
    """Run a task in a process group of its own; False where it had to be ended."""
    words = [sys.executable, "-I", str(Path(executor.__file__)), json.dumps(task)]
    # Its standard input ends when this process does, however that ends.
    with subprocess.Popen(
        words, env=environment, stdin=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            return False
        finally:
            # What it left running would go on writing where the next one is executed.
            kill_group(process)
    return True


def _led_out(kept: Path) -> str | None:
    """Return the name of the run or of an artifact that is a link to somewhere else."""
    run, own = kept / RUN, kept.resolve()
    places = (run, *(run / name for name in COMPARED))
    return next((x.name for x in places if not x.resolve().is_relative_to(own)), None)


def _identities(execution: Execution) -> Sequence[str]:
    process = object_of(Path(execution.run) / "runmeta.json").get("process")
    return list(dict.fromkeys(filter(None, (execution.identity, _of(process, str)))))


def _without_secrets(said: Path) -> None:
    """Take the secrets of the environment out of what a program printed; byte for byte else."""
    with contextlib.suppress(OSError):
        text = said.read_bytes().decode("utf-8", "surrogateescape")
        if (clean := redacted(text)) != text:
            said.write_bytes(clean.encode("utf-8", "surrogateescape"))


def _last(kept: Path) -> str:
    """Return the last line of what an execution said of itself, behind a colon."""
    try:
        text = (kept / "stderr.txt").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f": {lines[-1][:300]}" if lines else ""

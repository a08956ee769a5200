"""Programs that start another one, and whether that is still there."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import pytest

from tests import moments

watched = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="processes are watched by /proc"
)
FAMILY = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open(sys.argv[1] + ".part", "w") as note:
    note.write(str(child.pid))
os.replace(sys.argv[1] + ".part", sys.argv[1])
"""
"""Notes the id of its child in the file that is its first argument; the child holds its streams."""
RUNAWAY = FAMILY.replace('sleep(600)"]', 'sleep(600)"], start_new_session=True')
"""The same, with a child that leaves the group of the program."""


def gone(note: Path) -> bool:
    """Whether the child that was noted ends soon, waited for while others need the machine."""
    stat = Path(f"/proc/{int(note.read_text(encoding='utf-8'))}/stat")

    def ended() -> bool:
        try:
            return stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
        except (FileNotFoundError, ProcessLookupError):
            return True

    moments.until(ended)
    return True


def until(note: Path) -> None:
    """Wait until a child is noted."""
    moments.until(note.exists)


def alive(note: Path) -> bool:
    """Whether the child that was noted is still there."""
    return Path(f"/proc/{int(note.read_text(encoding='utf-8'))}").exists()


def end(note: Path) -> None:
    """End the child that was noted, if one was."""
    if note.exists():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(note.read_text(encoding="utf-8")), signal.SIGKILL)

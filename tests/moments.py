"""Tests that act in the middle of something: they wait for the event that they mean.

Nothing here is faster or slower than the machine: a judge that is held answers when the test says
so, and a limit only ends a test that would wait for ever.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIMIT_S = 120.0
HELD = '''\
import time

def held(log):
    """Wait while the log has as many lines as the file `hold` beside it says, or more."""
    try:
        while len(log.read_text().splitlines()) >= int(log.with_name("hold").read_text()):
            time.sleep(0.01)
    except FileNotFoundError:
        return
'''
"""What a script begins with whose calls are held once so many have left a line in its log."""
TOLD = '''\
import asyncio

async def told():
    """Return when the run that this is a part of has been told to end."""
    while not any(task.cancelling() for task in asyncio.all_tasks()):
        await asyncio.sleep(0.01)
'''
"""What a script begins with that answers when its run was interrupted."""


def until(holds: Callable[[], bool], process: subprocess.Popen[Any] | None = None) -> None:
    """Return when it holds; fail where it never does, or where the process ended before."""
    ends = time.monotonic() + LIMIT_S
    while not holds():
        assert process is None or process.poll() is None or holds(), "it ended before"
        assert time.monotonic() < ends, "it did not come to be"
        time.sleep(0.01)


def hold(folder: Path, lines: int) -> None:
    """Hold the calls of a script that begins with HELD, from the one that is that many."""
    (folder / "hold.part").write_text(str(lines), encoding="utf-8")
    os.replace(folder / "hold.part", folder / "hold")


def go(folder: Path) -> None:
    """Hold no call any more."""
    (folder / "hold").unlink()

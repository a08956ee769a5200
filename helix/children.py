"""How a program that was started in a session of its own is ended, and how its end is told.

A program that ends may leave children behind; its group outlives it and is killed as a whole.
"""

from __future__ import annotations

import asyncio.subprocess
import contextlib
import os
import signal
import subprocess
import sys


def kill_group(program: subprocess.Popen[bytes] | asyncio.subprocess.Process) -> None:
    """Kill a program with all that it started; nothing where none of them is left.

    It must have been started with `start_new_session`. Without process groups, on Windows, the
    program alone is killed. Nobody is waited for.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            program.kill()
        else:
            os.killpg(program.pid, signal.SIGKILL)


def how_ended(status: int) -> str:
    """Return what an exit status says in words; below 0 it is a signal's, as subprocess has it."""
    return f"exited with status {status}" if status >= 0 else f"was ended by {_signal(-status)}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

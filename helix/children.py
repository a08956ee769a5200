"""How a program that was started in a session of its own is ended, and what is told of it.

A program that ends may leave children behind; its group outlives it and is killed as a whole.
"""

from __future__ import annotations

import asyncio.subprocess
import contextlib
import os
import re
import signal
import subprocess
import sys

_SPACE = re.compile(rb"\s+")


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


def keep_end(said: bytearray, most: int) -> None:
    """Cut what a program said to `most` bytes of its end, behind white space.

    So no part of a secret is left at the cut, where nobody would know it for one.
    """
    if len(said) > most:
        space = _SPACE.search(said, len(said) - most)
        del said[: space.end() if space else len(said)]


def how_ended(status: int) -> str:
    """Return what an exit status says in words; below 0 it is a signal's, as subprocess has it."""
    return f"exited with status {status}" if status >= 0 else f"was ended by {_signal(-status)}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

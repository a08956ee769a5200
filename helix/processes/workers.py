"""One worker process as the run sees it: started, told something, ended."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from typing import Final

from helix.children import kill_group
from helix.processes.wire import HEADER, FromWorker, ToWorker, frame, from_worker
from helix.processes.worker import command

GONE: Final = (asyncio.IncompleteReadError, ConnectionError)
"""What telling a worker that ended raises."""
_BUFFER: Final = 4 << 20


class Process:
    """A worker that runs; it has one thing in hand at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls) -> Process:
        """Start a worker; an interrupt from the terminal reaches this process alone."""
        apart = sys.platform != "win32"
        pipe = asyncio.subprocess.PIPE
        return cls(
            await asyncio.create_subprocess_exec(
                *command(), stdin=pipe, stdout=pipe, limit=_BUFFER, start_new_session=apart
            )
        )

    async def tell(self, message: ToWorker) -> FromWorker:
        """Send a message and return what comes back; one of GONE where the worker has ended."""
        target, source = self._process.stdin, self._process.stdout
        assert target is not None and source is not None
        target.write(frame(message))
        await target.drain()
        size = HEADER.unpack(await source.readexactly(HEADER.size))[0]
        return from_worker(await source.readexactly(size))

    async def end(self) -> str:
        """End the worker, which keeps nothing that is needed, and say how it had ended.

        What a check of its started, and left behind, ends too.
        """
        kill_group(self._process)
        with contextlib.suppress(*GONE):
            await self._process.communicate()
        code = self._process.returncode or 0
        if code >= 0:
            return f"exit status {code}"
        try:
            return f"signal {signal.Signals(-code).name}"
        except ValueError:
            return f"signal {-code}"

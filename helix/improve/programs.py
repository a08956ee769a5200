"""Programs of the user's: started without a shell, bounded in time and output, ended with all
that they started.
"""

from __future__ import annotations

import contextlib
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO

from helix.children import how_ended, keep_end, kill_group
from helix.redaction import redacted

MOST_BYTES = 64_000_000
TOLD_BYTES = 64_000
# A reason that is kept is cut behind its 300th character, and how it ended stands before this.
TOLD_CHARACTERS = 220
_LOOK_S = 0.05


class ProgramError(Exception):
    """A program could not be started, took too long, said too much, or failed."""


@dataclass(slots=True)
class Programs:
    """Programs that run side by side; `stop` ends all of them."""

    stopped: threading.Event = field(default_factory=threading.Event)

    def stop(self) -> None:
        """End every program that runs, and let none start any more."""
        self.stopped.set()

    def run(self, words: Sequence[str], given: bytes, seconds: float) -> bytes:
        """Return what a program prints; ProgramError, with its last words, if it fails."""
        if self.stopped.is_set():
            raise ProgramError("was not started: interrupted")
        try:
            process = subprocess.Popen(
                list(words),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ProgramError(f"{words[0]} could not be started: {error}") from None
        talk = _Talk(process, given)
        try:
            fault = self._awaited(process, talk, time.monotonic() + seconds, seconds)
        finally:
            kill_group(process)
            process.wait()
            talk.close()
        if fault:
            raise ProgramError(f"{words[0]} {fault}")
        if process.returncode:
            complaint = " ".join(redacted(bytes(talk.complaint).decode("utf-8", "replace")).split())
            told = f": {complaint[-TOLD_CHARACTERS:]}" if complaint else ""
            raise ProgramError(f"{words[0]} {how_ended(process.returncode)}{told}")
        return bytes(talk.said)

    def _awaited(
        self, process: subprocess.Popen[bytes], talk: _Talk, until: float, seconds: float
    ) -> str | None:
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK_S)
                # A child that the program left behind may hold its output open.
                talk.join(max(_LOOK_S, min(1.0, until - time.monotonic())))
                return f"printed more than {MOST_BYTES:,} bytes" if talk.too_much else None
            if talk.too_much:
                return f"printed more than {MOST_BYTES:,} bytes"
            if self.stopped.is_set():
                return "was ended: interrupted"
            if time.monotonic() >= until:
                return f"did not end within {seconds:g} seconds"


class _Talk:
    """The three streams of a program, each served by a thread, which closes it.

    A child that left the group holds a stream open as long as it lives; it is not waited for.
    """

    def __init__(self, process: subprocess.Popen[bytes], given: bytes) -> None:
        self.said, self.complaint = bytearray(), bytearray()
        self.too_much = False
        assert process.stdin and process.stdout and process.stderr
        self._threads = [
            threading.Thread(target=self._feed, args=(process.stdin, given), daemon=True),
            threading.Thread(target=self._hear, args=(process.stdout,), daemon=True),
            threading.Thread(target=self._keep_end, args=(process.stderr,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def join(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        for thread in self._threads[1:]:
            thread.join(max(0.0, until - time.monotonic()))

    def close(self) -> None:
        for thread in self._threads:
            thread.join(1.0)

    def _feed(self, stdin: IO[bytes], given: bytes) -> None:
        # A program need not read what it is given.
        with contextlib.suppress(OSError, ValueError):
            stdin.write(given)
        with contextlib.suppress(OSError, ValueError):
            stdin.close()

    def _hear(self, stdout: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError), stdout:
            while part := stdout.read1(65_536):  # type: ignore[attr-defined]
                if len(self.said) + len(part) > MOST_BYTES:
                    self.too_much = True
                    return
                self.said += part

    def _keep_end(self, stderr: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError), stderr:
            while part := stderr.read1(65_536):  # type: ignore[attr-defined]
                self.complaint += part
                keep_end(self.complaint, TOLD_BYTES)

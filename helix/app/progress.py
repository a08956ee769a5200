"""Progress on standard error: how many traces are done, how many replies are new or cached."""

from __future__ import annotations

import sys
import time

from helix.engine.drive import Event

EVERY_S = 0.2
EVERY_S_IN_A_LOG = 10.0


class Progress:
    """A line that is rewritten on a terminal, and repeated now and then in a log."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._every = EVERY_S if self._terminal else EVERY_S_IN_A_LOG
        self._next = time.monotonic() + self._every
        self._done = self._asking = self._cached = self._new = 0
        self._shown = False

    def __call__(self, event: Event) -> None:
        """Take in one event of the engine."""
        if event.kind == "done":
            self._done += 1
        elif event.kind == "asking":
            self._asking += 1
        else:
            self._asking = max(0, self._asking - 1)
            if event.detail == "cache":
                self._cached += 1
            else:
                self._new += 1
        if time.monotonic() >= self._next:
            self._show()

    def close(self) -> None:
        """End the line on a terminal."""
        if self._shown and self._terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _show(self) -> None:
        self._next = time.monotonic() + self._every
        self._shown = True
        text = f"{self._done} traces done; {self._cached} replies cached, {self._new} new"
        if self._asking:
            text += f", {self._asking} asked"
        sys.stderr.write(f"\r\x1b[K{text}" if self._terminal else f"{text}\n")
        sys.stderr.flush()

"""Progress on standard error: how many traces are done, how many replies are new or cached."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter

from helix.engine.drive import Event

WORDS = {"cache": "cached", "live": "new", "recorded": "recorded", "shared": "shared"}
EVERY_S = 0.2
EVERY_S_IN_A_LOG = 10.0


class Progress:
    """A line that is rewritten on a terminal, and repeated now and then in a log."""

    def __init__(self) -> None:
        plain = bool(os.environ.get("CI")) or os.environ.get("TERM") == "dumb"
        self._terminal = sys.stderr.isatty() and not plain
        self._every = EVERY_S if self._terminal else EVERY_S_IN_A_LOG
        self._next = time.monotonic() + self._every
        self._done = self._asking = 0
        self._replies: Counter[str] = Counter()
        self._shown = False

    def __call__(self, event: Event) -> None:
        """Take in one event of the engine."""
        if event.kind == "done":
            self._done += 1
        elif event.kind == "asking":
            self._asking += 1
        else:
            self._asking = max(0, self._asking - 1)
            self._replies[WORDS.get(event.detail, "without a reply")] += 1
        if time.monotonic() >= self._next:
            self._show()

    def close(self) -> None:
        """End the line on a terminal."""
        if self._shown and self._terminal:
            self._shown = False
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _show(self) -> None:
        self._next = time.monotonic() + self._every
        self._shown = True
        told = [f"{self._done} traces done"]
        told += [f"{n} replies {word}" for word, n in sorted(self._replies.items())]
        if self._asking:
            told.append(f"waiting for {self._asking}")
        text = ", ".join(told)
        sys.stderr.write(f"\r\x1b[K{text}" if self._terminal else f"{text}\n")
        sys.stderr.flush()

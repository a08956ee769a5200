"""Progress on standard error: what is done, what is waited for, what is spent so far."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from helix.engine.drive import Event
from helix.engine.meter import Meter, Tally
from helix.model.config import Verbosity

if TYPE_CHECKING:
    from rich.console import RenderableType

BAR, WIDE = 16, 60
EVERY_S = 0.2
EVERY_S_IN_A_LOG = 10.0
UNCHANGED_S_IN_A_LOG = 60.0
MICRO = 1_000_000
STOPPING = ("ending what is in flight; Ctrl-C again ends at once", "ending; Ctrl-C again: at once")


class Progress:
    """A line that is rewritten on a terminal, and repeated now and then in a log.

    A thread of its own shows it, so that a long wait is seen to be one.
    """

    def __init__(self, verbosity: Verbosity = "normal") -> None:
        self._quiet = verbosity == "quiet"
        plain = bool(os.environ.get("CI")) or os.environ.get("TERM") == "dumb"
        self._terminal = sys.stderr.isatty() and not plain
        self._state, self._lock = Status(), threading.Lock()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def __call__(self, event: Event) -> None:
        """Take in one event of the engine."""
        with self._lock:
            self._state.take(event, time.monotonic())
        if self._thread is None and not self._quiet:
            show = self._on_a_terminal if self._terminal else self._in_a_log
            self._thread = threading.Thread(target=show, name="helix-progress", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop, and clear the line on a terminal."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join()

    def _on_a_terminal(self) -> None:
        if self._closed.wait(EVERY_S):
            return
        from rich.console import Console
        from rich.live import Live

        line = Live(
            console=Console(file=sys.stderr),
            get_renderable=self._drawn,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        with line:
            while not self._closed.wait(EVERY_S):
                line.refresh()

    def _drawn(self) -> RenderableType:
        from rich.columns import Columns
        from rich.progress_bar import ProgressBar
        from rich.text import Text

        width = shutil.get_terminal_size().columns - 1
        with self._lock:
            done, total = self._state.done, self._state.total
            bar = BAR if total and width >= WIDE else 0
            text = self._state.text(time.monotonic(), width - bar)
        words = Text(text, no_wrap=True, overflow="ellipsis")
        if not bar:
            return words
        drawn = ProgressBar(
            total=total, completed=done, width=bar - 1, complete_style="blue", finished_style="blue"
        )
        return Columns([drawn, words])

    def _in_a_log(self) -> None:
        shown, shown_at = "", 0.0
        while not self._closed.wait(EVERY_S_IN_A_LOG):
            now = time.monotonic()
            with self._lock:
                text = self._state.text(now, shutil.get_terminal_size().columns - 1)
            if text != shown or now - shown_at >= UNCHANGED_S_IN_A_LOG:
                shown, shown_at = text, now
                sys.stderr.write(f"{text}\n")
                sys.stderr.flush()


class Status:
    """How a run stands, from the engine's events; pure, the time is passed in.

    `done` of `total` traces have a line; a total of 0 is not known.
    """

    def __init__(self) -> None:
        self.done = self.total = 0
        self._kept = 0
        self._asking: dict[int, str] = {}
        self._held: dict[int, tuple[str, float]] = {}
        self._used: Meter | None = None
        self._stopping = False

    def take(self, event: Event, now: float) -> None:
        """Take in one event."""
        self._used = event.used or self._used
        if event.kind == "begin":
            self.total = event.total
        elif event.kind == "stopping":
            self._stopping = True
        if event.job is None:
            return
        at = event.job.ordinal
        if event.kind == "asking":
            self._asking[at] = event.detail
        elif event.kind == "waiting":
            self._held[at] = (event.detail, now + event.seconds)
        else:
            self._asking.pop(at, None)
            self._held.pop(at, None)
            self.done += event.kind == "done"
            self._kept += event.detail in ("cache", "recorded", "shared")

    def text(self, now: float, width: int) -> str:
        """Return the line, what matters most first, no longer than the width."""
        of, short_of = (f" of {self.total}", f"/{self.total}") if self.total else ("", "")
        parts = [(f"{self.done}{of} traces", f"{self.done}{short_of}")]
        waits = ", ".join(self._waits(now))
        if self._stopping:
            parts.append(STOPPING)
        if waits:
            parts.append((f"waiting for {waits}", waits))
        spent = _spent(self._used, self._kept)
        if spent:
            parts.append((", ".join(spent), spent[-1]))
        return fitted(parts, width)

    def _waits(self, now: float) -> list[str]:
        until: dict[str, float] = {}
        roles: Counter[str] = Counter()
        for at, role in self._asking.items():
            what, end = self._held.get(at, ("", now))
            if end > now:
                until[what] = max(end, until.get(what, end))
            else:
                roles[role] += 1
        told = [f"{what} {end - now:.0f} s" for what, end in sorted(until.items())]
        return told + [f"{role} {n}" for role, n in sorted(roles.items())]


def fitted(parts: Sequence[tuple[str, str]], width: int) -> str:
    """Return the parts in one line: long forms where they fit, the last ones shortened first."""
    for long in range(len(parts), -1, -1):
        words = [full for full, _ in parts[:long]] + [short for _, short in parts[long:]]
        text = "; ".join(words)
        if len(text) <= width:
            return text
    shorter = parts[:-1]
    return fitted(shorter, width) if shorter else text[: max(0, width)]


def _spent(used: Meter | None, kept: int) -> list[str]:
    """Return what was spent, in words; a sum that lacks a part says `at least` by its plus."""
    told = [f"{kept} replies kept"] if kept else []
    if used is None or not used.calls:
        return told
    told.append(f"{used.calls:,} call{'s' if used.calls > 1 else ''}")
    tokens = (used.prompt_tokens, used.completion_tokens)
    if any(tally.recorded for tally in tokens):
        more = "+" if used.lost or any(map(_lacks, tokens)) else ""
        told.append(f"{sum(tally.total for tally in tokens):,}{more} tokens")
    if used.cost_micro_usd.recorded:
        more = "+" if used.lost or _lacks(used.cost_micro_usd) else ""
        told.append(f"${used.cost_micro_usd.total / MICRO:.4f}{more}")
    return told


def _lacks(tally: Tally) -> bool:
    return tally.unrecorded > 0

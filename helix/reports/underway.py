"""A run while it is being written, told from events.jsonl and verdicts.part.

Of either only what is new since the last look is read, and of one look no more than a bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helix.errors import ArtifactError
from helix.model.lines import decode_line
from helix.model.verdict import MatrixVerdictFile
from helix.reports.html import environment
from helix.reports.words import NOT_RECORDED, WORST_FIRST, Standing, counted
from helix.runs import RunFiles

EVERY: int = 2
"""Seconds after which the page loads itself again."""
MOST_BYTES = 8_000_000
LAST_EVENTS = 12
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look at a run shows; `counts` are the cells so far by how they stand.

    `events` are the last things that happened, each with its time.
    """

    title: str
    told: str
    counts: list[tuple[Standing, int]]
    facts: list[tuple[str, str | None]]
    events: Sequence[tuple[str, str]] = ()


@dataclass(slots=True)
class _Tail:
    """A file that grows by whole lines, and how far it was read."""

    path: Path
    at: int = 0

    def lines(self) -> list[bytes]:
        """Return the whole lines that are new, within the bound; a smaller file is another one."""
        try:
            with open(self.path, "rb") as file:
                if file.seek(0, 2) < self.at:
                    self.at = 0
                file.seek(self.at)
                data = file.read(MOST_BYTES)
        except OSError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self.at += len(whole)
        return whole.splitlines()


@dataclass(slots=True)
class Watch:
    """Looks at a run's folder again and again, and remembers what it has counted."""

    folder: Path
    _verdicts: _Tail = field(init=False)
    _events: _Tail = field(init=False)
    _standings: Counter[Standing] = field(default_factory=Counter)
    _traces: int = 0
    _last: list[tuple[str, str]] = field(default_factory=list)
    _started: str | None = None
    _total: int | None = None

    def __post_init__(self) -> None:
        self._verdicts = _Tail(self.folder / "verdicts.part")
        self._events = _Tail(self.folder / "events.jsonl")

    def look(self) -> Seen:
        """Return how far the run is."""
        self._take_events()
        self._take_verdicts()
        if self._total is None:
            self._total = self._planned()
        counts = [(standing, self._standings[standing]) for standing in WORST_FIRST]
        done = counted(self._traces, "trace")
        of = f" of {self._total:,}" if self._total is not None else ""
        told = f"{done}{of} adjudicated so far; nothing is decided before the run has ended."
        facts = [("started", self._started)]
        return Seen("Running", told, counts, facts, tuple(reversed(self._last)))

    def _take_events(self) -> None:
        for line in self._events.lines():
            event = _object(line)
            if event.get("kind") == "started":
                self._begin(str(event.get("at")))
            self._last = [*self._last, _happened(event)]
            self._last = self._last[-LAST_EVENTS:]

    def _begin(self, at: str) -> None:
        """Forget an earlier run in the same folder."""
        self._started, self._total, self._traces = at, None, 0
        self._standings.clear()
        self._verdicts.at = 0

    def _take_verdicts(self) -> None:
        for line in self._verdicts.lines():
            try:
                found = decode_line(line, MatrixVerdictFile)
            except ValueError:
                continue
            self._traces += 1
            for criterion, state in found.dense_map.items():
                unjudged = state == "uncertain" and criterion in found.not_adjudicated
                self._standings["incomplete" if unjudged else state] += 1

    def _planned(self) -> int | None:
        """Return how many lines the run is to have; None before the survey has ended."""
        files = RunFiles(self.folder)
        try:
            sampling = files.plan().decides.get("sampling") or {}
            chosen = sum(entry.selected for entry in files.manifest())
        except (ArtifactError, AttributeError):
            return None
        replicates = sampling.get("replicates", 1)
        return chosen * replicates if isinstance(replicates, int) else None


def _happened(event: dict[str, Any]) -> tuple[str, str]:
    """Return when something happened, and what, with the figures that are told of it."""
    more = ", ".join(f"{k} {event[k]}" for k in event if k not in ("at", "kind"))
    what = str(event.get("kind", NOT_RECORDED))
    return str(event.get("at", NOT_RECORDED))[:_LONGEST], (f"{what}: {more}" if more else what)[
        :_LONGEST
    ]


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = decode_line(line, dict)
    except ValueError:
        return {}
    return found


def render_underway(folder: str, seen: Seen, *, still: bool = False) -> bytes:
    """Return the page of a run that is being written, or that waits for its pages.

    It loads itself again every few seconds, unless it is to stand `still` for whoever reads it.
    """
    page = environment().get_template("underway.html.j2")
    return page.render(folder=folder, seen=seen, every=None if still else EVERY).encode("utf-8")

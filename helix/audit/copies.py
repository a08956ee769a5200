"""Originals and planted copies as Helix JSON Lines, every copy with an id that tells nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from helix.adjudication import Bench
from helix.audit.places import Plant, Touched
from helix.audit.watching import watched
from helix.checks.run import decide
from helix.files import atomic_writer
from helix.ingest.writing import canonical_line
from helix.model.manifest import Survey
from helix.model.trace import Trace
from helix.planning import Prepared
from helix.suite.altered import rebuilt

Planting = Callable[[Trace], Iterator[tuple[Plant, Trace]]]


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy as it is known while its record is on disk; an original has no plant.

    `canary` is what its labels hold, `reads` the rows whose check reads what was planted.
    """

    of: str
    canary: str
    plant: Plant | None = None
    reads: frozenset[str] = frozenset()


def write(
    path: Path, traces: Iterable[Trace], planting: Planting, prepared: Prepared, survey: Survey
) -> dict[str, Copy]:
    """Write each trace and after it its planted copies; return what each written id is.

    Labels are left out; in their place stands a canary, which no prompt may hold.
    """
    copies: dict[str, Copy] = {}
    reading = _Reading(prepared, survey)
    with atomic_writer(path) as file:
        for id, copy, trace in _copies(traces, planting, survey, reading):
            copies[id] = copy
            record = rebuilt(trace, id=id, labels={"canary": copy.canary})
            file.write(canonical_line(record) + b"\n")
    return copies


def _copies(
    traces: Iterable[Trace],
    planting: Planting,
    survey: Survey,
    reading: _Reading,
) -> Iterator[tuple[str, Copy, Trace]]:
    """Yield each trace and its planted copies, every one with an id that tells nothing."""
    taken = {entry.id for entry in survey.entries}
    for trace in traces:
        yield trace.id, Copy(trace.id, _digest("canary", trace.id)), trace
        reads = reading.of(trace)
        for number, (plant, made) in enumerate(planting(trace)):
            id = trace.id
            while id in taken:
                id = f"{trace.id}-{_digest(id, str(number))[:8]}"
            taken.add(id)
            touching = frozenset(row for row, fields in reads.items() if fields & plant.touched)
            yield id, Copy(trace.id, _digest("canary", id), plant, touching), made


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "backslashreplace")).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class _Reading:
    """What the checks of the rows read of a trace."""

    prepared: Prepared
    survey: Survey

    def of(self, trace: Trace) -> dict[str, Touched]:
        """Return the fields that each row with a check reads, found by watching it."""
        context = Bench.of(self.prepared, self.survey.tools, self.survey.roles).context
        found: dict[str, Touched] = {}
        for row in self.prepared.rows:
            if row.check is not None:
                noted: set[tuple[str, str]] = set()
                decide(row, watched(trace, noted), context)
                found[row.id] = frozenset(noted)
        return found

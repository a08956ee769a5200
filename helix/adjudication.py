"""The conversations of a run: code rows are decided, what is left is asked, the line is written.

Whoever carries a run out, in this process or in another, begins each trace here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import msgspec

from helix.checks.run import decide
from helix.engine.drive import Job
from helix.judging import Adjudicated, adjudicate
from helix.judging import Job as TraceJob
from helix.model.lines import encode_line
from helix.model.manifest import ManifestEntry
from helix.model.sidelines import CandidateLine, DecisionLine, FailureLine
from helix.model.trace import Trace
from helix.model.verdict import MatrixVerdictFile
from helix.planning import Prepared
from helix.registry import CheckContext, Decision
from helix.suite.routes import off_route


class Written(msgspec.Struct, frozen=True, array_like=True):
    """What one trace and replicate adds to each line artifact, encoded."""

    line: bytes
    notes: tuple[bytes, ...] = ()
    failures: tuple[bytes, ...] = ()
    candidates: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Bench:
    """What every trace of a run is worked with: the frozen run, and what a check may know."""

    prepared: Prepared
    context: CheckContext

    @classmethod
    def of(cls, prepared: Prepared, tools: Collection[str], roles: Collection[str]) -> Bench:
        """Return the bench of a run whose survey saw these tools and roles."""
        context = CheckContext(
            inventory=frozenset(prepared.settings.packet.tools),
            seen=frozenset(tools),
            roles=frozenset(roles),
            complete_channels=prepared.config.subject.complete_channels,
        )
        return cls(prepared, context)

    def jobs(self, entry: ManifestEntry, trace: Trace) -> Iterator[Job[Adjudicated]]:
        """Yield a trace's job for each replicate, its code rows already decided."""
        prepared, sampling = self.prepared, self.prepared.config.sampling
        decisions = self._decisions(entry, trace)
        for replicate in range(sampling.replicates):
            job = TraceJob(
                trace=trace,
                replicate=replicate + sampling.replicate_offset,
                rows=tuple(row.criterion for row in prepared.rows),
                decisions=decisions,
                fidelity=entry.fidelity,
            )
            yield Job(
                entry.ordinal * sampling.replicates + replicate,
                entry.id,
                lambda job=job: adjudicate(job, prepared.settings),  # type: ignore[misc]
            )

    def _decisions(self, entry: ManifestEntry, trace: Trace) -> dict[str, Decision]:
        if not entry.fidelity.complete:
            return {}
        found: dict[str, Decision] = {}
        for row in self.prepared.rows:
            decision = off_route(row.criterion, trace, self.prepared.config.subject.routes)
            if decision is None and row.check is not None:
                decision = decide(row, trace, self.context)
            if decision is not None:
                found[row.id] = decision
        return found


def written(adjudicated: Adjudicated) -> Written:
    """Return what a finished line adds to each artifact."""
    line = adjudicated.line
    return Written(
        line=encode_line(line),
        notes=tuple(
            encode_line(msgspec.convert(note, DecisionLine)) for note in adjudicated.decisions
        ),
        failures=tuple(map(encode_line, _failures(line))),
        candidates=tuple(
            encode_line(CandidateLine(trace_id=line.trajectory_id, candidate=candidate))
            for candidate in line.candidates
        ),
    )


def _failures(line: MatrixVerdictFile) -> Iterator[FailureLine]:
    """Yield what diagnostics should look at: capture faults and failed cells (METHOD 35, 82)."""
    if not line.fidelity.complete:
        yield FailureLine(
            trace_id=line.trajectory_id,
            kind="capture",
            text=line.fidelity.reason,
            localize=line.localize,
        )
    for verdict in line.verdicts:
        if verdict.result == "fail":
            yield FailureLine(
                trace_id=line.trajectory_id,
                kind="criterion",
                criterion_id=verdict.criterion_id,
                text=verdict.critique,
                refs=verdict.refs,
                localize=line.localize,
            )

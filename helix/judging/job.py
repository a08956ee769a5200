"""What one line is made from: the job of one trace, and the settings that all lines share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from helix.grounding import Ground
from helix.judging.packet import PacketSettings
from helix.model.canonical import digest
from helix.model.criterion import Criterion
from helix.model.packet import MatrixPacket
from helix.model.request import Axis, Unit
from helix.model.trace import Trace
from helix.model.verdict import Fidelity
from helix.registry import Decision

Scope = Literal["gating", "fails", "all"]


@dataclass(frozen=True, slots=True)
class VerifierSettings:
    """Who tries to refute the judge, and which of its verdicts (METHOD 47).

    `packet` holds the verifier's own pin and budget, `gating` the ids of the rows that may decide
    the gate, `models` the names that a returned model may have.
    """

    packet: PacketSettings
    scope: Scope = "gating"
    gating: frozenset[str] = frozenset()
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """What the lines of one run share; `asks` is False where no judge is asked.

    `models` are the names that a returned model may have: the pin and its aliases (METHOD 42).
    Without a `verifier` nothing is verified. `two_pass` draws the expected trajectory in a question
    of its own (METHOD 33).
    """

    packet: PacketSettings
    criteria_digest: str
    asks: bool
    routes: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    axis: Axis = "trajectory"
    two_pass: bool = False
    verifier: VerifierSettings | None = None

    def ground(self, trace: Trace, packet: MatrixPacket) -> Ground:
        """Return what verdicts about a packet are grounded against."""
        verified = self.verifier is not None
        return Ground.of(trace, packet, self.channels, verified=verified)


@dataclass(frozen=True, slots=True)
class Job:
    """One trace to adjudicate: rows in suite order, what code decided, what fidelity says."""

    trace: Trace
    replicate: int
    rows: tuple[Criterion, ...]
    decisions: Mapping[str, Decision]
    fidelity: Fidelity

    def findings(self, rows: Sequence[Criterion]) -> dict[str, str]:
        """Return what code established of the hybrid rows among `rows`."""
        ids = [row.criterion_id for row in rows]
        return {cid: self.decisions[cid].detail for cid in ids if cid in self.decisions}

    def unit(self, rows: Sequence[Criterion], axis: Axis) -> Unit:
        """Return the unit of a judge's first question about `rows`."""
        return Unit(
            role="judge",
            axis=axis,
            trace_id=self.trace.id,
            trace_digest=self.trace.source.digest,
            criteria=tuple(row.criterion_id for row in rows),
            criteria_digest=digest([row.digest for row in rows]),
            replicate=self.replicate,
        )

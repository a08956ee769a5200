"""What the verdicts of one trace are grounded against."""

from __future__ import annotations

from dataclasses import dataclass

from helix.grounding.shown import Shown
from helix.model.packet import MatrixPacket, Premise
from helix.model.trace import Trace
from helix.model.verdict import Ref


@dataclass(frozen=True, slots=True)
class Ground:
    """A trace, what of it was shown, and what people vouch for beside it.

    `complete_channels` are declared by the subject, `tools` are the names that are tools of it;
    `shown` is None where all was, `verified` says that a verifier looks at weak evidence.
    """

    trace: Trace
    complete_channels: tuple[str, ...] = ()
    tools: frozenset[str] = frozenset()
    shown: Shown | None = None
    premises: tuple[Premise, ...] = ()
    verified: bool = False

    @classmethod
    def of(
        cls,
        trace: Trace,
        packet: MatrixPacket,
        complete_channels: tuple[str, ...] = (),
        *,
        verified: bool = False,
    ) -> Ground:
        """Return the ground of verdicts that a judge reaches over a packet."""
        profile = packet.subject_profile
        return cls(
            trace=trace,
            complete_channels=complete_channels,
            tools=frozenset(
                (*(profile.tools if profile else ()), *(o.name for o in trace.tools()))
            ),
            shown=Shown.of(packet),
            premises=packet.premises,
            verified=verified,
        )

    def shows(self, ref: Ref) -> bool:
        """Whether a ref that resolves stands on what was shown."""
        return self.shown is None or self.shown.carries(self.trace, ref)

    def covers(self, channel: str) -> bool:
        """Whether all of a channel was shown."""
        return self.shown is None or self.shown.covers(self.trace, channel)

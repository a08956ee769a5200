"""What the verdicts of one trace are grounded against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from helix.grounding.resolve import resolve_refs
from helix.grounding.shown import Shown
from helix.grounding.texts import fold, stands_in
from helix.model.packet import MatrixPacket, Premise
from helix.model.select import owner
from helix.model.trace import Trace
from helix.model.verdict import MatchKind, Ref


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

    def resolved(self, refs: Sequence[Ref]) -> tuple[Ref, ...]:
        """Return refs resolved: in the trace, or in the words of a premise (METHOD 4, 30)."""
        found = resolve_refs(self.trace, refs, complete_channels=self.complete_channels)
        return tuple(self._of_premise(ref) if self._premise(ref) else ref for ref in found)

    def shows(self, ref: Ref) -> bool:
        """Whether a ref that resolves stands on what was shown, as premises are."""
        if self.shown is None or self._premise(ref) is not None:
            return True
        return self.shown.carries(self.trace, ref)

    def tells_of_trace(self, refs: Sequence[Ref]) -> bool:
        """Whether one of the refs is of the trace, or of a fact that people verified about it.

        What people vouch for in general shows nothing that happened here (METHOD 1, 4).
        """
        premises = map(self._premise, refs)
        return any(premise is None or premise.trace_id is not None for premise in premises)

    def _premise(self, ref: Ref) -> Premise | None:
        """Return the premise that a ref names; what the trace has of that id comes first."""
        if owner(self.trace, ref.obs) is not None:
            return None
        return next((premise for premise in self.premises if premise.id == ref.obs), None)

    def _of_premise(self, ref: Ref) -> Ref:
        premise = self._premise(ref)
        text = fold(premise.text) if premise is not None else ""
        cited = fold(ref.value or "")
        if ref.path != "text" or ref.scan is not None or not stands_in(cited, text):
            note = f"the premise '{ref.obs}' says no such thing at '{ref.path}'; cite its text"
            return msgspec.structs.replace(ref, match="dead", note=note)
        match: MatchKind = "exact" if cited == text else "contains"
        if not self.tells_of_trace([ref]):
            match = "weak"
        return msgspec.structs.replace(ref, match=match, note=None)

    def covers(self, channel: str) -> bool:
        """Whether all of a channel was shown."""
        return self.shown is None or self.shown.covers(self.trace, channel)

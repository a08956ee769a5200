"""What a judge was shown of a trace, read off its packet: the only ground it may stand on.

A place that was cut counts for the words of it that were shown; the id, name, type, role and
flags of a step or message stand in its heading. Everything else that a packet does not print
was not read, however it is addressed (DESIGN “Judge boundary”).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from helix.fieldpath import MISSING, parse_relative
from helix.grounding.slices import Slice, selected
from helix.grounding.texts import below, fold, leaves_of, stands_in
from helix.model.packet import Leaf, MatrixPacket
from helix.model.select import at_address
from helix.model.trace import Trace
from helix.model.verdict import Ref

IN_HEADING = frozenset({"control", "flags", "id", "name", "role", "type"})
Address = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Shown:
    """The places that were shown: leaves shown whole, what is left of cut ones, headings by id."""

    whole: frozenset[Address]
    cut: dict[Address, tuple[str, ...]] = field(default_factory=dict)
    headed: frozenset[str] = frozenset()

    @classmethod
    def of(cls, packet: MatrixPacket) -> Shown:
        """Read off a packet what it shows."""
        leaves = list(_leaves(packet))
        whole = {(leaf.obs, leaf.path) for leaf in leaves if not leaf.elided}
        whole.update((m.id, "text") for m in packet.transcript if not m.elided)
        leaves += [
            Leaf(obs=m.id, path="text", text=m.text, elided=m.elided)
            for m in packet.transcript
            if m.elided
        ]
        cut = {(x.obs, x.path): tuple(map(fold, x.pieces)) for x in leaves if x.elided}
        steps = (step.step.id for step in packet.trajectory)
        messages = (message.id for message in packet.transcript)
        return cls(frozenset(whole), cut, frozenset((*steps, *messages)))

    def carries(self, trace: Trace, ref: Ref) -> bool:
        """Whether a ref that resolves stands on what was shown; an absence on all it looked at."""
        if ref.scan is not None:
            return self.covers(trace, ref.scan.channel)
        places = self._cited(trace, ref)
        if places.leaves is not None and len(places.leaves) == 1 and not places.owners:
            (at,) = places.leaves
            if at in self.cut:
                return any(stands_in(fold(ref.value or ""), piece) for piece in self.cut[at])
        return self._holds(trace, places)

    def covers(self, trace: Trace, path: str) -> bool:
        """Whether everything that a selector leads to was shown."""
        return self._holds(trace, selected(trace, [path]))

    def _cited(self, trace: Trace, ref: Ref) -> Slice:
        if ref.obs == trace.id:
            return selected(trace, [ref.path])
        value = at_address(trace, ref.obs, ref.path)
        found = () if value is MISSING else below(ref.obs, parse_relative(ref.path).steps, value)
        leaves = {(leaf.obs, leaf.path): leaf for leaf in found}
        return Slice(touched=frozenset({ref.obs}), leaves=leaves)

    def _holds(self, trace: Trace, part: Slice) -> bool:
        if not part.touched <= self.headed:
            return False
        held = (leaf for obs in part.owners for leaf in leaves_of(trace.owners[obs]))
        if any((leaf.obs, leaf.path) not in self.whole for leaf in held):
            return False
        return all(self._is_whole(trace, at) for at in part.leaves or ())

    def _is_whole(self, trace: Trace, at: Address) -> bool:
        if at in self.whole:
            return True
        obs, path = at
        heading = obs != trace.id and parse_relative(path).steps[0] in IN_HEADING
        return heading and obs in self.headed


def _leaves(packet: MatrixPacket) -> Iterator[Leaf]:
    """Yield every leaf of a packet but the texts of its messages."""
    yield from packet.input
    for step in packet.trajectory:
        yield from step.leaves
    yield from packet.output

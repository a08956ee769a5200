"""What of a packet fits its budget of characters, and the ledger of what does not.

First huge values are cut in their middle, those that no row names before the others. Then steps
and messages are left out at their borders: what rows name is kept first, then what bears evidence
whatever the rows ask (errors, the first and the last), then the ends inwards, so that one stretch
in the middle is missing. Of the trace's own values the smallest are kept, output before the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from helix.grounding.slices import Slice
from helix.judging.rendering import leaf_text, message_text, step_text
from helix.model.packet import Coverage, Leaf, MatrixPacket, ShownMessage, ShownStep, cut_mark

LEAF_CHARACTERS = 12_000
OWN_SHARE = 0.5
HUGE = 0.25
# What rendering adds at most: to a character of a name its escape, to a character of a text (if
# each were a line break) a margin, to each heading its own words, and to a value's its brackets.
ESCAPE, MARGIN, WORDS, BRACKETS = 10, 5, 100, 12
ERROR_LEVELS = frozenset({"error", "fatal", "critical"})

Item = ShownStep | ShownMessage
Named = Callable[[str, str], bool]
Value = TypeVar("Value", Leaf, ShownMessage)


def within(packet: MatrixPacket, budget: int, wanted: Slice) -> MatrixPacket:
    """Return what fits `budget` characters; `wanted` is what the rows name, and is kept first."""
    if _at_most(packet) <= budget or _size_of(packet) <= budget:
        whole = msgspec.structs.replace(packet.coverage, shown=len(_items(packet)))
        return msgspec.structs.replace(packet, coverage=whole)
    named = _named(wanted)
    cut = _shortened(packet, lambda obs, path: not named(obs, path))
    if _size_of(cut) > budget:
        cut = _shortened(cut, lambda obs, path: True)
    if _size_of(cut) > budget:
        cut = _Fitting(cut, budget, wanted).packet()
    return counted(packet, cut)


def _named(wanted: Slice) -> Named:
    return (lambda obs, path: False) if wanted.whole else wanted.holds


@dataclass(frozen=True, slots=True)
class _Fitting:
    """One packet that is too large as it stands, and what its rows name."""

    whole: MatrixPacket
    budget: int
    wanted: Slice

    def packet(self) -> MatrixPacket:
        """Return what fits."""
        items = _items(self.whole)
        own = [*self.whole.input, *self.whole.output]
        demand = sum(map(_size, items))
        kept_own = self._own(own, max(self.budget - demand, int(self.budget * OWN_SHARE)))
        left = self.budget - sum(_leaf_size(own[at]) for at in kept_own)
        kept = self._kept(items, left)
        split = len(self.whole.input)
        return msgspec.structs.replace(
            self.whole,
            input=tuple(own[at] for at in sorted(kept_own) if at < split),
            output=tuple(own[at] for at in sorted(kept_own) if at >= split),
            trajectory=tuple(i for _, i in sorted(kept.items()) if isinstance(i, ShownStep)),
            transcript=tuple(i for _, i in sorted(kept.items()) if isinstance(i, ShownMessage)),
        )

    def _own(self, own: Sequence[Leaf], budget: int) -> set[int]:
        """Keep the small ones: one huge value must not push out what everything else says."""
        named = _named(self.wanted)
        kept: set[int] = set()

        def rank(at: int) -> tuple[bool, bool, int, int]:
            leaf = own[at]
            plain = not leaf.path.startswith("output")
            return not named(leaf.obs, leaf.path), plain, _leaf_size(leaf), at

        for at in sorted(range(len(own)), key=rank):
            if _leaf_size(own[at]) <= budget:
                kept.add(at)
                budget -= _leaf_size(own[at])
        return kept

    def _kept(self, items: Sequence[Item], budget: int) -> dict[int, Item]:
        """Keep what is named, what bears evidence, then the ends; what is huge is passed over.

        A step that is named and too large keeps the values that are named.
        """
        kept: dict[int, Item] = {}
        last = len(items) - 1
        ranks = [self._rank(item, at in (0, last)) for at, item in enumerate(items)]
        for at in sorted(range(len(items)), key=lambda at: (ranks[at], min(at, last - at), at)):
            item = items[at] if ranks[at] or _size(items[at]) <= budget else self._pared(items[at])
            size = _size(item)
            if size <= budget:
                kept[at] = item
                budget -= size
            elif ranks[at] == _PLAIN and size <= self.budget * HUGE:
                break
        return kept

    def _rank(self, item: Item, end: bool) -> int:
        if not self.wanted.whole and self.wanted.touches(_id(item)):
            return _NAMED
        return _EVIDENCE if end or _is_error(item) else _PLAIN

    def _pared(self, item: Item) -> Item:
        if isinstance(item, ShownMessage):
            return item
        kept = tuple(leaf for leaf in item.leaves if self.wanted.holds(leaf.obs, leaf.path))
        left_out = len(item.leaves) - len(kept)
        return msgspec.structs.replace(item, leaves=kept, left_out=left_out)


_NAMED, _EVIDENCE, _PLAIN = range(3)


def _is_error(item: Item) -> bool:
    if isinstance(item, ShownMessage):
        return False
    level = next((leaf.text for leaf in item.leaves if leaf.path == "level"), "")
    return (item.step.status or "").casefold() == "error" or level.casefold() in ERROR_LEVELS


def _shortened(packet: MatrixPacket, where: Named) -> MatrixPacket:
    """Return the packet with huge values cut in their middle, where `where` allows it."""

    def leaves(given: Iterable[Leaf]) -> tuple[Leaf, ...]:
        return tuple(_cut(leaf) if where(leaf.obs, leaf.path) else leaf for leaf in given)

    return msgspec.structs.replace(
        packet,
        input=leaves(packet.input),
        output=leaves(packet.output),
        trajectory=tuple(
            msgspec.structs.replace(step, leaves=leaves(step.leaves)) for step in packet.trajectory
        ),
        transcript=tuple(_cut(m) if where(m.id, "text") else m for m in packet.transcript),
    )


def _cut(shown: Value) -> Value:
    if len(shown.text) <= LEAF_CHARACTERS or shown.elided:
        return shown
    half = LEAF_CHARACTERS // 2
    left_out = len(shown.text) - 2 * half
    text = shown.text[:half] + cut_mark(left_out) + shown.text[-half:]
    return msgspec.structs.replace(shown, text=text, elided=left_out)


def counted(whole: MatrixPacket, packet: MatrixPacket) -> MatrixPacket:
    """Return the packet with its ledger: what of `whole` is shown, cut, left out."""
    held = {_id(item) for item in _items(packet)}
    own = {_place(leaf) for leaf in (*packet.input, *packet.output)}
    items = _items(whole)
    left_out = [_id(item) for item in items if _id(item) not in held]
    left_out += [_place(x) for x in (*whole.input, *whole.output) if _place(x) not in own]
    shown = _items(packet)
    cut = [_id(item) for item in shown if _is_cut(item)]
    cut += [_place(leaf) for leaf in (*packet.input, *packet.output) if leaf.elided]
    coverage = Coverage(
        shown=sum(not _is_cut(item) for item in shown),
        truncated=len(cut),
        elided=len(left_out),
        outside=whole.coverage.outside,
        unread=tuple(left_out + cut),
    )
    return msgspec.structs.replace(packet, coverage=coverage)


def _is_cut(item: Item) -> bool:
    if isinstance(item, ShownMessage):
        return item.elided > 0
    return item.left_out > 0 or any(leaf.elided for leaf in item.leaves)


def _at_most(packet: MatrixPacket) -> int:
    """Return a number of characters that the packet does not pass, without rendering it."""
    leaves = [*packet.input, *packet.output, *(x for s in packet.trajectory for x in s.leaves)]
    pointing = [x.same_as for x in leaves if x.same_as is not None]
    names = [*pointing, *[x.obs for x in leaves], *[x.path for x in leaves]]
    names += [name for m in packet.transcript for name in (m.id, m.role)]
    names += [n for s in packet.trajectory for n in (s.step.id, s.type, s.name, ", ".join(s.flags))]
    spelled = "".join(names)
    escape = 1 if spelled.isprintable() else ESCAPE
    texts = sum([len(x.text) for x in leaves]) + sum([len(m.text) for m in packet.transcript])
    headings = len(pointing) + len(packet.transcript) + len(packet.trajectory)
    return escape * len(spelled) + MARGIN * texts + WORDS * headings + BRACKETS * len(leaves)


def _size_of(packet: MatrixPacket) -> int:
    own = sum(map(_leaf_size, (*packet.input, *packet.output)))
    return own + sum(map(_size, _items(packet)))


def _size(item: Item) -> int:
    return len(message_text(item) if isinstance(item, ShownMessage) else step_text(item)) + 1


def _leaf_size(leaf: Leaf) -> int:
    return len(leaf_text(leaf)) + 1


def _place(leaf: Leaf) -> str:
    return f"{leaf.obs} {leaf.path}"


def _items(packet: MatrixPacket) -> list[Item]:
    return sorted([*packet.trajectory, *packet.transcript], key=lambda item: item.seq)


def _id(item: Item) -> str:
    return item.id if isinstance(item, ShownMessage) else item.step.id

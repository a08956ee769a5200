"""The tree of one trace's spans: parents, order, what runs inside what.

A parent that is not there is flagged and the span stands at the root; so does each member of a
cycle. Nothing here recurses, so a chain of any length is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

from helix.ingest.ordering import Entry, by_time, parent_flags, parents_of


class Placed(Protocol):
    """What is known of the place of one span."""

    id: str | None
    parent: str | None
    start: int | None
    order: Any

    @property
    def heard(self) -> Sequence[Any]: ...

    @property
    def said(self) -> Sequence[Any]: ...


@dataclass(slots=True)
class Tree:
    """`order` are the positions of the spans as they started, `flags` those of each position.

    `outer` are the spans that carry messages around others that do.
    """

    order: list[int]
    flags: list[list[str]]
    outer: frozenset[int]
    parents: list[int | None]
    last: list[int]

    def walk(self) -> Iterator[tuple[int, bool]]:
        """Yield (position, is_end): each span's start in order, its end after all inside it."""
        ends: dict[int, list[int]] = {}
        for at in self.order:
            ends.setdefault(self.last[at], []).append(at)
        for rank, at in enumerate(self.order):
            yield at, False
            for inside in reversed(ends.get(rank, ())):
                yield inside, True

    def innermost(self, marks: Iterable[bool]) -> list[int]:
        """Return the marked positions that have no marked one inside them."""
        marked = [at for at, mark in enumerate(marks) if mark]
        around = _ancestors(marked, self.parents)
        return [at for at in marked if at not in around]


def arranged(spans: Sequence[Placed]) -> Tree:
    """Return the tree of the spans of one trace."""
    entries = [Entry("", span.id, time=span.start, parent=span.parent) for span in spans]
    known = frozenset(span.id for span in spans if span.id is not None)
    strange = parent_flags(entries, known)
    parents = [None if at in strange else parent for at, parent in enumerate(parents_of(entries))]
    ranks, uncertain = _ranks(spans, entries, parents)
    order = sorted(range(len(spans)), key=lambda at: ranks[at])
    flags = [
        ([strange[at]] if at in strange else []) + ["ambiguous-order"] * (at in uncertain)
        for at in range(len(spans))
    ]
    carriers = [at for at, span in enumerate(spans) if span.heard or span.said]
    outer = frozenset(carriers) & _ancestors(carriers, parents)
    return Tree(order, flags, outer, parents, _last(order, parents))


def _ranks(
    spans: Sequence[Placed], entries: Sequence[Entry], parents: Sequence[int | None]
) -> tuple[list[int], set[int]]:
    if all(span.order is not None for span in spans):
        order = sorted(range(len(spans)), key=lambda at: spans[at].order)
        ranks = {at: rank for rank, at in enumerate(order)}
        tied = {
            at
            for one, other in pairwise(order)
            if spans[one].order == spans[other].order
            for at in (one, other)
        }
        return [ranks[at] for at in range(len(spans))], tied
    times = _times(spans, parents)
    placed = [
        Entry("", entry.id, time=time, parent=entry.parent)
        for entry, time in zip(entries, times, strict=True)
    ]
    ranks_by_time, tied = by_time(placed)
    return ranks_by_time, tied | {
        at for at, span in enumerate(spans) if span.start is None and len(spans) > 1
    }


def _times(spans: Sequence[Placed], parents: Sequence[int | None]) -> list[int]:
    """Return the start of each span; one without takes that of the nearest span around it."""
    times: list[int | None] = [span.start for span in spans]
    for at in range(len(spans)):
        path: list[int] = []
        up: int | None = at
        while up is not None and times[up] is None:
            path.append(up)
            up = parents[up]
        found = 0 if up is None else times[up]
        for below in path:
            times[below] = found
    return [time or 0 for time in times]


def _last(order: Sequence[int], parents: Sequence[int | None]) -> list[int]:
    """Return, per span, the rank of the last span inside it, its own at least."""
    last = [0] * len(order)
    waiting = [0] * len(order)
    for rank, at in enumerate(order):
        last[at] = rank
        parent = parents[at]
        if parent is not None:
            waiting[parent] += 1
    ready = [at for at in order if not waiting[at]]
    while ready:
        parent = parents[at := ready.pop()]
        if parent is not None:
            last[parent] = max(last[parent], last[at])
            waiting[parent] -= 1
            if not waiting[parent]:
                ready.append(parent)
    return last


def _ancestors(positions: Iterable[int], parents: Sequence[int | None]) -> set[int]:
    found: set[int] = set()
    for at in positions:
        up = parents[at]
        while up is not None and up not in found:
            found.add(up)
            up = parents[up]
    return found

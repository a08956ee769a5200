"""In which order things happened: explicit sequence, then time, then parent before child.

Position in the file decides only where a format says that its arrays are ordered; what none of
these settles is reported, never guessed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from helix.errors import FormatError


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of the place of one message or observation; `names` are its observations."""

    where: str
    id: str | None
    seq: int | None = None
    time: int | None = None
    parent: str | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Order:
    """A seq for every message and observation; which observations have no certain place."""

    messages: list[int]
    observations: list[int]
    uncertain: frozenset[int]


def arrange(messages: Sequence[Entry], observations: Sequence[Entry]) -> Order:
    """Return the order of one trace; raise FormatError where only some entries have a seq."""
    everything = [*messages, *observations]
    unnumbered = [entry for entry in everything if entry.seq is None]
    if not unnumbered:
        return _numbered(messages, observations)
    if len(unnumbered) < len(everything):
        raise FormatError(
            "seq must be given for every message and observation or for none "
            f"(missing: {unnumbered[0].where})"
        )
    ranks, uncertain = by_time(observations)
    anchors = _anchors(messages, observations)
    if messages:
        uncertain |= {at for at in range(len(observations)) if at not in anchors}
    last = len(messages)
    keys = [(at, -1, "message", at) for at in range(len(messages))]
    keys += [
        (anchors.get(at, last), ranks[at], "observation", at) for at in range(len(observations))
    ]
    seqs = {(kind, at): seq for seq, (_, _, kind, at) in enumerate(sorted(keys))}
    return Order(
        [seqs["message", at] for at in range(len(messages))],
        [seqs["observation", at] for at in range(len(observations))],
        frozenset(uncertain),
    )


def by_time(entries: Sequence[Entry]) -> tuple[list[int], set[int]]:
    """Return the rank of each entry, and the positions whose rank rests on nothing.

    Where every entry has a time it decides, a parent before its children; without times the
    position does.
    """
    if any(entry.time is None for entry in entries):
        return list(range(len(entries))), set()
    depth = _depths(entries)
    keys = [(entry.time or 0, depth[at]) for at, entry in enumerate(entries)]
    shared = Counter(keys)
    order = sorted(range(len(entries)), key=lambda at: keys[at])
    ranks = {at: rank for rank, at in enumerate(order)}
    tied = {at for at, key in enumerate(keys) if shared[key] > 1}
    return [ranks[at] for at in range(len(entries))], tied


def parent_flags(entries: Sequence[Entry], known: frozenset[str]) -> dict[int, str]:
    """Return the flag of each entry whose parent is not in the trace or is its own descendant."""
    cyclic = _cyclic(parents_of(entries))
    flags: dict[int, str] = {}
    for at, entry in enumerate(entries):
        if entry.parent is not None and entry.parent not in known:
            flags[at] = "parent-missing"
        elif at in cyclic:
            flags[at] = "parent-cycle"
    return flags


def parents_of(entries: Sequence[Entry]) -> list[int | None]:
    """Return the position of each entry's parent; of entries with one id the first is meant."""
    places: dict[str | None, int] = {}
    for at, entry in enumerate(entries):
        places.setdefault(entry.id, at)
    return [None if e.parent is None else places.get(e.parent) for e in entries]


def _cyclic(parents: Sequence[int | None]) -> set[int]:
    """Return the positions that are their own ancestors."""
    cyclic: set[int] = set()
    settled: set[int] = set()
    for start in range(len(parents)):
        path: dict[int, None] = {}
        at: int | None = start
        while at is not None and at not in settled and at not in path:
            path[at] = None
            at = parents[at]
        if at in path:
            members = list(path)
            cyclic.update(members[members.index(at) :])
        settled.update(path)
    return cyclic


def _numbered(messages: Sequence[Entry], observations: Sequence[Entry]) -> Order:
    said = [entry.seq or 0 for entry in messages]
    done = [entry.seq or 0 for entry in observations]
    shared = Counter([*said, *done])
    return Order(said, done, frozenset(at for at, seq in enumerate(done) if shared[seq] > 1))


def _anchors(messages: Sequence[Entry], observations: Sequence[Entry]) -> dict[int, int]:
    """Return, per observation, the message that names it or is its parent."""
    named = {name: at for at, message in enumerate(messages) for name in message.names}
    ids = {message.id: at for at, message in enumerate(messages) if message.id is not None}
    anchors: dict[int, int] = {}
    for at, entry in enumerate(observations):
        found = named.get(entry.id) if entry.id is not None else None
        if found is None and entry.parent is not None:
            found = ids.get(entry.parent)
        if found is not None:
            anchors[at] = found
    return anchors


def _depths(entries: Sequence[Entry]) -> list[int]:
    """How many ancestors each entry has; a cycle counts each of its members once."""
    parents = {entry.id: entry.parent for entry in entries if entry.id is not None}
    depths: dict[str | None, int] = {}
    for entry in entries:
        path: dict[str, None] = {}
        at = entry.id
        while at is not None and at in parents and at not in depths and at not in path:
            path[at] = None
            at = parents[at]
        below = depths.get(at, -1)
        for step, name in enumerate(reversed(list(path)), start=1):
            depths[name] = below + step
    return [depths.get(entry.id, 0) for entry in entries]

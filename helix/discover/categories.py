"""Kinds of failure, and the categories that they fold into: pure, in any order (METHOD 52).

    determinations ─► kinds_of ─► merge ─► categories

Kinds of a detector are told apart by detector and kind. What a determiner said is put together by
its words, and with the kind of a detector that cites the same steps. `merge` is a union, so that
neither the batches nor their order change the result.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from helix.model.discovery import Category, Detection, Determination, Lens, Route
from helix.model.verdict import MACHINERY_CAUSES

MOST_CATEGORIES = 10
MOST_EXAMPLES = 5
ALIKE = 0.6
_SMALL = re.compile(
    r"an?|the|of|to|in|on|at|for|from|with(?:out)?|by|and|or|not?|is|are|was|were|be|its?|that|as"
)


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """What makes a kind: the detector, empty for a determiner, and the kind in its words."""

    detector: str
    kind: str


@dataclass(frozen=True, slots=True, order=True)
class Sighting:
    """One detection of a kind, as far as categories are made of it."""

    trace_id: str
    lens: Lens
    route: Route
    text: str
    root: bool
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Kinds:
    """What some traces showed: the sightings of each kind, and which traces were examined.

    `read` are those that a determiner read: what only he sees can be counted over them alone.
    """

    sightings: Mapping[Key, frozenset[Sighting]]
    examined: frozenset[str]
    read: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Emergent:
    """The categories of a discovery: those shown, and what was folded beside them.

    `symptoms` are kinds that only ever followed from another one, by name.
    """

    shown: tuple[Category, ...]
    folded: tuple[Category, ...]
    symptoms: tuple[str, ...]

    @property
    def every(self) -> tuple[Category, ...]:
        """All categories, shown ones first."""
        return (*self.shown, *self.folded)


def kinds_of(determinations: Iterable[Determination]) -> Kinds:
    """Return the kinds of a batch; a trace that was cut off was not examined.

    In a trace that a determiner passed only fixables and infrastructure are counted.
    """
    found: dict[Key, set[Sighting]] = {}
    examined, read = set(), set()
    for one in determinations:
        if one.cause == "truncated":
            continue
        examined.add(one.trace_id)
        if was_read(one):
            read.add(one.trace_id)
        for detection in one.detections:
            if one.verdict != "pass" or detection.route != "eval":
                found.setdefault(key_of(detection), set()).add(_sighting(one, detection))
    seen = {key: frozenset(sightings) for key, sightings in found.items()}
    return Kinds(seen, frozenset(examined), frozenset(read))


def was_read(one: Determination) -> bool:
    """Whether a determiner read a trace: he was asked, and his answer could be used."""
    return one.determined_by is not None and one.cause not in MACHINERY_CAUSES


def merge(left: Kinds, right: Kinds) -> Kinds:
    """Return the kinds of two batches together."""
    keys = left.sightings.keys() | right.sightings.keys()
    none: frozenset[Sighting] = frozenset()
    both = {key: left.sightings.get(key, none) | right.sightings.get(key, none) for key in keys}
    return Kinds(both, left.examined | right.examined, left.read | right.read)


def key_of(detection: Detection) -> Key:
    """Return what makes the kind of a detection."""
    if detection.detector is not None:
        return Key(detection.detector, detection.kind)
    return Key("", " ".join(detection.kind.casefold().split()))


def categories(
    kinds: Kinds, most: int = MOST_CATEGORIES, same: Mapping[str, Key] | None = None
) -> Emergent:
    """Return the categories of all kinds, the most frequent first; beyond `most` they are folded.

    A kind that only ever followed from another is no category: its root is. `same` names the kind
    of a detector that a determiner's kind is known to be.
    """
    roots = {k: s for k, s in kinds.sightings.items() if any(one.root for one in s)}
    symptoms = sorted(key.kind for key in kinds.sightings.keys() - roots.keys())
    groups = _grouped(roots, same or {})
    made = sorted(
        (_category(keys, roots, kinds) for keys in groups),
        key=lambda c: (c.fix_or_eval != "eval", -c.k, c.name),
    )
    return Emergent(tuple(made[:most]), tuple(made[most:]), tuple(symptoms))


def _grouped(kinds: Mapping[Key, frozenset[Sighting]], same: Mapping[str, Key]) -> list[list[Key]]:
    """Return the keys that are one category each: those of a detector never join each other."""
    coded = sorted(key for key in kinds if key.detector)
    groups: dict[Key, list[Key]] = {key: [key] for key in coded}
    for cluster in _by_words(sorted(key for key in kinds if not key.detector)):
        known = sorted({same[key.kind] for key in cluster if key.kind in same} & groups.keys())
        route = _commonest(one.route for key in cluster for one in kinds[key])
        alike = [c for c in coded if _commonest(one.route for one in kinds[c]) == route]
        shared = {c: _shared(kinds[c], cluster, kinds) for c in alike}
        best = known[0] if known else min(alike, key=lambda c: (-shared[c], c), default=None)
        if best is not None and (known or shared[best]):
            groups[best] += cluster
        else:
            groups[cluster[0]] = list(cluster)
    return list(groups.values())


def _shared(
    code: frozenset[Sighting], cluster: Sequence[Key], kinds: Mapping[Key, frozenset[Sighting]]
) -> int:
    """Return in how many traces a determiner cites a step that a detector of code cites too."""
    steps = {(s.trace_id, step) for s in code for step in s.steps}
    theirs = {(s.trace_id, step) for key in cluster for s in kinds[key] for step in s.steps}
    return len({trace for trace, _ in steps & theirs})


def _by_words(keys: Sequence[Key]) -> list[list[Key]]:
    """Return the kinds whose words are alike, linked through any kind between them."""
    words = {key: frozenset(_stems(key.kind)) for key in keys}
    left = list(keys)
    clusters = []
    while left:
        cluster = [left.pop(0)]
        for member in cluster:
            near, far = list[Key](), list[Key]()
            for key in left:
                (near if _alike(words[member], words[key]) else far).append(key)
            cluster += near
            left = far
        clusters.append(sorted(cluster))
    return clusters


def _alike(left: frozenset[str], right: frozenset[str]) -> bool:
    union = left | right
    return bool(union) and len(left & right) >= ALIKE * len(union)


def _stems(text: str) -> Iterable[str]:
    for word in re.findall(r"\w+", text.casefold()):
        if not _SMALL.fullmatch(word):
            yield re.sub(r"(?:ies|es|s|ed|ing)$", "", word) or word


def _category(
    keys: Sequence[Key], roots: Mapping[Key, frozenset[Sighting]], kinds: Kinds
) -> Category:
    seen = sorted({sighting for key in keys for sighting in roots[key]})
    coded = any(key.detector for key in keys)
    traces = sorted({one.trace_id for one in seen})
    lead = min(keys, key=lambda key: (not key.detector, -len(roots[key]), key))
    return Category(
        name=lead.kind,
        definition=_definition(lead, roots[lead]),
        lens=_commonest(one.lens for one in seen),  # type: ignore[arg-type]
        klass="code" if coded else "judge",
        fix_or_eval=_commonest(one.route for one in seen),  # type: ignore[arg-type]
        example_trace_ids=tuple(traces[:MOST_EXAMPLES]),
        k=len(traces),
        n=len(kinds.examined if coded else kinds.read),
        detectors=tuple(sorted({key.detector for key in keys if key.detector})),
        kinds=tuple(sorted({key.kind for key in keys})),
    )


def _definition(key: Key, seen: frozenset[Sighting]) -> str:
    """Return what a kind is; code says of each sighting first what it is, then where."""
    text = min(seen).text
    return text.partition(": ")[0] if key.detector else text


def _commonest(values: Iterable[str]) -> str:
    counts = Counter(values)
    return min(counts, key=lambda value: (-counts[value], value))


def _sighting(one: Determination, detection: Detection) -> Sighting:
    return Sighting(
        trace_id=one.trace_id,
        lens=detection.lens,
        route=detection.route,
        text=detection.text,
        root=detection.root,
        steps=tuple(sorted({ref.obs for ref in detection.refs} - {one.trace_id})),
    )

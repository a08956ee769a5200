"""The part of a trace that paths select, as the leaves and owners that a packet can show.

A path selects values, and with a value all that is below it; a path that leads to a whole
observation or message selects it. An observation that a path names is touched even where the
field is missing from it, so that a call without a result is seen to be one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from helix.fieldpath import FieldPath, parse, parse_relative
from helix.grounding.texts import Leaf, below
from helix.model.criterion import Criterion
from helix.model.select import Place, select
from helix.model.trace import Message, Observation, Trace

HOLDERS = ("observations", "transcript")


@dataclass(frozen=True, slots=True)
class Slice:
    """What is selected: owners taken whole, owners touched, leaves by address; None is all."""

    owners: frozenset[str] = frozenset()
    touched: frozenset[str] = frozenset()
    leaves: dict[tuple[str, str], Leaf] | None = None

    @property
    def whole(self) -> bool:
        """Whether the slice is the whole trace."""
        return self.leaves is None

    def holds(self, obs: str, path: str) -> bool:
        """Whether the leaf at an address belongs to the slice."""
        return self.leaves is None or obs in self.owners or (obs, path) in self.leaves

    def with_owners(self, ids: frozenset[str]) -> Slice:
        """Return the slice with further observations and messages, whole."""
        if self.whole:
            return self
        return Slice(self.owners | ids, self.touched | ids, self.leaves)

    def touches(self, obs: str) -> bool:
        """Whether anything of an observation or message belongs to the slice."""
        return self.leaves is None or obs in self.touched


WHOLE = Slice()


def slice_of(trace: Trace, rows: Iterable[Criterion]) -> Slice:
    """Return what rows need together: the whole trace where one of them names no inputs.

    METHOD 16, 38, 47.
    """
    inputs = [row.judge_inputs for row in rows]
    if not inputs or not all(inputs):
        return WHOLE
    return selected(trace, [path for paths in inputs for path in paths])


def selected(trace: Trace, paths: Sequence[str]) -> Slice:
    """Return the slice that paths select; no paths select nothing."""
    owners: set[str] = set()
    touched: set[str] = set()
    found: dict[tuple[str, str], Leaf] = {}
    for path in map(parse, dict.fromkeys(paths)):
        for place in _places(trace, path):
            if place.path == "":
                owners.add(place.obs)
            elif not place.missing:
                steps = parse_relative(place.path).steps
                leaves = below(place.obs, steps, place.value)
                found.update(((leaf.obs, leaf.path), leaf) for leaf in leaves)
            if place.obs != trace.id:
                touched.add(place.obs)
    return Slice(frozenset(owners), frozenset(touched), found)


def _places(trace: Trace, path: FieldPath) -> Iterator[Place]:
    """Yield what a path selects; a whole observation or message is its owner with no path."""
    if path.root not in HOLDERS:
        yield from select(trace, path)
        return
    held: Sequence[Observation | Message]
    held = trace.observations if path.root == "observations" else trace.transcript
    if not path.steps:
        yield from (Place(item.id, "", None, item.seq) for item in held)
        return
    for place in select(trace, path):
        if place.obs != trace.id:
            yield place
        elif not place.missing:
            at = parse_relative(place.path).steps[1]
            yield Place(held[int(str(at))].id, "", None)

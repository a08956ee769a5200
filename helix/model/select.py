"""Where a path leads in a trace: the values of a selector, the one place of a ref.

An address has an owner: the id of the observation or message that holds the value, or the id of
the trace. A selector over `obs:NAME` yields per observation, so that a check knows which of
several calls lacks a field.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from helix.fieldpath import MISSING, FieldPath, parse_relative, render_steps, resolve, walk
from helix.model.trace import TOOL, Message, Observation, Trace

ADDRESSABLE = ("input", "output", "observations", "transcript", "metadata", "usage", "raw")


class Place(msgspec.Struct, frozen=True):
    """One value and its address: owner id, path relative to the owner, seq of the owner (or -1)."""

    obs: str
    path: str
    value: Any
    seq: int = -1

    @property
    def missing(self) -> bool:
        """Whether the path ended before it reached a value."""
        return self.value is MISSING


def select(trace: Trace, path: FieldPath) -> list[Place]:
    """Return every place a selector reaches, in seq order; a place may be missing.

    No matching observation gives an empty list, which is not the same as a missing field.
    The quantifiers `first` and `last` keep one observation; `any` and `all` are the caller's.
    """
    if path.observation is None:
        steps = (str(path.root), *path.steps)
        return [_owned(trace, at, value) for at, value in walk_root(trace, steps)]
    found = matching(trace, path.observation)
    if path.quantifier == "first":
        found = found[:1]
    elif path.quantifier == "last":
        found = found[-1:]
    return [place for o in found for place in within(o, path.steps)]


def matching(trace: Trace, name: str) -> list[Observation]:
    """Return the observations that `obs:NAME` means: all of that name, every TOOL for `*`."""
    if name == "*":
        return [o for o in trace.observations if o.type == TOOL]
    return [o for o in trace.observations if o.name == name]


def within(observation: Observation, steps: tuple[Any, ...]) -> list[Place]:
    """Return the places that a path relative to one observation reaches."""
    keys = _keys(steps)
    if keys is not None:
        address, head, rest = keys
        value = resolve(observation.read(head), rest)
        if value is not MISSING:
            return [Place(observation.id, address, value, observation.seq)]
    return [
        Place(observation.id, render_steps(at), value, observation.seq)
        for at, value in walk(observation.fields(steps[0]), steps)
    ]


@lru_cache(maxsize=4096)
def _keys(steps: tuple[Any, ...]) -> tuple[str, str, tuple[str, ...]] | None:
    """Return the one address of steps that are all keys, with the first and the rest, or None."""
    if not all(isinstance(step, str) for step in steps):
        return None
    return render_steps(steps), steps[0], steps[1:]


def walk_root(trace: Trace, steps: tuple[Any, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield (address, value) for steps that start at a root of the trace."""
    root, entry, rest = steps[0], steps[1:2], steps[2:]
    holders: dict[str, list[Any]] = {
        "observations": trace.observations,
        "transcript": trace.transcript,
    }
    if root not in ADDRESSABLE:
        yield (str(root),), MISSING
    elif root not in holders or not rest:
        yield from walk({root: trace.part(str(root))}, steps)
    else:
        for at, holder in walk(holders[root], entry):
            if holder is MISSING:
                yield (root, *at), MISSING
                continue
            for below, value in walk(holder.fields(rest[0]), rest):
                yield (root, *at, *below), value


def owner(trace: Trace, obs: str) -> Trace | Observation | Message | None:
    """Return what a ref's `obs` names: the trace, an observation, or a message."""
    return trace if obs == trace.id else trace.owners.get(obs)


def at_address(trace: Trace, obs: str, path: str) -> Any:
    """Return the one value at a ref's address, or MISSING; raises PathError on a bad path.

    A path with `[*]` is no address, and so nothing stands there.
    """
    steps = _address(path)
    found = owner(trace, obs)
    if found is None or steps is None:
        return MISSING
    if isinstance(found, Trace):
        return next((v for _, v in walk_root(found, steps)), MISSING)
    if isinstance(found, Observation):
        return resolve(found.read(steps[0]), steps[1:])
    return resolve(found.fields(steps[0]), steps)


@lru_cache(maxsize=4096)
def _address(path: str) -> tuple[Any, ...] | None:
    parsed = parse_relative(path)
    return parsed.steps if parsed.is_address else None


def _owned(trace: Trace, at: tuple[str | int, ...], value: Any) -> Place:
    """Give a place to the observation or message that holds it, else to the trace."""
    if len(at) > 2 and isinstance(at[1], int):
        holders: Sequence[Observation | Message] = ()
        if at[0] == "observations":
            holders = trace.observations
        elif at[0] == "transcript":
            holders = trace.transcript
        if at[1] < len(holders):
            holder = holders[at[1]]
            return Place(holder.id, render_steps(at[2:]), value, holder.seq)
    return Place(trace.id, render_steps(at), value)

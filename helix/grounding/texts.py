"""Text as grounding compares it: whitespace folded, and every citable leaf of a trace."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import msgspec

from helix.fieldpath import Step, render_steps, spelled
from helix.model.tokens import as_text, occurrences
from helix.model.trace import Message, Observation, Trace


class Leaf(msgspec.Struct, frozen=True):
    """One citable value of a trace: owner id, path inside it, the value."""

    obs: str
    path: str
    value: Any

    @property
    def text(self) -> str:
        """The value as a string that a ref may cite."""
        return as_text(self.value)


def fold(text: str) -> str:
    """Fold every run of whitespace to one space, ends trimmed."""
    return " ".join(text.split())


def says(text: str | None) -> bool:
    """Whether a text says anything: it holds a letter or a digit."""
    return any(character.isalnum() for character in text or "")


def stands_in(needle: str, hay: str) -> bool:
    """Whether a folded text stands in another on token boundaries."""
    return next(occurrences(needle, hay), None) is not None


def leaves(trace: Trace) -> Iterator[Leaf]:
    """Yield every citable leaf: input, messages, observations in seq order, output, the rest."""
    first, last = own_leaves(trace)
    yield from first
    done: list[Message | Observation] = [*trace.transcript, *trace.observations]
    for item in sorted(done, key=_seq):
        yield from leaves_of(item)
    yield from last


def own_leaves(trace: Trace) -> tuple[list[Leaf], list[Leaf]]:
    """Return what can be cited of the trace itself: its input, then its output and the rest."""
    last = below(trace.id, ("output",), trace.output)
    for root in ("metadata", "usage"):
        if trace.part(root):
            last += below(trace.id, (root,), trace.part(root))
    return below(trace.id, ("input",), trace.input), last


def leaves_of(item: Message | Observation) -> list[Leaf]:
    """Return what can be cited of one message or observation."""
    if isinstance(item, Message):
        return [Leaf(item.id, "text", item.text)]
    found = below(item.id, ("input",), item.input) + below(item.id, ("output",), item.output)
    for field in ("error", "status", "level"):
        if getattr(item, field) is not None:
            found.append(Leaf(item.id, field, getattr(item, field)))
    return found


def below(obs: str, at: tuple[Step, ...], value: Any) -> list[Leaf]:
    """Return the leaves of a value at an address; a root that was not recorded has none."""
    found: list[Leaf] = []
    top = render_steps(at)
    stack: list[tuple[str, Any]] = [(top, value)]
    while stack:
        path, node = stack.pop()
        if isinstance(node, dict) and node:
            stack += [(path + spelled(str(k)), v) for k, v in reversed(node.items())]
        elif isinstance(node, list) and node:
            stack += [(f"{path}[{i}]", node[i]) for i in range(len(node) - 1, -1, -1)]
        elif node is not None or path != top or len(at) > 1:
            found.append(Leaf(obs, path, node))
    return found


_seq = attrgetter("seq")

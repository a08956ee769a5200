"""When to stop: the last traces brought no new kind of failure (METHOD 54). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from helix.model.verdict import Shape

WINDOW = 20


class Curve(Shape, omit_defaults=False, frozen=True, kw_only=True):
    """New kinds as traces are examined: `known[i]` after trace i + 1.

    `saturated_at` is the number of traces after which the last `window` had brought nothing new,
    null where that was not reached. `stopped` says whether anybody stopped there.
    """

    window: int
    known: tuple[int, ...]
    saturated_at: int | None
    stopped: bool = False


def curve(kinds: Iterable[Sequence[str]], window: int = WINDOW) -> Curve:
    """Return the curve of the kinds of each trace, in the order in which they were examined."""
    seen: set[str] = set()
    known: list[int] = []
    quiet, saturated = 0, None
    for found in kinds:
        fresh = set(found) - seen
        seen |= fresh
        known.append(len(seen))
        quiet = 0 if fresh else quiet + 1
        if saturated is None and quiet >= window:
            saturated = len(known)
    return Curve(window=window, known=tuple(known), saturated_at=saturated)


def went_quiet(found: Curve) -> bool:
    """Whether the last `window` traces brought nothing new; a point before them does not tell."""
    counts = (0, *found.known)
    return len(counts) > found.window and counts[-1] == counts[-1 - found.window]


def stopped(found: Curve) -> Curve:
    """Return a curve at whose end asking was stopped."""
    return msgspec.structs.replace(found, stopped=True)

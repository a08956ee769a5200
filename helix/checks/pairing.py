"""Pairing calls one to one with what was expected of them, as many as can be paired."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence


def most_pairs(choices: Sequence[Sequence[int]]) -> dict[int, int]:
    """Return the pairs (left, right) of a largest matching; `choices` are the rights of each left.

    First come, first served would pair less where an early left takes what a later one needs.
    """
    taken: dict[int, int] = {}
    for left in range(len(choices)):
        _make_room(left, choices, taken)
    return {left: right for right, left in taken.items()}


def _make_room(start: int, choices: Sequence[Sequence[int]], taken: dict[int, int]) -> None:
    """Pair one more left, moving others to other rights of theirs where that is needed."""
    reached: dict[int, int] = {}
    had: dict[int, int] = {}
    waiting = deque([start])
    while waiting:
        left = waiting.popleft()
        for right in choices[left]:
            if right in reached:
                continue
            reached[right] = left
            if right in taken:
                had[taken[right]] = right
                waiting.append(taken[right])
                continue
            while True:
                owner = reached[right]
                taken[right] = owner
                if owner == start:
                    return
                right = had[owner]

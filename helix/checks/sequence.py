"""What came before what: certain, impossible, or unknown (METHOD 27, cause ambiguous-order).

`seq` orders messages and calls alike. Two calls of one turn run side by side, so only their times
can tell which came first; an observation flagged `ambiguous-order` stands nowhere for sure.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence

from helix.checks.conditions import Event


def before(first: Event, then: Event) -> bool | None:
    """Return whether one event came before another; None where nobody can know."""
    if first.id == then.id:
        return False
    if first.unsure or then.unsure:
        return None
    if first.turn is None or first.turn != then.turn:
        return first.seq < then.seq
    if first.end is not None and then.start is not None and first.end <= then.start:
        return True
    if then.end is not None and first.start is not None and then.end <= first.start:
        return False
    return None


class Line:
    """Events of one selector, indexed so that the nearest one before another is found at once."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events
        self._sure = [e for e in events if e.hit and not e.unsure]
        self._seqs = [e.seq for e in self._sure]
        self._earlier = _other_turns(self._sure)
        self._later = _next_turns(self._sure)
        self._maybe = [e for e in events if e.hit is None and not e.unsure]
        self._maybe_seqs = [e.seq for e in self._maybe]
        self._unsure = [e for e in events if e.unsure]
        self._turns: dict[str, list[Event]] = defaultdict(list)
        for event in self._sure:
            if event.turn is not None:
                self._turns[event.turn].append(event)

    def nearest(self, then: Event, after: Event | None = None) -> Event | None:
        """Return the last event that certainly lies before `then`, and after `after`."""
        if then.unsure or (after is not None and after.unsure):
            return None
        at = bisect_left(self._seqs, then.seq) - 1
        while at >= 0:
            event = self._sure[at]
            if after is not None and event.seq <= after.seq:
                return None
            if before(event, then) and (after is None or before(after, event)):
                return event
            at = self._earlier[at] if event.turn is not None else at - 1
        return None

    def following(self, after: Event) -> Event | None:
        """Return the first event that certainly comes after another."""
        if after.unsure:
            return None
        at = bisect_right(self._seqs, after.seq)
        while at < len(self._sure):
            event = self._sure[at]
            if before(after, event):
                return event
            at = self._later[at] if event.turn is not None else at + 1
        return None

    def possible(self, then: Event | None, after: Event | None = None) -> Iterator[Event]:
        """Yield the events that may lie after `after` and before `then`, but not for sure."""
        bounds = [bound for bound in (then, after) if bound is not None]
        others = {bound.id for bound in bounds}
        if any(bound.unsure for bound in bounds):
            yield from (e for e in self.events if e.id not in others)
            return
        yield from (e for e in self._unsure if e.id not in others)
        low = 0 if after is None else bisect_right(self._maybe_seqs, after.seq)
        high = len(self._maybe) if then is None else bisect_left(self._maybe_seqs, then.seq)
        yield from self._maybe[low:high]
        for turn in {bound.turn for bound in bounds if bound.turn is not None}:
            for event in self._turns.get(turn, ()):
                if event.id not in others and _undecided(event, then, after):
                    yield event


def _undecided(event: Event, then: Event | None, after: Event | None) -> bool:
    earlier = True if then is None else before(event, then)
    later = True if after is None else before(after, event)
    return None in (earlier, later) and False not in (earlier, later)


def _other_turns(events: Sequence[Event]) -> list[int]:
    """Return for each event the place of the nearest earlier one that is of another turn."""
    found: list[int] = []
    for at, event in enumerate(events):
        same = at > 0 and event.turn is not None and events[at - 1].turn == event.turn
        found.append(found[at - 1] if same else at - 1)
    return found


def _next_turns(events: Sequence[Event]) -> list[int]:
    """Return for each event the place of the nearest later one that is of another turn."""
    last = len(events) - 1
    return [last - at for at in _other_turns(events[::-1])][::-1]

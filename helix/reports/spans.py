"""Text cut into spans: marked where evidence stands, shortened where it is too long to show.

What is left out is declared with its size, and a mark is never left out (METHOD 85).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from helix.reports.visible import split

PartKind = Literal["text", "escape", "gap"]
LONGEST = 20_000
HEAD, TAIL = 6_000, 600
_BLOB = re.compile(r"[A-Za-z0-9+/=_-]{512,}")
BLOB_HEAD = 32


@dataclass(frozen=True, slots=True)
class Part:
    """Text to show as it is, an escape that stands for a character, or what was left out."""

    kind: PartKind
    text: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A cited stretch of a text: offsets of its ends, and the anchor that evidence links to."""

    start: int
    end: int
    anchor: str


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch under the same marks: `opens` are the anchors that begin here."""

    parts: tuple[Part, ...]
    marks: tuple[str, ...] = ()
    opens: tuple[str, ...] = ()


def find(text: str, cited: str) -> tuple[int, int] | None:
    """Return where the cited words stand in the text, whitespace aside, on token boundaries."""
    words = cited.split()
    if not words:
        return None
    left = r"(?<!\w)" if re.match(r"\w", words[0]) else ""
    right = r"(?!\w)" if re.search(r"\w$", words[-1]) else ""
    found = re.search(left + r"\s+".join(map(re.escape, words)) + right, text)
    return found.span() if found else None


def cut(text: str, marks: Sequence[Mark]) -> tuple[Span, ...]:
    """Return the text as spans in order; overlapping marks share the stretch they both cover."""
    edges = sorted({0, len(text), *(m.start for m in marks), *(m.end for m in marks)})
    spans = []
    for start, end in pairwise(edges):
        over = [m for m in marks if m.start <= start and end <= m.end]
        spans.append(
            Span(
                parts=tuple(_parts(text[start:end])),
                marks=tuple(m.anchor for m in over),
                opens=tuple(m.anchor for m in over if m.start == start),
            )
        )
    if text:
        return tuple(spans)
    anchors = tuple(m.anchor for m in marks)
    return (Span((), anchors, anchors),) if anchors else ()


def _parts(text: str) -> Iterator[Part]:
    if len(text) > LONGEST:
        yield from _readable(text[:HEAD])
        yield Part("gap", f"{len(text) - HEAD - TAIL:,} characters not shown")
        yield from _readable(text[-TAIL:])
    else:
        yield from _readable(text)


def _readable(text: str) -> Iterator[Part]:
    at = 0
    for blob in _BLOB.finditer(text):
        kept = blob.start() + BLOB_HEAD
        yield from _shown(text[at:kept])
        yield Part("gap", f"{blob.end() - kept:,} unbroken characters not shown")
        at = blob.end()
    yield from _shown(text[at:])


def _shown(text: str) -> Iterator[Part]:
    for part, is_escape in split(text):
        yield Part("escape" if is_escape else "text", part)

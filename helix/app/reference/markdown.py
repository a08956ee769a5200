"""Tables and headings of the reference, as Markdown that GitHub and the site both read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from helix.app.item_page import takes
from helix.app.shapes import Schema

NOTE = "Written by `make reference` from the code; change the code."
_BOUNDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
}


def document(title: str, about: str, body: str) -> str:
    """Return a whole page."""
    return f"# {title}\n\n<!-- {NOTE} -->\n\n{about}\n\n{body.strip()}\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; a cell holds no line break, and no bar that would end it."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(cell, line))} |" for line in lines)


def cell(text: str) -> str:
    """Return text as it may stand in a table."""
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


def code(text: str) -> str:
    """Return text between as many backticks as it needs."""
    ticks = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    return f"{ticks}{text}{ticks}"


def words(schema: Schema) -> str:
    """Return what a value may be: its kind, its choices, its bounds."""
    kinds = " or ".join(dict.fromkeys(takes(schema)))
    bounds = ", ".join(_bounds(schema))
    return f"{kinds}, {bounds}" if bounds else kinds


def _bounds(schema: Schema) -> Iterator[str]:
    for node in [schema, *schema.get("anyOf", ())]:
        for key, text in _BOUNDS.items():
            if key in node:
                yield text.format(f"{node[key]:,}")

"""One trace as a tree of text: what was said and done, in order, children below their parents.

Every text of the trace is made visible and cut to one line, so that nothing in it can act on a
terminal; the canonical record has the whole of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from rich.cells import cell_len, set_cell_size

from helix.model.canonical import canonical_text
from helix.model.manifest import located
from helix.model.trace import Message, Observation, Trace
from helix.reports.visible import one_line
from helix.reports.words import counted

DEEPEST: Final = 12
_LIMIT: Final = 2000
_LEAST: Final = 24
_MARKS: Final = {"→": "->", "…": "...", "·": "|"}
Item = Message | Observation


def render_tree(trace: Trace, width: int, *, ascii: bool = False) -> str:
    """Return the trace as lines of at most `width` columns; `ascii` leaves no other character."""
    lines = [*_head(trace), *_tree(trace), *_tail(trace)]
    return "\n".join(_fitted(line, max(width, _LEAST), ascii) for line in lines)


def _head(trace: Trace) -> Iterator[str]:
    source = trace.source
    where = _short(located(source.file, source.line))
    yield f"{_short(trace.id)} · {source.format} · {where}"
    told = [f"{name} {_short(value)}" for name, value in _facts(trace)]
    tools = len(trace.tools())
    told += [counted(len(trace.transcript), "message"), counted(tools, "tool call")]
    told.append(counted(len(trace.observations) - tools, "other observation"))
    yield " · ".join(told)
    if trace.flags:
        yield f"flags: {', '.join(map(_short, trace.flags))}"
    yield from _parts("input", trace.input)
    yield ""


def _facts(trace: Trace) -> Iterator[tuple[str, str]]:
    if trace.task is not None:
        yield "task", trace.task
    if trace.route is not None:
        yield "route", trace.route


def _tail(trace: Trace) -> Iterator[str]:
    yield ""
    yield from _parts("output", trace.output)
    for root, value in (("usage", trace.usage), ("metadata", trace.metadata)):
        if value:
            yield f"{root}: {_text(value)}"
    if trace.labels:
        yield f"labels: {', '.join(map(_short, sorted(trace.labels)))} (not shown to judges)"


def _parts(root: str, value: Any) -> Iterator[str]:
    parts = value.items() if isinstance(value, dict) else [("", value)]
    for key, part in parts:
        if part not in (None, ""):
            yield f"{root}{'.' if key else ''}{_short(key)}: {_text(part)}"


def _tree(trace: Trace) -> Iterator[str]:
    """Yield the items in order, each below its parent; a cycle opens at its first member."""
    items: list[Item] = sorted([*trace.transcript, *trace.observations], key=lambda i: i.seq)
    known = {item.id for item in items}
    children: dict[str | None, list[Item]] = defaultdict(list)
    for item in items:
        parent = item.parent_id if isinstance(item, Observation) else None
        children[parent if parent in known else None].append(item)
    drawn: set[str] = set()
    for root in [*children[None], *items]:
        stack = [(root, "")]
        while stack:
            item, indent = stack.pop()
            if item.id in drawn:
                continue
            drawn.add(item.id)
            below = [child for child in children.get(item.id, ()) if child.id not in drawn]
            yield f"{indent}{_line(item)}"
            inner = indent if len(indent) >= 2 * DEEPEST else indent + "  "
            yield from (f"{inner}{text}" for text in _result(item))
            stack += [(child, inner) for child in reversed(below)]


def _line(item: Item) -> str:
    if isinstance(item, Message):
        control = " (control)" if item.control else ""
        told = f"{item.seq} {_short(item.role)}{control} [{_short(item.id)}]"
        return f"{told} {_text(item.text)}".rstrip()
    flags = f" !{','.join(map(_short, item.flags))}" if item.flags else ""
    told = f"{item.seq} {_short(item.type)} {_short(item.name)} [{_short(item.id)}]{flags}"
    return told if item.input in (None, {}) else f"{told} {_text(item.input)}"


def _result(item: Item) -> Iterator[str]:
    if isinstance(item, Message):
        return
    if item.error is not None:
        yield f"error: {_text(item.error)}"
    if item.has_output and item.output != {"text": item.error}:
        yield f"→ {_text(item.output)}"


def _text(value: Any) -> str:
    if isinstance(value, dict) and value.keys() == {"text"}:
        value = value["text"]
    text = value if isinstance(value, str) else canonical_text(value)
    return one_line(text[: 2 * _LIMIT], _LIMIT)


def _short(text: Any) -> str:
    return one_line(str(text)[:_LIMIT], 200)


def _fitted(line: str, width: int, ascii: bool) -> str:
    """Cut a line to the columns there are; wide characters count two."""
    if ascii:
        line = "".join(_MARKS.get(c, c) for c in line).encode("ascii", "replace").decode()
    if cell_len(line) <= width:
        return line
    end = "..." if ascii else "…"
    return set_cell_size(line, width - len(end)).rstrip() + end

"""Writing terms into a criteria file, every other character of it left alone.

A line is added to a row before one of its keys (or in its braces). The text that results is read
again, and unless it says exactly what the old one said, with the terms besides, nothing is written.
"""

from __future__ import annotations

import codecs
import copy
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from helix.errors import SuiteError
from helix.files import atomic_write
from helix.suite.dumping import VALUES
from helix.suite.load import row_id
from helix.suite.source import Source, parse

KEY = "terms"
WIDEST = 100
_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_PLAIN = re.compile(r"[A-Za-z][\w -]*[\w]|[A-Za-z]")
_AFTER = ("judge_inputs", "judgeInputs")


def write_terms(file: str | Path, terms: Mapping[str, Sequence[str]]) -> None:
    """Store terms in the rows of these ids; a row that has the key already is refused.

    SuiteError where the file has another shape than can be added to safely; it is then unchanged.
    """
    data = Path(file).read_bytes()
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    text = with_terms(data[len(mark) :].decode("utf-8"), str(file), terms)
    atomic_write(file, mark + text.encode("utf-8"))


def with_terms(text: str, name: str, terms: Mapping[str, Sequence[str]]) -> str:
    """Return the text of a suite with terms in the rows of these ids."""
    source = parse(text, name)
    places = {row_id(raw, at): at for at, raw in enumerate(source.value["criteria"])}
    wanted, nodes = copy.deepcopy(source.value), _rows(source)
    for row, given in terms.items():
        held = wanted["criteria"][places[row]]
        if KEY in held:
            raise _unsafe(name, nodes[places[row]], given)
        held[KEY] = list(given)
    lines = _Lines(text)
    for row in sorted(terms, key=lambda row: _where(nodes[places[row]]), reverse=True):
        _add(nodes[places[row]], terms[row], lines)
    changed = lines.text()
    if not _says(changed, name, wanted):
        row, given = next(iter(terms.items()))
        raise _unsafe(name, nodes[places[row]], given)
    return changed


def _says(text: str, name: str, wanted: Any) -> bool:
    try:
        return bool(parse(text, name).value == wanted)
    except SuiteError:
        return False


class _Lines:
    """The lines of a text with their breaks, into which text is put from the end backwards."""

    def __init__(self, text: str) -> None:
        ends = [match.end() for match in _BREAK.finditer(text)]
        starts = [0, *ends]
        self.lines = [text[a:b] for a, b in zip(starts, [*ends, len(text)], strict=True)]
        first = _BREAK.search(text)
        self.newline = first.group() if first else "\n"

    def text(self) -> str:
        """Return the whole text."""
        return "".join(self.lines)

    def comments_above(self, line: int, column: int) -> int:
        """Return the first of the comment lines right above a line, not deeper than a column."""
        while line > 0:
            above = self.lines[line - 1]
            indent = len(above) - len(above.lstrip(" "))
            if not above.lstrip(" ").startswith("#") or indent > column:
                break
            line -= 1
        return line


def _rows(source: Source) -> list[yaml.MappingNode]:
    root = source.root
    assert isinstance(root, yaml.MappingNode)
    criteria = next(v for k, v in root.value if getattr(k, "value", None) == "criteria")
    return list(criteria.value)


def _where(node: yaml.Node) -> tuple[int, int]:
    return node.start_mark.line, node.start_mark.column


def _add(row: yaml.MappingNode, terms: Sequence[str], lines: _Lines) -> None:
    """Add terms to a row's own keys; those that a merge brought in stand elsewhere."""
    own = [(key, value) for key, value in row.value if _where(key) >= _where(row)]
    if row.flow_style:
        mark = own[-1][1].end_mark
        line = lines.lines[mark.line]
        flow = f", {KEY}: [{', '.join(map(_spelled, terms))}]"
        lines.lines[mark.line] = line[: mark.column] + flow + line[mark.column :]
        return
    keys = [key for key, _ in own]
    named = [at for at, key in enumerate(keys) if key.value in _AFTER]
    after = named[0] if named else 0
    column = keys[0].start_mark.column
    block = _block(terms, column, lines.newline)
    if after + 1 < len(keys):
        at = lines.comments_above(keys[after + 1].start_mark.line, column)
        lines.lines.insert(at, block)
    elif after > 0:
        lines.lines.insert(lines.comments_above(keys[after].start_mark.line, column), block)
    else:
        end = own[after][1].end_mark.line
        lines.lines[end] = lines.lines[end].rstrip("\r\n") + lines.newline
        lines.lines.insert(end + 1, block)


def _block(terms: Sequence[str], column: int, newline: str) -> str:
    pad, spelled = " " * column, [_spelled(term) for term in terms]
    line = f"{pad}{KEY}: [{', '.join(spelled)}]"
    if len(line) <= WIDEST:
        return line + newline
    items = [f"{pad}  - {term}" for term in spelled]
    return newline.join([f"{pad}{KEY}:", *items, ""])


def _spelled(term: str) -> str:
    if _PLAIN.fullmatch(term) and term.casefold() not in VALUES:
        return term
    if term.isprintable():
        return "'" + term.replace("'", "''") + "'"
    dumped: Any = yaml.safe_dump(term, default_style='"', allow_unicode=True, width=10**6)
    return str(dumped).strip()


def _unsafe(name: str, row: yaml.MappingNode, terms: Sequence[str]) -> SuiteError:
    line = row.start_mark.line + 1
    return SuiteError(
        f"{name}:{line}: terms cannot be added to this row without touching the rest of the file; "
        f"add by hand: {KEY}: [{', '.join(map(_spelled, terms))}]"
    )

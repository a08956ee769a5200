"""Pages of a manual in the width of a terminal: what is too wide is wrapped as what it is."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field

LEAST = 24
"""The fewest columns of text that are put beside a name."""
_ROW = re.compile(r"^(?P<before> *\S.*?\s{2,})(?P<last>\S(?:(?!\s{2}).)*)$")
_NUMBERED = re.compile(r"^ *\d+\. ")
_WORD = re.compile(r"""(?:\[[^]]*]|[^\s'"]|'[^']*'|"[^"]*")+""")


@dataclass(slots=True)
class _Block:
    """Lines of one sentence, row of a table or command; `hang` is the column where it goes on."""

    hang: int
    command: bool = False
    lines: list[str] = field(default_factory=list)

    def fitted(self, width: int) -> list[str]:
        if max(map(len, self.lines)) <= width:
            return self.lines
        return _command(self.lines, width) if self.command else _text(self.lines, self.hang, width)


def fitted(text: str, width: int) -> str:
    """Return a page whose lines end at `width`, but for words that are longer by themselves."""
    return "\n".join(line for block in _blocks(text) for line in block.fitted(width))


def _blocks(text: str) -> Iterator[_Block]:
    now = _Block(0)
    for line in text.split("\n"):
        if now.lines and _goes_on(now, line):
            now.lines.append(line)
            continue
        if now.lines:
            yield now
        now = _started(line)
    yield now


def _goes_on(now: _Block, line: str) -> bool:
    if now.lines[-1].endswith("\\"):
        return True
    if not line.strip() or now.command or _started(line).command or _NUMBERED.match(line):
        return False
    return bool(now.lines[-1].strip()) and not _ROW.match(line) and _indent(line) == now.hang


def _started(line: str) -> _Block:
    row, indent = _ROW.match(line), _indent(line)
    if row:
        return _Block(len(row["before"]), lines=[line])
    if indent and line.strip().startswith("helix "):
        return _Block(indent + 4, command=True, lines=[line])
    return _Block(indent + (3 if _NUMBERED.match(line) else 0), lines=[line])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _text(lines: list[str], hang: int, width: int) -> list[str]:
    first, indent = lines[0], _indent(lines[0])
    if width - hang < LEAST:
        hang = min(hang, indent + 4)
    # The words before the column keep their distance; the rest is one text.
    head = first[:hang] if len(first[:hang].rstrip()) < hang else first[:indent]
    rest = " ".join([first[len(head) :].strip(), *(line.strip() for line in lines[1:])])
    return textwrap.wrap(
        rest, width, initial_indent=head, subsequent_indent=" " * hang,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _command(lines: list[str], width: int) -> list[str]:
    """Return a command in lines that a shell reads as one."""
    indent = " " * _indent(lines[0])
    words = _WORD.findall(" ".join(line.rstrip("\\") for line in lines))
    found = [indent + words[0]]
    for word in words[1:]:
        if len(found[-1]) + 1 + len(word) + 2 <= width:
            found[-1] += f" {word}"
        else:
            found[-1] += " \\"
            found.append(f"{indent}  {word}")
    return found

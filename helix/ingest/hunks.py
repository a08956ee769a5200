"""A unified diff in its parts: hunks with their file and lines, and what else is said of a file.

How many lines a hunk has is what its head says, so that a removed line which looks like the head of
a file is read as the line that it is. Nothing is applied, and nothing in a diff is a path to open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)")
_FILE = ("diff --git ", "diff -", "Index: ")
_PLAIN = (*_FILE, "index ", "--- ", "+++ ", "=====")
_OLD, _NEW, _NOTHING = "--- ", "+++ ", "/dev/null"


@dataclass(slots=True)
class Part:
    """One part of a diff: a hunk, or what is said of a file besides hunks (`old` is None).

    `old` and `new` are (first line, how many lines) before and after the change.
    """

    file: str
    lines: list[str] = field(default_factory=list)
    old: tuple[int, int] | None = None
    new: tuple[int, int] | None = None
    within: str = ""

    @property
    def added(self) -> int:
        """How many lines the hunk adds."""
        return 0 if self.old is None else sum(line.startswith("+") for line in self.lines)

    @property
    def removed(self) -> int:
        """How many lines the hunk removes."""
        return 0 if self.old is None else sum(line.startswith("-") for line in self.lines)


def parts_of(diff: str) -> tuple[list[Part], list[str]]:
    """Return the parts of a diff in their order, and the lines that belong to none of them."""
    lines = diff.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    found: list[Part] = []
    loose: list[str] = []
    head = Part("")
    at = 0
    while at < len(lines):
        line = lines[at]
        hunk = _HUNK.match(line)
        if hunk and head.file:
            part, at = _hunk(hunk, head.file, lines, at + 1)
            found += [*_besides(head), part]
            head.lines = []
            continue
        opens = line.startswith(_FILE)
        if opens or (line.startswith(_OLD) and _is_file(lines, at) and not _waits(head)):
            found += _left(head)
            head = Part(_named(line) if opens else _path(line), [line])
        elif head.lines:
            head.lines.append(line)
            if line.startswith((_OLD, _NEW)) and _path(line) != _NOTHING:
                head.file = _path(line)
        else:
            loose.append(line)
        at += 1
    return [*found, *_left(head)], loose


def _hunk(head: re.Match[str], file: str, lines: Sequence[str], at: int) -> tuple[Part, int]:
    old = int(head[1]), int(head[2] or 1)
    new = int(head[3]), int(head[4] or 1)
    part = Part(file, [], old, new, head[5].strip())
    left_old, left_new = old[1], new[1]
    while at < len(lines) and (left_old > 0 or left_new > 0 or lines[at].startswith("\\")):
        line = lines[at]
        sign = line[:1] or " "
        if sign not in " +-\\":
            break
        left_old -= sign in " -"
        left_new -= sign in " +"
        part.lines.append(line)
        at += 1
    return part, at


def _is_file(lines: Sequence[str], at: int) -> bool:
    return at + 1 < len(lines) and lines[at + 1].startswith(_NEW)


def _waits(head: Part) -> bool:
    """Whether a file's head was opened and its two names are still to come."""
    return bool(head.lines) and not any(line.startswith((_OLD, _NEW)) for line in head.lines)


def _left(head: Part) -> Iterator[Part]:
    """Yield what is said of a file that has no hunk: renamed, made, removed, binary."""
    if head.lines:
        yield head


def _besides(head: Part) -> Iterator[Part]:
    """Yield the head of a file with hunks where it says more than names: a new mode, a rename."""
    if any(line and not line.startswith(_PLAIN) for line in head.lines):
        yield Part(head.file, head.lines)


def _named(line: str) -> str:
    """Return the file that a `diff` line names: what follows the last ` b/`, else its last word."""
    _, mark, name = line.rpartition(" b/")
    return name if mark else line.split()[-1]


def _path(line: str) -> str:
    name = line[4:].split("\t")[0].strip()
    return name[2:] if name.startswith(("a/", "b/")) else name

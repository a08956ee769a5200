"""Text for a terminal: wrapped to its width, coloured where wanted, ASCII where needed."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
from collections.abc import Callable
from typing import Final

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from helix.reports.visible import visible
from helix.reports.words import ASCII_SYMBOLS, SYMBOLS, Standing, in_ascii

STYLES: Final = {
    "fail": "bold red",
    "incomplete": "bold magenta",
    "uncertain": "bold yellow",
    "pass": "bold green",
    "na": "dim",
}
# GitHub obeys `::word::` at a line's begin; it, Azure and TeamCity obey `##word[` anywhere.
_COMMAND: Final = re.compile(r"^(\s*):(?=:)|#(?=#(?:vso|teamcity)?\[)")
Styled = str | tuple[str, str]


def for_this_console(render: Callable[[int, bool, bool], str]) -> bytes:
    """Return what `render(width, color, ascii)` makes for this process's standard output.

    It is in the output's own encoding. One that cannot show a character gets the ASCII form.
    """
    plain = bool(os.environ.get("NO_COLOR") or os.environ.get("CI")) or not sys.stdout.isatty()
    width = max(shutil.get_terminal_size((80, 24)).columns, 20)
    try:
        return render(width, not plain, False).encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return render(width, not plain, True).encode("ascii")


def _inert(line: str) -> str:
    """Return a line that a CI runner takes for no command of its own, whatever a trace says."""
    return _COMMAND.sub(r"\g<0> ", line)


class TextPage:
    """Lines of styled text, wrapped to a width with hanging indents."""

    def __init__(self, width: int, color: bool, ascii: bool) -> None:
        self._ascii = ascii
        self._out = io.StringIO()
        self._console = Console(
            file=self._out,
            width=width,
            force_terminal=color,
            color_system="standard" if color else None,
            legacy_windows=False,
            highlight=False,
            markup=False,
            emoji=False,
        )

    @property
    def text(self) -> str:
        lines = self._out.getvalue().split("\n")
        return "\n".join(_inert(line.rstrip()) for line in lines).strip("\n") + "\n"

    def line(self, *parts: Styled, indent: int = 0, most: int | None = None) -> None:
        """Write one line, wrapped with its indent kept, and cut after `most` rows."""
        text = Text(overflow="fold")
        for part in parts:
            words, style = part if isinstance(part, tuple) else (part, "")
            text.append(self._readable(words), style)
        text = self._cut(text, self._console.width - indent, most)
        self._console.print(Padding(text, (0, 0, 0, indent)))

    def _cut(self, text: Text, width: int, most: int | None) -> Text:
        rows = text.wrap(self._console, width)
        if most is None or len(rows) <= most:
            return text
        mark = self._readable("…")
        last = rows[most - 1]
        last.truncate(width - len(mark))
        last.append(mark)
        return Text("\n").join(rows[:most])

    def whole(self, text: str) -> None:
        """Write a line that is never broken, so that it can be copied."""
        self._console.print(Text(self._readable(visible(text))), soft_wrap=True)

    def gap(self) -> None:
        self._console.print()

    def state(self, standing: Standing, word: str | None = None) -> tuple[str, str]:
        """Return a state's symbol and word in its colour."""
        symbol = (ASCII_SYMBOLS if self._ascii else SYMBOLS)[standing]
        return f"{symbol} {(word or standing).upper()}", STYLES[standing]

    def _readable(self, text: str) -> str:
        return in_ascii(text) if self._ascii else text

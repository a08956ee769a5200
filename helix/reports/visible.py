"""Text of traces made visible: what could act on a reader's screen is spelled out instead.

Control characters, escape sequences, bidirectional overrides, invisible characters and lone
surrogates become their escape in plain characters (`\\x1b`, `\\u202e`), so that nothing in a trace
can move a cursor, reorder a line or break an encoder (DESIGN “Safety”).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_ACTING = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff"
)
# Joiners shape some scripts and emoji; beside ASCII they only hide something.
_HIDDEN = re.compile(f"[{_ACTING}]|(?<=[ -~])[\u200c\u200d]|[\u200c\u200d](?=[ -~])")


def visible(text: str) -> str:
    """Return the text with every acting or invisible character spelled out; keeps \\n and \\t."""
    if text.isascii() and text.isprintable():
        return text
    return _HIDDEN.sub(lambda found: escaped(found.group()), text.replace("\r\n", "\n"))


def split(text: str) -> Iterator[tuple[str, bool]]:
    """Yield (text, is_escape) parts, so that a page can set escapes apart from the same text."""
    text = text.replace("\r\n", "\n")
    at = 0
    for found in _HIDDEN.finditer(text):
        if found.start() > at:
            yield text[at : found.start()], False
        yield escaped(found.group()), True
        at = found.end()
    if at < len(text):
        yield text[at:], False


def one_line(text: str, limit: int | None = None) -> str:
    """Return the text made visible on one line, cut to `limit` characters with an ellipsis."""
    flat = " ".join(visible(text).split())
    return flat if limit is None or len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


def first_line(text: str, limit: int | None = None) -> str:
    """Return the first line that says something, made visible."""
    return one_line(next((line for line in text.splitlines() if line.strip()), ""), limit)


def escaped(character: str) -> str:
    """Return a character's escape as plain text."""
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

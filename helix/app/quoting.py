"""Overrides as typed, made safe for Hydra's grammar: text keeps its characters and its type.

Hydra reads the text behind `=` by a grammar of its own, in which `#`, `(`, `~`, letters with
accents and more are errors, and `1e3`, `007` or `null` are not text. So, for keys that hold text:

- text already in single or double quotes, and `null` for a key that may be null, are left alone;
- for one text (`judge.model`) everything behind `=` is one text, commas and brackets too;
- for paths (`subject.traces`) likewise, but `[a,b]` is a list of paths;
- for a list of texts (`select.criteria`) `a,b` and `[a,b]` are both the list;
- under --multirun a comma outside quotes and brackets separates the values of a sweep, for every
  key, and `choice(…)`, `range(…)`, `interval(…)`, `glob(…)`, `sort(…)`, `shuffle(…)` and
  `tag(…)` are left to Hydra.

`${…}` inside a text is resolved, as Hydra does it. Keys of other types are left to Hydra's grammar.
"""

from __future__ import annotations

import re

from helix.app.keys import Key

_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_SWEEP = re.compile(r"(?:choice|range|interval|glob|sort|shuffle|tag)\(.*\)", re.DOTALL)
_OPENING = "([{"
_CLOSING = ")]}"


def shaped(text: str, key: Key, *, multirun: bool) -> str:
    """Return the value of an override so that Hydra reads what was typed."""
    if key.kind == "other":
        return text
    if multirun:
        if _SWEEP.fullmatch(text):
            return text
        return ",".join(_value(piece, key, commas=False) for piece in pieces(text))
    return _value(text, key, commas=key.kind == "texts")


def quoted(text: str) -> str:
    """Return the text in single quotes, as Hydra's grammar reads them."""
    escaped = re.sub(r"(\\*)('|\Z)", _escape, text)
    return f"'{escaped}'"


def is_quoted(text: str) -> bool:
    """Return whether the whole text is one quoted string."""
    return _QUOTED.fullmatch(text) is not None


def readable(text: str, key: Key) -> str:
    """Return a value that was made safe for Hydra as a person would type it, if that is the same.

    The inverse of `shaped` for one value.
    """
    if is_quoted(text):
        plain = text[1:-1]
    elif text.startswith("[") and text.endswith("]"):
        plain = f"[{','.join(i[1:-1] if is_quoted(i) else i for i in pieces(text[1:-1]))}]"
    else:
        return text
    return plain if shaped(plain, key, multirun=False) == text else text


def texts(text: str) -> list[str]:
    """Return the texts of a list that is typed as `a,b` or `[a,b]`."""
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    items = [item.strip() for item in pieces(inner)]
    return [item[1:-1] if is_quoted(item) else item for item in items if item]


def pieces(text: str) -> list[str]:
    """Split a text at the commas that stand outside quotes and brackets."""
    found, start, depth, at = [], 0, 0, 0
    while at < len(text):
        quote = _QUOTED.match(text, at) if _opens(text, at, start) else None
        if quote:
            at = quote.end()
            continue
        if text[at] in _OPENING:
            depth += 1
        elif text[at] in _CLOSING:
            depth = max(0, depth - 1)
        elif text[at] == "," and depth == 0:
            found.append(text[start:at])
            start = at + 1
        at += 1
    return [*found, text[start:]]


def _opens(text: str, at: int, start: int) -> bool:
    return text[at] in "'\"" and (at == start or text[at - 1] in "[, ")


def _escape(found: re.Match[str]) -> str:
    return found[1] * 2 + ("\\'" if found[2] else "")


def _value(text: str, key: Key, *, commas: bool) -> str:
    if is_quoted(text):
        return f"[{text}]" if key.kind == "texts" else text
    if key.nullable and text == "null":
        return text
    if key.kind == "text":
        return quoted(text)
    if text.startswith("[") and text.endswith("]"):
        return _list(pieces(text[1:-1]))
    if key.kind == "path":
        return quoted(text)
    return _list(pieces(text) if commas else [text])


def _list(items: list[str]) -> str:
    stripped = [item.strip() for item in items]
    if stripped == [""]:
        return "[]"
    return f"[{','.join(i if is_quoted(i) else quoted(i) for i in stripped)}]"

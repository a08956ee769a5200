"""The string leaves of a source file, and whether a trace's paths reach them; independent code."""

from __future__ import annotations

import contextlib
import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from helix.model.select import ADDRESSABLE
from helix.model.trace import Trace

LEAST = 8
_KINDS = (("type",), ("object",), ("kind",), ("role",))
_WORD = re.compile(r"[A-Za-z_.-]+")
Steps = tuple[str | int, ...]
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.,+Z -]*|\d{16,20}")


def documents(file: Path) -> Iterator[tuple[Any, int]]:
    """The JSON documents of a file and their lines: one (0), one a line, or the members of a zip.

    A damaged line holds nothing that could be reached; it is a load failure.
    """
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            for name in archive.namelist():
                if name.endswith(".json"):
                    yield json.loads(archive.read(name)), 0
        return
    text = file.read_text(encoding="utf-8-sig")
    try:
        yield json.loads(text), 0
    except ValueError:
        for line, part in enumerate(text.split("\n"), start=1):
            with contextlib.suppress(ValueError):
                yield json.loads(part), line


def strings(value: Any, at: Steps = ()) -> Iterator[tuple[Steps, str]]:
    """Every string leaf with its path; keys are not leaves."""
    stack: list[tuple[Steps, Any]] = [(at, value)]
    while stack:
        path, node = stack.pop()
        if isinstance(node, dict):
            stack += [((*path, str(key)), below) for key, below in node.items()]
        elif isinstance(node, list):
            stack += [((*path, at), below) for at, below in enumerate(node)]
        elif isinstance(node, str):
            yield path, node


def leaves(value: Any) -> Iterator[str]:
    """Every string leaf."""
    return (text for _, text in strings(value))


class Reached:
    """What the paths of some traces reach; `labels` holds what they keep apart."""

    def __init__(self, traces: Iterable[Trace]) -> None:
        self._texts: set[str] = set()
        self._labels: set[str] = set()
        self._keys: set[str] = set()
        for trace in traces:
            self._texts |= {trace.id, trace.task or "", trace.route or ""}
            for root in ADDRESSABLE:
                self._texts |= {text for _, text in strings(trace.part(root))}
            self._keys |= {str(s) for path, _ in strings(trace.raw) for s in path}
            self._labels |= {text for _, text in strings(trace.labels)}
        self._whole = "\0".join(sorted(self._texts))

    def holds(self, text: str) -> bool:
        """Whether a path reaches the text, or one that it stands in, or all that it spells."""
        if text in self._texts or text.strip() in self._whole:
            return True
        below = decoded(text)
        return below is not None and all(
            self.holds(leaf)
            for path, leaf in strings(below)
            if len(leaf) >= LEAST and not is_word_of_the_format(path, leaf)
        )

    def is_label(self, text: str) -> bool:
        """Whether the text is kept as a label."""
        return text in self._labels

    def is_key(self, text: str) -> bool:
        """Whether the text is a step of a path: the id of a record under `raw`, a name."""
        return text in self._keys


def decoded(text: str) -> Any:
    """The object, list or string that a text spells in JSON, else None."""
    if not text.lstrip().startswith(("{", "[", '"')):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def is_time(text: str) -> bool:
    """Whether a text is a time; the model holds those as numbers."""
    return _TIME.fullmatch(text.strip()) is not None


def is_word_of_the_format(path: Steps, text: str) -> bool:
    """Whether a leaf says what kind of thing stands there, which the trace's shape says.

    So does the name of an OTLP attribute: its value stands in a field, or under that name.
    """
    if path[-1:] == ("key",):
        return "attributes" in path
    return path[-1:] in _KINDS and _WORD.fullmatch(text) is not None

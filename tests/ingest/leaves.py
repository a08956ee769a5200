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
Path_ = tuple[str | int, ...]
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.,+Z -]*|\d{16,20}")


def documents(file: Path) -> Iterator[Any]:
    """The JSON documents of a file: one, or one a line, or one a member of a zip.

    A damaged line holds nothing that could be reached; it is a load failure.
    """
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            for name in archive.namelist():
                if name.endswith(".json"):
                    yield json.loads(archive.read(name))
        return
    text = file.read_text(encoding="utf-8-sig")
    try:
        yield json.loads(text)
    except ValueError:
        for line in text.split("\n"):
            with contextlib.suppress(ValueError):
                yield json.loads(line)


def strings(value: Any, at: Path_ = ()) -> Iterator[tuple[Path_, str]]:
    """Every string leaf with its path; keys are not leaves."""
    stack: list[tuple[Path_, Any]] = [(at, value)]
    while stack:
        path, node = stack.pop()
        if isinstance(node, dict):
            stack += [((*path, str(key)), below) for key, below in node.items()]
        elif isinstance(node, list):
            stack += [((*path, at), below) for at, below in enumerate(node)]
        elif isinstance(node, str):
            yield path, node


class Reached:
    """What the paths of some traces reach; `labels` holds what they keep apart."""

    def __init__(self, traces: Iterable[Trace]) -> None:
        self._texts: set[str] = set()
        self._labels: set[str] = set()
        for trace in traces:
            self._texts |= {trace.id, trace.task or "", trace.route or ""}
            for root in ADDRESSABLE:
                self._texts |= {text for _, text in strings(trace.part(root))}
            self._labels |= {text for _, text in strings(trace.labels)}
        self._whole = "\0".join(sorted(self._texts))

    def holds(self, text: str) -> bool:
        """Whether a path reaches the text, or one that it stands in, or all that it spells."""
        if text in self._texts or text.strip() in self._whole:
            return True
        below = decoded(text)
        return below is not None and all(
            self.holds(leaf) for _, leaf in strings(below) if len(leaf) >= LEAST
        )

    def is_label(self, text: str) -> bool:
        """Whether the text is kept as a label."""
        return text in self._labels


def decoded(text: str) -> Any:
    """The object or list that a text spells, else None."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def is_time(text: str) -> bool:
    """Whether a text is a time; the model holds those as numbers."""
    return _TIME.fullmatch(text.strip()) is not None

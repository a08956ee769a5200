"""The built-in label sources, each imported when it is first read."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from helix.registry import LabelSource, hookimpl

SOURCES: dict[str, tuple[str, ...]] = {
    "agentrx": (),
    "csv": ("*=*",),
    "helix": ("*=*",),
    "langfuse": ("*=*",),
    "langsmith": ("*=*",),
    "traces": ("expected.*=*",),
}


@hookimpl
def helix_register_labels(register: Callable[[LabelSource], None]) -> None:
    """Register every source by the name of its module."""
    for name, maps in SOURCES.items():
        register(LabelSource(name, "1", _reader(name), maps))


def _reader(name: str) -> Callable[[str], Iterator[Mapping[str, Any]]]:
    def read(path: str) -> Iterator[Mapping[str, Any]]:
        found: Iterator[Mapping[str, Any]] = importlib.import_module(
            f"helix.labels.sources.{name}"
        ).read(path)
        return found

    return read

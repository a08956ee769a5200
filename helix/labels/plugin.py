"""The built-in label sources."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from helix.registry import LabelSource, hookimpl

# A source and the rules that hold where the user gives none.
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
        module = importlib.import_module(f"helix.labels.sources.{name}")
        register(LabelSource(name, "1", module.read, maps))

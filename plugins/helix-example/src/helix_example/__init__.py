"""What this package adds to Helix: a function for each hook, which imports its item when called.

Every item is named after the package, so that two plugins never claim one name.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from helix.registry import Check, Format, Judge, Renderer, hookimpl

__all__ = [
    "helix_config_paths",
    "helix_register_checks",
    "helix_register_formats",
    "helix_register_judges",
    "helix_register_renderers",
]


@hookimpl
def helix_config_paths() -> list[str]:
    """Return the folder with `judge=example` and `experiment=example`."""
    return [str(Path(__file__).with_name("conf"))]


@hookimpl
def helix_register_formats(register: Callable[[Format], None]) -> None:
    """Register the trace format of a help desk."""
    from helix_example.trace_format import FORMAT

    register(FORMAT)


@hookimpl
def helix_register_checks(register: Callable[[Check], None]) -> None:
    """Register the check that counts the words of an answer."""
    from helix_example.check import CHECK

    register(CHECK)


@hookimpl
def helix_register_judges(register: Callable[[Judge], None]) -> None:
    """Register the judge that looks for words."""
    from helix_example.judge import JUDGE

    register(JUDGE)


@hookimpl
def helix_register_renderers(register: Callable[[Renderer], None]) -> None:
    """Register the report of one line per trace."""
    from helix_example.renderer import RENDERER

    register(RENDERER)

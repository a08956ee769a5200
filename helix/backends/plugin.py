"""The built-in judge backends, each imported when it is first opened."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from helix.model.request import Pin, Price
from helix.registry import Backend, Judge, JudgeSettings, hookimpl

_TOLD = {
    "open_command": "Start the program of `judge.command` for each question: the request on "
    "standard input, the reply on standard output.",
    "open_dispatch": "Set each question down as a file in `judge.dir`, for coding agents or people "
    "to answer; the run waits, and the same command goes on.",
    "open_litellm": "Ask `judge.model` at its provider, or at the server of `judge.base_url`, "
    "through litellm.",
    "open_none": "Ask nobody: what code cannot decide is reported as not adjudicated.",
    "open_replay": "Answer from the recordings in `judge.dir`, by the key of the question; what "
    "was not recorded is unavailable.",
    "open_scripted": "Call the function of `judge.script`, a Python file, for each question: "
    "offline, and the same each time if the function is.",
}


@hookimpl
def helix_register_judges(register: Callable[[Judge], None]) -> None:
    """Register the built-in judges; of them only litellm needs a network."""
    none = _opener("none", "open_none")
    register(Judge("none", "1", 1, none, cacheable=False, asks=False, needs_model=False))
    register(Judge("replay", "1", 1, _opener("mailbox", "open_replay"), cacheable=False))
    register(Judge("dispatch", "1", 1, _opener("dispatch", "open_dispatch"), cacheable=False))
    register(Judge("command", "1", 1, _opener("command", "open_command")))
    register(Judge("scripted", "1", 1, _opener("scripted", "open_scripted")))
    register(Judge("litellm", "1", 1, _opener("litellm", "open_litellm"), price=_price))


def _price(pin: Pin) -> Price | None:
    return importlib.import_module("helix.backends.litellm").price(pin)  # type: ignore[no-any-return]


def _opener(module: str, function: str) -> Callable[[JudgeSettings], Backend]:
    """Return a function that imports the backend when it is called, and tells what it is now."""

    def open_backend(settings: JudgeSettings) -> Backend:
        opened = getattr(importlib.import_module(f"helix.backends.{module}"), function)
        backend: Backend = opened(settings)
        return backend

    open_backend.__doc__ = _TOLD[function]
    return open_backend

"""All hooks, in the order in which Helix calls them.

A plugin is a module or object whose functions carry `@helix.registry.hookimpl`. Each registering
hook gets a `register` callable and calls it once per item; registration runs when a command
starts, once per process. Entry-point group: `helix.plugins`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pluggy

from helix.registry.items import (
    Check,
    DeterminismDimension,
    Executor,
    Format,
    Judge,
    LabelSource,
    Renderer,
    ReplyCache,
    Sampler,
    SubjectRunner,
)

hookspec = pluggy.HookspecMarker("helix")
hookimpl = pluggy.HookimplMarker("helix")


@hookspec
def helix_config_paths() -> list[str]:  # type: ignore[empty-body]
    """Return folders with further config groups; called before a configuration is composed."""


@hookspec
def helix_register_formats(register: Callable[[Format], None]) -> None:
    """Register trace formats; called before the first file is opened."""


@hookspec
def helix_register_samplers(register: Callable[[Sampler], None]) -> None:
    """Register sampling strategies; called before the survey chooses traces."""


@hookspec
def helix_register_checks(register: Callable[[Check], None]) -> None:
    """Register checks; called before a suite is compiled."""


@hookspec
def helix_register_judges(register: Callable[[Judge], None]) -> None:
    """Register judge backends; called before a judge or verifier is opened."""


@hookspec
def helix_register_caches(register: Callable[[ReplyCache], None]) -> None:
    """Register reply caches; called before the cache is opened."""


@hookspec
def helix_register_executors(register: Callable[[Executor], None]) -> None:
    """Register executors; called before work is carried out."""


@hookspec
def helix_register_renderers(register: Callable[[Renderer], None]) -> None:
    """Register report renderers; called after the scorecard is folded."""


@hookspec
def helix_register_labels(register: Callable[[LabelSource], None]) -> None:
    """Register readers of human labels; called by validate and labels."""


@hookspec
def helix_register_subjects(register: Callable[[SubjectRunner], None]) -> None:
    """Register ways to run the subject anew; called by improve."""


@hookspec
def helix_register_dimensions(register: Callable[[DeterminismDimension], None]) -> None:
    """Register determinism dimensions; called by audit."""


KINDS: dict[str, type[Any]] = {
    "formats": Format,
    "samplers": Sampler,
    "checks": Check,
    "judges": Judge,
    "caches": ReplyCache,
    "executors": Executor,
    "renderers": Renderer,
    "labels": LabelSource,
    "subjects": SubjectRunner,
    "dimensions": DeterminismDimension,
}

"""The built-in checks, registered through the same hook as everyone's."""

from __future__ import annotations

from collections.abc import Callable

from helix.checks import (
    answers,
    arguments,
    caps,
    claims,
    composition,
    declared,
    duplicates,
    fields,
    flow,
    lists,
    loops,
    order,
    references,
    reply,
    state,
    tools,
    trajectory,
    values,
)
from helix.registry import Check, hookimpl

_FAMILIES = (
    fields,
    references,
    tools,
    order,
    values,
    state,
    trajectory,
    lists,
    arguments,
    caps,
    loops,
    declared,
    duplicates,
    flow,
    reply,
    claims,
    answers,
    composition,
)


@hookimpl
def helix_register_checks(register: Callable[[Check], None]) -> None:
    """Register the seven primitives of METHOD 25, and those of METHOD 29."""
    for family in _FAMILIES:
        for item in family.CHECKS:
            register(item)

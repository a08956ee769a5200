"""The built-in checks, registered through the same hook as everyone's."""

from __future__ import annotations

from collections.abc import Callable

from helix.checks import fields, order, references, state, tools, values
from helix.registry import Check, hookimpl


@hookimpl
def helix_register_checks(register: Callable[[Check], None]) -> None:
    """Register the seven primitives of METHOD 25, and those of METHOD 29."""
    for family in (fields, references, tools, order, values, state):
        for item in family.CHECKS:
            register(item)

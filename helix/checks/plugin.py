"""The built-in checks, registered through the same hook as everyone's."""

from __future__ import annotations

from collections.abc import Callable

from helix.checks import fields, order, references, tools
from helix.registry import Check, hookimpl


@hookimpl
def helix_register_checks(register: Callable[[Check], None]) -> None:
    """Register the seven primitives of METHOD 25, and required-order."""
    for family in (fields, references, tools, order):
        for item in family.CHECKS:
            register(item)

"""The built-in dimensions of the determinism scorecard."""

from __future__ import annotations

from collections.abc import Callable

from helix.audit.dimensions import BUILT_IN
from helix.registry import DeterminismDimension, hookimpl


@hookimpl
def helix_register_dimensions(register: Callable[[DeterminismDimension], None]) -> None:
    """Register the fifteen of METHOD 70."""
    for item in BUILT_IN:
        register(item)

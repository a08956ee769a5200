"""The registry of this process, loaded once."""

from __future__ import annotations

import functools

from helix.registry import Registry, load


@functools.cache
def registry() -> Registry:
    """Return all built-ins and installed plugins."""
    return load()

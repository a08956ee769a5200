"""The registry of this process, loaded once."""

from __future__ import annotations

import functools
import os

from helix.registry import Problem, Registry, load


@functools.cache
def registry() -> Registry:
    """Return all built-ins and installed plugins."""
    return load()


def config_folders() -> list[str]:
    """Return the plugins' config folders; one that does not exist is a problem, not an error."""
    found = registry()
    folders = found.config_paths()
    for folder in folders:
        if not os.path.isdir(folder):
            found.problems.append(Problem(folder, "config folder does not exist"))
    return [folder for folder in folders if os.path.isdir(folder)]

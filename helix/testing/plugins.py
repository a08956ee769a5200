"""The conformance suite of a plugin as a whole: it loads, claims no taken name, and is safe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from helix.app.conf import groups
from helix.registry import Registry, load
from helix.registry.hookspecs import KINDS
from helix.suite import source
from helix.testing.contract import require


def plugin_conforms(plugin: object, name: str = "tested") -> Registry:
    """Require that a plugin loads beside the built-ins without a problem, and brings something.

    `plugin` is the module or object that its entry point names. Returns the registry that it was
    loaded into. Its config folders may hold groups of their own and further choices of Helix's,
    but none that Helix has, and nothing that would be run.
    """
    registry = load([])
    registry.add_plugin(plugin, name, "1")
    own = [
        entry.item
        for kind in KINDS
        for entry in registry.items(kind).values()
        if entry.plugin == name
    ]
    folders = registry.config_paths()
    problems = "; ".join(problem.text for problem in registry.problems)
    require(not registry.problems, f"plugin {name}: {problems}")
    require(own or folders, f"plugin {name} brings no item and no config folder")
    for folder in map(Path, folders):
        require(folder.is_dir(), f"plugin {name}: config folder {folder} does not exist")
        _is_a_config_folder(f"plugin {name}", folder)
    return registry


def _is_a_config_folder(who: str, folder: Path) -> None:
    ours = groups()
    files = sorted(folder.rglob("*.yaml"))
    require(files, f"{who}: config folder {folder} holds no .yaml file")
    for file in files:
        place = file.relative_to(folder)
        require(
            len(place.parts) == 2,
            f"{who}: {place} must stand in the folder of its group, as judge/NAME.yaml",
        )
        group, choice = place.parent.name, place.stem
        require(
            choice not in ours.get(group, ()),
            f"{who}: {place} would take the place of Helix's own {group}={choice}",
        )
        read = source.read(file)
        for line, key in read.doubled:
            require(False, f"{who}: {place}, line {line}, names {key} twice")
        content = read.value
        require(isinstance(content, dict), f"{who}: {place} must hold keys and values")
        bad = sorted(key for key in _keys(content) if key.startswith("_") and key != "_self_")
        require(not bad, f"{who}: {place} must name items, and run nothing (got {', '.join(bad)})")


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inside in value.items():
            yield str(key)
            yield from _keys(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from _keys(inside)

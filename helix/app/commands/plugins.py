"""`helix plugins`: every registered item by kind, and what is wrong with any plugin."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import Any

from helix.app import console
from helix.app.plugins import config_folders, registry
from helix.errors import ExitCode
from helix.registry import Registry


def run(argv: Sequence[str]) -> ExitCode:
    """Print the listing; always 0, because a broken plugin stops only a run that names it."""
    parser = argparse.ArgumentParser(
        prog="helix plugins",
        description="List every registered item by kind, with its version and the plugin that "
        "provides it, and what is wrong with any plugin. HELIX_PLUGINS restricts which are loaded. "
        "Exits 0.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    found = listing(registry(), config_folders())
    if args.json:
        console.say(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        console.say("\n".join(_lines(found)))
    return ExitCode.PASS


def listing(registry: Registry, folders: list[str]) -> dict[str, Any]:
    """Return plugins, items by kind, config folders and problems, as plain data."""
    from helix.registry.hookspecs import KINDS

    items = {
        kind: [
            {"name": name, "version": entry.item.version, "plugin": entry.plugin}
            for name, entry in registry.items(kind).items()
        ]
        for kind in KINDS
    }
    return {
        "plugins": dict(sorted(registry.plugins.items())),
        "items": items,
        "configFolders": folders,
        "problems": [{"plugin": p.plugin, "text": p.text} for p in registry.problems],
    }


def _lines(found: dict[str, Any]) -> Iterator[str]:
    for problem in found["problems"]:
        yield f"problem: {problem['plugin']}: {problem['text']}"
    if found["problems"]:
        yield ""
    names = [entry["name"] for entries in found["items"].values() for entry in entries]
    width = max(map(len, names), default=0)
    for kind, entries in found["items"].items():
        yield f"{kind}{'' if entries else ': none'}"
        for entry in entries:
            yield f"  {entry['name']:<{width}}  {entry['version']:<7} {entry['plugin']}"
    yield ""
    plugins = ", ".join(f"{name} {version}" for name, version in found["plugins"].items())
    yield f"installed plugins: {plugins or 'none'}; problems: {len(found['problems'])}"

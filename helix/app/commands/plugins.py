"""`helix plugins`: every registered item by kind, and what is wrong with any plugin."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from helix.app import console
from helix.app.plugins import config_folders, registry
from helix.errors import ExitCode, UnknownNameError, unknown
from helix.registry import Registry
from helix.reports.words import wrapped


def run(argv: Sequence[str]) -> ExitCode:
    """Print the listing, or the pages of one name; a broken plugin stops only a run that names it.

    With `new` as the first word a plugin is written (`helix.app.new_plugin`). Exits 0, or 2 for an
    unknown name.
    """
    if argv[:1] == ["new"]:
        from helix.app import new_plugin

        return new_plugin.run(argv[1:])
    parser = argparse.ArgumentParser(
        prog="helix plugins",
        description="List every registered item by kind, with its version and the plugin that "
        "provides it, and what is wrong with any plugin; with NAME, print the manual of an item: "
        "what a check decides and the parameters it takes. HELIX_PLUGINS restricts which are "
        "loaded. `helix plugins new NAME` writes a plugin to start from: see helix plugins new "
        "--help. Exits 0, or 2 for an unknown name.",
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="an item, e.g. required-order")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    if args.name:
        console.say("\n\n".join(pages(args.name, registry())))
        return ExitCode.PASS
    found = listing(registry(), config_folders())
    if args.json:
        console.say_json(found)
    else:
        console.say("\n".join(_lines(found)))
    return ExitCode.PASS


def pages(name: str, registry: Registry) -> list[str]:
    """Return the pages of every item of that name; UnknownNameError names the nearest."""
    from helix.app.item_page import page
    from helix.registry.hookspecs import KINDS

    items = {kind: registry.items(kind) for kind in KINDS}
    found = [page(kind, name, table[name]) for kind, table in items.items() if name in table]
    if not found:
        names = {n for table in items.values() for n in table}
        raise UnknownNameError(unknown("item", name, names, "helix plugins"))
    return found


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
        yield from wrapped(f"problem: {problem['plugin']}: {problem['text']}")
    if found["problems"]:
        yield ""
    names = [entry["name"] for entries in found["items"].values() for entry in entries]
    width = max(map(len, names), default=0)
    for kind, entries in found["items"].items():
        yield f"{kind}{'' if entries else ': none'}"
        for entry in entries:
            yield f"  {entry['name']:<{width}}  {entry['version']:<7} {entry['plugin']}"
    yield ""
    yield from wrapped(
        "helix plugins NAME explains one of them: what a check decides, and its parameters."
    )
    plugins = ", ".join(f"{name} {version}" for name, version in found["plugins"].items())
    yield from wrapped(
        f"installed plugins: {plugins or 'none'}; problems: {len(found['problems'])}"
    )

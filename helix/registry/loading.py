"""Loading plugins: each on its own, so that one that breaks is reported and stops nothing else.

A broken plugin stops a run only if the plan names something of it (DESIGN “Plugins”).
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import importlib
import importlib.metadata
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pluggy

from helix.errors import PluginError, UnknownNameError, did_you_mean, unknown
from helix.model.trace import Trace
from helix.registry import hookspecs
from helix.registry.hookspecs import KINDS
from helix.registry.items import Check, CheckContext, Decision, Registered

ENTRY_POINT_GROUP = "helix.plugins"
RESTRICT_VARIABLE = "HELIX_PLUGINS"
BUILTINS: dict[str, tuple[str, ...]] = {
    "helix.ingest.plugin": ("formats", "samplers"),
    "helix.checks.plugin": ("checks",),
    "helix.backends.plugin": ("judges",),
    "helix.engine.plugin": ("caches", "executors"),
    "helix.processes.plugin": ("executors",),
    "helix.improve.plugin": ("subjects",),
    "helix.labels.plugin": ("labels",),
    "helix.audit.plugin": ("dimensions",),
    "helix.reports.plugin": ("renderers",),
}
SINGULAR = {
    "formats": "trace format",
    "samplers": "sampling strategy",
    "checks": "check",
    "judges": "judge backend",
    "caches": "reply cache",
    "executors": "executor",
    "renderers": "report renderer",
    "labels": "label source",
    "subjects": "subject runner",
    "dimensions": "determinism dimension",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a plugin: which one, and what."""

    plugin: str
    text: str


class Registry:
    """Items by kind and name, loaded kind by kind on first use."""

    def __init__(self) -> None:
        self._manager = pluggy.PluginManager("helix")
        self._manager.add_hookspecs(hookspecs)
        self._items: dict[str, dict[str, Registered]] = {}
        self._clashes: dict[tuple[str, str], str] = {}
        self.problems: list[Problem] = []
        self.plugins: dict[str, str] = {}

    def add_plugin(self, plugin: object, name: str, version: str) -> None:
        """Take in a third party's plugin; what is wrong with it becomes a problem."""
        known = {n for n in dir(hookspecs) if n.startswith("helix_")}
        hooks = [n for n in dir(plugin) if self._is_hook(plugin, n)]
        if isinstance(plugin, type):
            self.problems.append(Problem(name, "must be a module or an instance (got a class)"))
            return
        if not hooks:
            self.problems.append(Problem(name, "has no function marked @helix.registry.hookimpl"))
            return
        for strange in sorted(set(hooks) - known):
            self.problems.append(Problem(name, unknown("hook", strange, known)))
            return
        try:
            self._manager.register(plugin, name=name)
        except (ValueError, pluggy.PluginValidationError) as error:
            self.problems.append(Problem(name, str(error).replace("\n", " ")))
            return
        self.plugins[name] = version

    def add(self, kind: str, item: Any, plugin: str) -> None:
        """Register one item; a wrong type raises TypeError, a taken name makes a clash."""
        wanted = KINDS[kind]
        if not isinstance(item, wanted):
            raise TypeError(
                f"{kind} takes helix.registry.{wanted.__name__} (got {type(item).__name__})"
            )
        if not item.name or not item.version:
            raise TypeError(f"{kind}: an item needs a name and a version (got {item!r})")
        table = self._table(kind)
        taken = table.get(item.name)
        if taken is not None:
            text = (
                f"{SINGULAR[kind]} '{item.name}' is registered by both {taken.plugin} and {plugin}"
            )
            self._clashes[kind, item.name] = text
            self.problems.append(Problem(plugin, text))
            return
        if isinstance(item, Check) and plugin not in BUILTINS:
            item = _apart(item)
        table[item.name] = Registered(item, plugin)

    def items(self, kind: str) -> dict[str, Registered]:
        """Return all items of a kind by name, sorted."""
        return dict(sorted(self._table(kind).items()))

    def get(self, kind: str, name: str) -> Any:
        """Return one item; an unknown or doubly registered name is an error that says so."""
        if (kind, name) in self._clashes:
            raise PluginError(
                f"{self._clashes[kind, name]}; uninstall one of them or set {RESTRICT_VARIABLE}"
            )
        table = self._table(kind)
        if name not in table:
            text = unknown(SINGULAR[kind], name, table, "helix plugins")
            if kind == "checks" and not did_you_mean(name, table):
                text += "; one of your own needs checks.modules=[FILE.py]"
            broken = sorted({p.plugin for p in self.problems})
            if broken:
                text += f"; plugins with problems: {', '.join(broken)} (see: helix plugins)"
            raise UnknownNameError(text)
        return table[name].item

    def config_paths(self) -> list[str]:
        """Return the config folders of third-party plugins, in the order of their names."""
        found: list[str] = []
        for name, function in self._implementations("helix_config_paths"):
            try:
                found += [str(path) for path in function()]
            except (Exception, SystemExit) as error:
                self.problems.append(Problem(name, _told(error)))
        return found

    def _table(self, kind: str) -> dict[str, Registered]:
        if kind not in self._items:
            self._items[kind] = {}
            for module, kinds in BUILTINS.items():
                if kind in kinds:
                    self._run(kind, module, getattr(_import(module), f"helix_register_{kind}"))
            for name, function in self._implementations(f"helix_register_{kind}"):
                self._run_isolated(kind, name, function)
        return self._items[kind]

    def _run(self, kind: str, plugin: str, function: Any) -> None:
        function(register=lambda item: self.add(kind, item, plugin))

    def _run_isolated(self, kind: str, plugin: str, function: Any) -> None:
        try:
            self._run(kind, plugin, function)
        except (Exception, SystemExit) as error:
            self.problems.append(Problem(plugin, _told(error)))

    def _implementations(self, hook: str) -> Iterator[tuple[str, Any]]:
        for implementation in sorted(
            getattr(self._manager.hook, hook).get_hookimpls(), key=lambda i: str(i.plugin_name)
        ):
            yield implementation.plugin_name, implementation.function

    def _is_hook(self, plugin: object, name: str) -> bool:
        try:
            return self._manager.parse_hookimpl_opts(plugin, name) is not None
        except Exception:
            return False


def load(entry_points: Iterable[importlib.metadata.EntryPoint] | None = None) -> Registry:
    """Return a registry with the built-ins and every installed plugin.

    `HELIX_PLUGINS` restricts third parties to the entry points named in it, separated by commas;
    set and empty it allows none.
    """
    registry = Registry()
    if entry_points is None:
        entry_points = importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)
    allowed = os.environ.get(RESTRICT_VARIABLE)
    wanted = None if allowed is None else {name.strip() for name in allowed.split(",")}
    for point in sorted(entry_points, key=lambda p: p.name):
        if wanted is not None and point.name not in wanted:
            continue
        try:
            plugin = point.load()
        except (Exception, SystemExit) as error:
            registry.problems.append(Problem(point.name, _told(error)))
            continue
        registry.add_plugin(plugin, point.name, _version(point))
    return registry


def _apart(check: Check) -> Check:
    """Give a check a copy of all it gets: what it does to it must not reach the rows after it."""

    @functools.wraps(check.decide)
    def decide(trace: Trace, params: Any, context: CheckContext) -> Decision:
        return check.decide(*copy.deepcopy((trace, params)), context)

    return dataclasses.replace(check, decide=decide)


def _version(point: importlib.metadata.EntryPoint) -> str:
    return point.dist.version if point.dist is not None else "unknown"


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".replace("\n", " ")


def _import(module: str) -> Any:
    return importlib.import_module(module)

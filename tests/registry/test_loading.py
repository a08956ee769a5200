"""Plugins load each on its own; what is wrong with one is told and stops nothing else."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import helix
from helix.errors import PluginError, UnknownNameError
from helix.registry import Registry, Sampler, hookimpl, hookspecs, load
from helix.registry.hookspecs import KINDS
from helix.registry.loading import BUILTINS


def sampler(name: str, version: str = "1") -> Sampler:
    return Sampler(name, version, lambda entries, n, seed: [e.ordinal for e in entries])


class Good:
    @hookimpl
    def helix_register_samplers(self, register: Callable[[Sampler], None]) -> None:
        register(sampler("theirs"))


class Breaks:
    @hookimpl
    def helix_register_samplers(self, register: Callable[[Sampler], None]) -> None:
        register(sampler("before"))
        raise RuntimeError("no disk")


class WrongType:
    @hookimpl
    def helix_register_samplers(self, register: Callable[[Any], None]) -> None:
        register("random")


class Nameless:
    @hookimpl
    def helix_register_samplers(self, register: Callable[[Sampler], None]) -> None:
        register(sampler("x", ""))


class Duplicate:
    @hookimpl
    def helix_register_samplers(self, register: Callable[[Sampler], None]) -> None:
        register(sampler("random"))


class Unknown:
    @hookimpl
    def helix_register_sampler(self, register: Any) -> None: ...


class Empty:
    pass


class Point:
    """An installed entry point, as importlib.metadata gives them."""

    def __init__(self, name: str, plugin: Any) -> None:
        self.name, self._plugin, self.dist = name, plugin, SimpleNamespace(version="1.2")

    def load(self) -> Any:
        if isinstance(self._plugin, Exception):
            raise self._plugin
        return self._plugin


def registry(**plugins: Any) -> Registry:
    return load([Point(name, plugin) for name, plugin in plugins.items()])  # type: ignore[misc]


@pytest.mark.parametrize(
    ("plugin", "told"),
    [
        (Breaks(), "RuntimeError: no disk"),
        (WrongType(), "samplers takes helix.registry.Sampler (got str)"),
        (Nameless(), "needs a name and a version"),
        (Unknown(), "unknown hook 'helix_register_sampler'; did you mean"),
        (Empty(), "has no function marked"),
        (Good, "must be a module or an instance (got a class)"),
        (ImportError("no module named nowhere"), "ImportError: no module named nowhere"),
    ],
)
def test_a_broken_plugin_is_named_and_the_others_work(plugin: Any, told: str) -> None:
    found = registry(bad=plugin, good=Good())
    assert {"random", "theirs"} <= set(found.items("samplers"))
    assert any(p.plugin == "bad" and told in p.text for p in found.problems), found.problems


def test_an_item_that_a_broken_plugin_should_bring_is_missed_with_its_name() -> None:
    found = registry(bad=ImportError("gone"))
    with pytest.raises(UnknownNameError, match=r"'theirs'.*plugins with problems: bad"):
        found.get("samplers", "theirs")


def test_two_plugins_with_one_name_stop_only_those_who_use_it() -> None:
    found = registry(rival=Duplicate(), good=Good())
    assert found.get("samplers", "theirs").name == "theirs"
    with pytest.raises(PluginError, match=r"registered by both helix\.ingest\.plugin and rival"):
        found.get("samplers", "random")


def test_an_unknown_name_comes_with_the_nearest_and_all_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'random'") as error:
        registry().get("samplers", "ramdom")
    assert "known: all, balanced, failure-driven, outlier, random, " in str(error.value)


@pytest.mark.parametrize(
    ("allowed", "names"), [("good", {"good"}), ("", set()), ("good,x", {"good"})]
)
def test_loading_can_be_restricted(
    monkeypatch: pytest.MonkeyPatch, allowed: str, names: set[str]
) -> None:
    monkeypatch.setenv("HELIX_PLUGINS", allowed)
    found = registry(good=Good(), other=Good())
    assert set(found.plugins) == names


def test_every_builtin_registers_through_the_hooks_and_has_a_version() -> None:
    found = registry()
    kinds = {kind for kinds in BUILTINS.values() for kind in kinds}
    for kind in kinds:
        items = found.items(kind)
        assert items, kind
        for name, entry in items.items():
            assert entry.item.name == name
            assert entry.item.version
            assert entry.plugin in BUILTINS
    assert found.problems == []


def test_every_hook_says_when_it_is_called_and_every_kind_has_one() -> None:
    hooks = {n: f for n, f in vars(hookspecs).items() if n.startswith("helix_")}
    assert set(hooks) == {f"helix_register_{kind}" for kind in KINDS} | {"helix_config_paths"}
    for name, function in hooks.items():
        assert "called" in inspect.getdoc(function), name  # type: ignore[operator]


def test_a_third_partys_check_decides_in_a_run_and_its_version_is_in_the_plan(
    tmp_path: Path,
) -> None:
    from pydantic import BaseModel

    from helix.demo.generator import write
    from helix.evaluate import run
    from helix.model.config import Config
    from helix.model.verdict import Ref
    from helix.registry import Check, Decision

    class NoParameters(BaseModel):
        pass

    class Plugin:
        @hookimpl
        def helix_register_checks(self, register: Callable[[Check], None]) -> None:
            def decide(trace: Any, params: Any, context: Any) -> Decision:
                word = trace.input["prompt"].split()[0]
                ref = Ref(obs=trace.id, path="input.prompt", value=word)
                return Decision("pass", "it is there", (ref,))

            register(Check("theirs", "7", NoParameters, decide))

    write(tmp_path / "t.jsonl")
    suite = tmp_path / "s.yaml"
    suite.write_text(
        "suite: s\nversion: 1\ncriteria:\n- {criterion_id: a, statement: Pass = x., severity: HIGH,"
        " class: code, code_eval: {primitive: theirs}}\n",
        encoding="utf-8",
    )
    config = Config.model_validate(
        {"subject": {"traces": str(tmp_path / "t.jsonl")}, "criteria": {"file": str(suite)}}
    )
    done = run(config, run_dir=tmp_path / "run", registry=registry(theirs=Plugin()))
    assert done.scorecard.criteria[0].counts.pass_ > 50
    assert {"name": "theirs", "version": "7"} in done.prepared.plan.decides["checks"]


def test_the_public_names_are_those_that_are_said() -> None:
    for name in helix.__all__:
        assert getattr(helix, name) is not None
        assert name in dir(helix)
    assert helix.__version__[0].isdigit()
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        helix.evalute  # noqa: B018

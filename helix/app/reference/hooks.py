"""Every hook: its signature, when it is called, the item it registers, the suite that tests it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from helix import testing
from helix.registry import hookspecs, items
from helix.registry.hookspecs import KINDS

Told = Callable[[ast.AST], str]
_SUITES = {
    suite.__annotations__["item"]: suite
    for suite in (getattr(testing, name) for name in testing.__all__)
    if "item" in suite.__annotations__
}


def body() -> str:
    """Return a section for each hook in the order of their calls, then the types they speak of."""
    hooks = [hook for name, hook in vars(hookspecs).items() if name.startswith("helix_")]
    registered = set(KINDS.values())
    spoken_of = [
        kind
        for kind in vars(items).values()
        if inspect.isclass(kind) and kind.__module__ == items.__name__ and kind not in registered
    ]
    told = (
        "In the order of their calls. A plugin is a module whose functions carry "
        "`helix.registry.hookimpl`; a registering hook calls `register` once for each item. "
        "[Plugins](../plugins.md) says how to write one."
    )
    lines = [told, "", *(line for hook in hooks for line in _hook(hook))]
    lines += ["## Whole plugins", "", *_suite(testing.plugin_conforms)]
    lines += ["## Types", "", "What the functions of items get and return.", ""]
    for kind in spoken_of:
        lines += [f"### {kind.__name__}", "", *_shape(kind)]
    return "\n".join(lines)


def _hook(hook: Any) -> Iterator[str]:
    name = hook.__name__
    yield from (f"## {name}", "", *_documented(hook), *_fenced(signature(hook)))
    if kind := KINDS.get(name.removeprefix("helix_register_")):
        yield from (f"### {kind.__name__}", "", *_shape(kind))
        yield from _suite(_SUITES[kind.__name__])


def _suite(suite: Any) -> Iterator[str]:
    yield from (f"### {suite.__name__}", "", *_documented(suite), *_fenced(signature(suite)))


def _shape(kind: type[Any]) -> Iterator[str]:
    yield from _documented(kind)
    yield from _fenced(outline(kind))


def _documented(item: Any) -> list[str]:
    return [*inspect.cleandoc(item.__doc__).splitlines(), ""]


def signature(function: Any) -> str:
    """Return how a function is called, as its source says it."""
    node, told = _parsed(function)
    assert isinstance(node, ast.FunctionDef) and node.returns
    arguments = list(_arguments(node.args, told))
    whole = f"def {node.name}({', '.join(arguments)}) -> {told(node.returns)}: ..."
    if len(whole) <= 88:
        return whole
    below = "\n".join(f"    {one}," for one in arguments)
    return f"def {node.name}(\n{below}\n) -> {told(node.returns)}: ..."


def _arguments(of: ast.arguments, told: Told) -> Iterator[str]:
    """Yield each argument with its default, and the star before those that are named."""
    before = [None] * (len(of.args) - len(of.defaults))
    for one, default in zip(of.args, [*before, *of.defaults], strict=True):
        yield told(one) + (f" = {told(default)}" if default else "")
    if of.kwonlyargs:
        yield "*"
    for one, default in zip(of.kwonlyargs, of.kw_defaults, strict=True):
        yield told(one) + (f" = {told(default)}" if default else "")


def outline(kind: type[Any]) -> str:
    """Return the fields of a class, or the methods of a protocol, as its source says them."""
    node, told = _parsed(kind)
    assert isinstance(node, ast.ClassDef)
    fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
    methods = [one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    lines = [f"    {told(one)}" for one in fields or methods]
    return "\n".join([f"class {kind.__name__}:", *lines])


def _parsed(item: Any) -> tuple[ast.stmt, Told]:
    """Return the definition of an item, and what gives a part of it as it is spelled."""
    source = inspect.getsource(item)
    return ast.parse(source).body[0], lambda node: ast.get_source_segment(source, node) or ""


def _fenced(text: str) -> list[str]:
    return ["```python", text, "```", ""]

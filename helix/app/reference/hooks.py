"""Every hook: its signature, when it is called, the item it registers, the suite that tests it."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

from helix import testing
from helix.registry import hookspecs, items
from helix.registry.hookspecs import KINDS

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
    node = _parsed(function)
    assert isinstance(node, ast.FunctionDef) and node.returns
    whole = f"def {node.name}({ast.unparse(node.args)}) -> {ast.unparse(node.returns)}: ..."
    if len(whole) <= 88:
        return whole
    arguments = "\n".join(f"    {one}," for one in _arguments(node.args))
    return f"def {node.name}(\n{arguments}\n) -> {ast.unparse(node.returns)}: ..."


def _arguments(told: ast.arguments) -> Iterator[str]:
    """Yield each argument with its default, and the star before those that are named."""
    before = [None] * (len(told.args) - len(told.defaults))
    for one, default in zip(told.args, [*before, *told.defaults], strict=True):
        yield _argument(one, default)
    if told.kwonlyargs:
        yield "*"
    for one, default in zip(told.kwonlyargs, told.kw_defaults, strict=True):
        yield _argument(one, default)


def _argument(one: ast.arg, default: ast.expr | None) -> str:
    return ast.unparse(one) + (f" = {ast.unparse(default)}" if default else "")


def outline(kind: type[Any]) -> str:
    """Return the fields of a class, or the methods of a protocol, as its source says them."""
    node = _parsed(kind)
    assert isinstance(node, ast.ClassDef)
    lines = [f"    {ast.unparse(one)}" for one in node.body if isinstance(one, ast.AnnAssign)] or [
        textwrap.indent(ast.unparse(one).replace(":\n    ...", ": ..."), "    ")
        for one in node.body
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return "\n".join([f"class {kind.__name__}:", *lines])


def _parsed(item: Any) -> ast.stmt:
    return ast.parse(inspect.getsource(item)).body[0]


def _fenced(text: str) -> list[str]:
    return ["```python", text, "```", ""]

"""docs/plugins.md: its hooks, items and suites are those of the code."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from helix import testing
from helix.registry import hookspecs
from helix.registry.hookspecs import KINDS


@pytest.fixture(scope="module")
def page(project: Path) -> str:
    return (project / "docs" / "plugins.md").read_text(encoding="utf-8")


def told(page: str) -> dict[str, str]:
    """Return every function's signature and every class's fields that the page shows."""
    found: dict[str, str] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        for node in ast.parse(block).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.decorator_list:
                found[node.name] = outline(node)
    return found


def outline(node: ast.stmt) -> str:
    if isinstance(node, ast.ClassDef):
        return "\n".join(ast.unparse(f) for f in node.body if isinstance(f, ast.AnnAssign))
    assert isinstance(node, ast.FunctionDef) and node.returns
    return f"({ast.unparse(node.args)}) -> {ast.unparse(node.returns)}"


def in_code(item: Any) -> str:
    return outline(ast.parse(inspect.getsource(item)).body[0])


def hooks(module: ModuleType) -> dict[str, str]:
    """Return the signature of every hook, in their order."""
    assert module.__file__
    nodes = ast.parse(Path(module.__file__).read_text(encoding="utf-8")).body
    return {
        node.name: outline(node)
        for node in nodes
        if isinstance(node, ast.FunctionDef) and node.name.startswith("helix_")
    }


def test_every_hook_is_there_with_its_signature_and_in_its_order(page: str) -> None:
    shown = {name: text for name, text in told(page).items() if name.startswith("helix_")}
    assert shown == hooks(hookspecs)
    assert list(shown) == list(hooks(hookspecs))


def test_every_kind_of_item_is_there_with_its_fields(page: str) -> None:
    shown = told(page)
    for kind in KINDS.values():
        assert shown[kind.__name__] == in_code(kind)


def test_every_conformance_suite_is_there_with_its_signature(page: str) -> None:
    shown = {name: text for name, text in told(page).items() if name.endswith("_conforms")}
    assert shown == {name: in_code(getattr(testing, name)) for name in testing.__all__}


def test_a_signature_that_has_changed_is_noticed(page: str) -> None:
    aged = page.replace("    version: str\n", "    revision: str\n", 1)
    assert told(aged)["Format"] != in_code(KINDS["formats"])

"""The manual page of one registered item, in Markdown: what it does, and what it takes."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import yaml
from pydantic.alias_generators import to_snake

from helix.app.shapes import Schema, parameters
from helix.checks.window import Window, decide_in_window
from helix.registry import Check, DeterminismDimension, Registered
from helix.registry.loading import SINGULAR

PARTS = {
    "Bound": "bounding event",
    "Selector": "selector",
    "Where": "condition",
    "ExpectedCall": "expected call",
}
_WORDS = {
    "string": "text",
    "boolean": "true or false",
    "integer": "whole number",
    "number": "number",
    "object": "mapping",
    "array": "list",
    "null": "null",
}
_FUNCTIONS = ("decide", "detect", "open", "choose", "render", "jobs", "run", "read", "measure")


def page(kind: str, name: str, entry: Registered) -> str:
    """Return the page of an item; that of a check ends with the parts that it is made of."""
    head = f"{SINGULAR[kind]}, version {entry.item.version}, from {entry.plugin}"
    if isinstance(entry.item, Check):
        return "\n".join([check_section(entry.item), *parts([entry.item]), f"({head})"])
    told = _told(entry)
    if isinstance(entry.item, DeterminismDimension):
        item = entry.item
        told += f"\n\nIt reads {item.field} in {item.artifact}. Target: {item.target}."
    return f"## {name}\n\n{told}\n\n({head})"


def summary(entry: Registered) -> str:
    """Return the first paragraph of what an item's page tells."""
    return _told(entry).partition("\n\n")[0]


def check_section(check: Check) -> str:
    """Return what a check decides, its parameters and an example row."""
    schema = parameters(check.params)
    lines = [f"## {check.name}", "", _documented(check.decide), "", *_table(schema)]
    for given in _examples(check):
        row = {"code_eval": {"primitive": check.name, **given}}
        text = yaml.safe_dump(row, sort_keys=False, allow_unicode=True).rstrip()
        lines += ["```yaml", text, "```", ""]
    return "\n".join(lines)


def window_section() -> str:
    """Return where a check applies: the four keys that every `code_eval` takes, and their table."""
    schema = parameters(Window)
    keys = [f"### where a check applies\n\n{schema['description']}\n", *_table(schema)]
    bound = schema["$defs"]["Bound"]
    more = [f"### bounding event\n\n{bound['description']}\n", *_table(bound)]
    return "\n".join([*keys, *_truths(decide_in_window), "", *more])


def _truths(decide: Any) -> list[str]:
    """Return the table of a check's docstring."""
    return [line for line in _documented(decide).splitlines() if line.startswith("|")]


def parts(checks: list[Check]) -> list[str]:
    """Return a section for each selector or condition that parameters are made of."""
    defs: dict[str, Schema] = {}
    for check in checks:
        defs |= parameters(check.params).get("$defs", {})
    return [
        "\n".join([f"### {word}", "", defs[name]["description"], "", *_table(defs[name])])
        for name, word in PARTS.items()
        if name in defs
    ]


def _told(entry: Registered) -> str:
    functions = (getattr(entry.item, name, None) for name in _FUNCTIONS)
    function = next((f for f in functions if f is not None), None)
    return _documented(function) or _of_its_module(function)


def _documented(function: Any) -> str:
    return inspect.cleandoc(getattr(function, "__doc__", None) or "")


def _of_its_module(function: Any) -> str:
    module = inspect.getmodule(function)
    return inspect.cleandoc((module and module.__doc__) or "Nothing more is known.")


def _examples(check: Check) -> list[dict[str, Any]]:
    """Return the example parameters as their author ordered them."""
    extra = check.params.model_config.get("json_schema_extra")
    found = extra.get("examples", []) if isinstance(extra, dict) else []
    return [given for given in found if isinstance(given, dict)] if isinstance(found, list) else []


def _table(schema: Schema) -> Iterator[str]:
    properties = schema.get("properties", {})
    if not properties:
        return
    yield "| parameter | takes | default | |"
    yield "|---|---|---|---|"
    for name, node in properties.items():
        default = "required" if name in schema.get("required", ()) else _default(node)
        words = " or ".join(dict.fromkeys(takes(node))).replace("|", "\\|")
        yield f"| `{to_snake(name)}` | {words} | {default} | {node.get('description', '')} |"
    yield ""


def _default(node: Schema) -> str:
    value = node.get("default")
    if value in (None, [], (), {}):
        return ""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else f"{value}"


def takes(node: Schema) -> Iterator[str]:
    """Yield the kinds of value that a parameter takes, in words."""
    if "anyOf" in node:
        optional = node.get("default", ...) is None
        for choice in node["anyOf"]:
            if not (optional and choice.get("type") == "null"):
                yield from takes(choice)
    elif "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        yield PARTS.get(name, "any JSON value" if name == "JsonValue" else name)
    elif "enum" in node:
        yield ", ".join(map(str, node["enum"]))
    elif node.get("title") == "JSON Schema":
        yield "JSON Schema"
    elif node.get("type") == "array":
        yield f"list of {' or '.join(takes(node.get('items', {})))}"
    else:
        yield node.get("format") or _WORDS.get(str(node.get("type")), "any value")

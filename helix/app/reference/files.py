"""Every file that Helix reads or writes, field by field, from the models that read and write it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

from pydantic.alias_generators import to_snake

from helix.app.commands.schema import SHAPES, schema
from helix.app.item_page import takes
from helix.app.reference.markdown import code, table
from helix.app.shapes import Schema
from helix.model.config import Config
from helix.model.verdict import MachineryCause, WorldCause

_CHECK = "CodeEval"
_CAUSES = [sorted(get_args(causes)) for causes in (WorldCause, MachineryCause)]
_SECTIONS = {
    node["$ref"].rpartition("/")[2]: name
    for name, node in Config.model_json_schema()["properties"].items()
}
_HEADS = ("field", "holds", "if left out", "meaning")


def body() -> str:
    """Return a section for each shape of `helix schema`, then the parts that they are made of."""
    shapes = {name: schema(name) for name in SHAPES}
    links = _Links(shapes)
    lines = [
        "`helix schema NAME` prints the JSON Schema of each. Fields are camelCase on disk; files "
        "that people write may have them in snake_case too.",
        "",
        table(["name", "is"], [[_link(n, n), text] for n, (_, _, text) in SHAPES.items()]),
    ]
    for name, whole in shapes.items():
        lines += ["", f"## {name}", "", *_section(_root(whole), whole, links)]
    lines += ["", "## Parts", "", "What the files above are made of."]
    for part in links.parts:
        lines += ["", f"### {part.title}", "", *_section(part.node, part.whole, links)]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Part:
    title: str
    node: Schema
    whole: Schema


class _Links:
    """Where each part is told: once, also if many shapes share it.

    Two parts that share no more than their name are told apart by a number; a part that is a shape
    by itself is told there.
    """

    def __init__(self, shapes: dict[str, Schema]) -> None:
        self._titles = {_text(_root(whole)): name for name, whole in shapes.items()}
        found: dict[str, _Part] = {}
        for whole in shapes.values():
            for name in _reached(_root(whole), whole):
                node = whole["$defs"][name]
                if (text := _text(node)) in self._titles:
                    continue
                title = _unused(name, {*shapes, *(one.lower() for one in found)})
                self._titles[text] = title
                found[title] = _Part(title, node, whole)
        self.parts = [found[title] for title in sorted(found)]

    def to(self, name: str, whole: Schema) -> str:
        """Return a link to a part of a shape, or to the page that tells of it."""
        if name == _CHECK:
            return "[check](primitives.md)"
        if name in _SECTIONS:
            return f"[{_SECTIONS[name]}](configuration.md#{_SECTIONS[name]})"
        return _link(name, self._titles[_text(whole["$defs"][name])])


def _unused(name: str, taken: set[str]) -> str:
    numbers = (f"{name}{number}" for number in range(2, len(taken) + 3))
    return next(one for one in (name, *numbers) if one.lower() not in taken)


def _link(name: str, title: str) -> str:
    return f"[{name}](#{title.lower()})"


def _text(node: Schema) -> str:
    return json.dumps(node, sort_keys=True)


def _root(whole: Schema) -> Schema:
    if "$ref" not in whole:
        return {key: value for key, value in whole.items() if key != "$defs"}
    found: Schema = whole["$defs"][whole["$ref"].rpartition("/")[2]]
    return found


def _reached(node: Schema, whole: Schema) -> list[str]:
    """Return the parts that a node leads to, but for those that have a page of their own."""
    found: dict[str, None] = {}
    queue = list(_refs(node))
    while queue:
        name = queue.pop(0)
        if name not in {_CHECK, *_SECTIONS, *found}:
            found[name] = None
            queue += _refs(whole["$defs"][name])
    return list(found)


def _refs(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"].rpartition("/")[2]
        for value in node.values():
            yield from _refs(value)
    elif isinstance(node, list):
        for value in node:
            yield from _refs(value)


def _section(node: Schema, whole: Schema, links: _Links) -> Iterator[str]:
    if about := node.get("description"):
        yield about
        yield ""
    fields = node.get("properties", {})
    twins = {to_snake(name) for name in fields if to_snake(name) != name}
    required = {*node.get("required", ()), *_in_one_spelling(node)}
    rows = [
        [
            code(name),
            _holds(one, whole, links),
            "required" if name in required else _default(one),
            _meaning(one, whole),
        ]
        for name, one in fields.items()
        if name not in twins
    ]
    yield table(_HEADS, rows) if rows else _holds(node, whole, links)


def _in_one_spelling(node: Schema) -> Iterator[str]:
    """Yield the fields that are required in either of their two spellings."""
    for choice in node.get("allOf", ()):
        yield choice["anyOf"][0]["required"][0]


def _meaning(node: Schema, whole: Schema) -> str:
    """Return what is said of a field, or of the section of the configuration that it holds."""
    if "description" in node:
        return str(node["description"])
    section = whole["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else {}
    return str(section.get("description", "")).partition("\n\n")[0]


def _default(node: Schema) -> str:
    if "default" not in node:
        return "optional"
    value = node["default"]
    made_of_fields = isinstance(value, dict) and value
    return "its defaults" if made_of_fields else code(json.dumps(value, ensure_ascii=False))


def _holds(node: Schema, whole: Schema, links: _Links) -> str:
    return " or ".join(dict.fromkeys(_kinds(node, whole, links)))


def _kinds(node: Schema, whole: Schema, links: _Links) -> Iterator[str]:
    """Yield the kinds of value that a field holds, with links to the parts."""
    if "$ref" in node:
        yield links.to(node["$ref"].rpartition("/")[2], whole)
    elif choices := node.get("anyOf") or node.get("oneOf"):
        for choice in choices:
            yield from _kinds(choice, whole, links)
    elif sorted(node.get("enum", ())) in _CAUSES:
        yield "[cause](states.md)"
    elif "enum" in node:
        yield ", ".join(code(json.dumps(one).strip('"')) for one in node["enum"])
    elif node.get("type") == "array" and "prefixItems" in node:
        yield f"({', '.join(_holds(one, whole, links) for one in node['prefixItems'])})"
    elif node.get("type") == "array":
        yield f"list of {_holds(node.get('items') or {}, whole, links)}"
    elif node.get("type") == "object" and isinstance(node.get("additionalProperties"), dict):
        yield f"mapping to {_holds(node['additionalProperties'], whole, links)}"
    else:
        yield from takes(node)

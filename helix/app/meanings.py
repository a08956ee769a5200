"""What each field of a file means, put into its JSON Schema: read from the source when asked.

A meaning is the docstring below the field, else the vocabulary's. Neither Python nor msgspec keeps
such a docstring, and pydantic would read the source whenever Helix starts.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any, get_args, get_type_hints

import msgspec
from pydantic import BaseModel

from helix.app.conf import remarks
from helix.model.vocabulary import VOCABULARY


def describe(schema: dict[str, Any], shape: type) -> None:
    """Give each property of a shape's JSON Schema the meaning of the field that it stands for.

    The shape is a msgspec struct or a pydantic model, and what it is made of are others.
    """
    parts = schema.get("$defs", {})
    for kind in _made_of(shape, {}):
        properties = parts.get(kind.__name__, schema if kind is shape else {}).get("properties", {})
        told = VOCABULARY | _told(kind)
        for name, key in _keys(kind):
            if name in told and key in properties:
                properties[key]["description"] = told[name]


def describe_keys(schema: dict[str, Any]) -> None:
    """Give each key of the configuration's JSON Schema the remark of conf/base.yaml on it."""
    told = {remark.key: remark.text for remark in remarks()}

    def visit(node: dict[str, Any], *before: str) -> None:
        for name, one in node.get("properties", {}).items():
            key = ".".join((*before, name))
            if text := told.get(key) or told.get(key.replace("verifier.", "judge.", 1)):
                one["description"] = text
            elif "$ref" in one:
                visit(schema["$defs"][one["$ref"].rpartition("/")[2]], *before, name)

    visit(schema)


def _made_of(kind: Any, seen: dict[type, None]) -> dict[type, None]:
    """Return the structs and models that a type leads to, itself among them."""
    if not isinstance(kind, type) or not issubclass(kind, msgspec.Struct | BaseModel):
        for part in get_args(kind):
            _made_of(part, seen)
    elif kind not in seen:
        seen[kind] = None
        for below in get_type_hints(kind).values():
            _made_of(below, seen)
    return seen


def _keys(kind: type) -> Iterator[tuple[str, str]]:
    """Yield each field's name in Python, and its key on disk."""
    if issubclass(kind, BaseModel):
        yield from ((name, field.alias or name) for name, field in kind.model_fields.items())
    elif issubclass(kind, msgspec.Struct):
        yield from zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)


def _told(kind: type) -> dict[str, str]:
    """Return the docstrings of a class's fields, inherited ones too."""
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        found |= _docstrings(one.__module__).get(one.__qualname__, {})
    return found


@cache
def _docstrings(module: str) -> dict[str, dict[str, str]]:
    """Return what stands below the fields of each class of one of Helix's modules."""
    if module.partition(".")[0] != "helix":
        return {}
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: dict(_below(node)) for node in tree.body if isinstance(node, ast.ClassDef)}


def _below(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, text in pairwise(node.body):
        match field, text:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(told))),
            ):
                yield name, " ".join(told.split())

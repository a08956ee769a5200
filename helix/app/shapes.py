"""JSON Schemas of files; of what people write both spellings of every key, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from pydantic import BaseModel
from pydantic.alias_generators import to_snake
from pydantic.errors import PydanticInvalidForJsonSchema

from helix.app.meanings import describe
from helix.checks.parts import KIND
from helix.checks.window import Window
from helix.registry import Registry

Schema = dict[str, Any]


def written_line(shape: type[msgspec.Struct]) -> Schema:
    """Return the schema of what Helix alone writes, in camelCase."""
    schema = msgspec.json.schema(shape)
    describe(schema, shape)
    return schema


def written_shape(model: type[BaseModel], registry: Registry) -> Schema:
    """Return the schema of a file that people write, as it is read: camelCase or snake_case."""
    schema = model.model_json_schema(by_alias=True)
    describe(schema, model)
    if "CodeEval" in schema.get("$defs", {}):
        _open_primitives(schema["$defs"], registry)
    for node in [schema, *schema.get("$defs", {}).values()]:
        for closed in (node, *node.get("oneOf", ())):
            _take_both_spellings(closed)
    return schema


def parameters(model: type[BaseModel]) -> Schema:
    """Return the schema of a check's parameters; an empty one where its types have none."""
    try:
        return model.model_json_schema(by_alias=True)
    except PydanticInvalidForJsonSchema:
        return {}


def _open_primitives(defs: Schema, registry: Registry) -> None:
    """Say which parameters each registered primitive takes; another one may take any."""
    checks = registry.items("checks")
    own = {"primitive": {"type": "string", "not": {"enum": list(checks)}}}
    window = parameters(Window)
    defs.update(window.pop("$defs", {}))
    choices: list[Schema] = []
    for name, entry in checks.items():
        schema = parameters(entry.item.params)
        defs.update(schema.pop("$defs", {}))
        properties = {"primitive": {"const": name}, **schema.pop("properties", {})}
        properties |= window["properties"]
        required = ["primitive", *schema.pop("required", ())]
        examples = [{"primitive": name, **given} for given in schema.pop("examples", ())]
        choices.append(
            {**schema, "properties": properties, "required": required, "examples": examples}
        )
    last = {"title": "A check of your own", "properties": own, "required": ["primitive"]}
    _name_parts([*choices, *defs.values()])
    defs["CodeEval"] = {"type": "object", "title": "CodeEval", "oneOf": [*choices, last]}


def _name_parts(nodes: Any) -> None:
    """Turn each check inside another into a reference to what a `code_eval` is."""
    stack = [nodes]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            if node.get("format") == KIND:
                kept = {key: node[key] for key in ("description", "default") if key in node}
                node.clear()
                node.update(kept, **{"$ref": "#/$defs/CodeEval"})
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)


def _take_both_spellings(node: Schema) -> None:
    properties = node.get("properties", {})
    twins = dict(_twins(properties))
    needed = [name for name in node.get("required", ()) if name in twins]
    properties.update({twins[name]: properties[name] for name in twins})
    if needed:
        node["required"] = [name for name in node["required"] if name not in twins]
        node["allOf"] = [
            {"anyOf": [{"required": [name]}, {"required": [twins[name]]}]} for name in needed
        ]


def _twins(properties: Schema) -> Iterator[tuple[str, str]]:
    for name in properties:
        if (snake := to_snake(name)) != name:
            yield name, snake

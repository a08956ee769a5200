"""Every configuration key: what it takes, its default, its meaning in conf/base.yaml."""

from __future__ import annotations

from collections.abc import Iterator

from helix.app.conf import Remark, conf_dir, groups, remarks
from helix.app.manual import OWN_SECTIONS
from helix.app.reference.markdown import code, table, words
from helix.app.shapes import Schema
from helix.errors import HelixError
from helix.model.config import Config


def body() -> str:
    """Return the sections in the order of the configuration, then the groups."""
    schema = Config.model_json_schema()
    told: dict[str, list[Remark]] = {}
    known = {remark.key for remark in remarks()}
    if missing := next((key for key in _keys(schema, schema) if key not in known), None):
        raise HelixError(f"{missing} has no meaning in conf/base.yaml")
    for remark in remarks():
        told.setdefault(remark.key.partition(".")[0], []).append(remark)
    sections = [_section(name, told.get(name, []), schema) for name in schema["properties"]]
    return "\n\n".join([_groups(), *sections])


def _keys(node: Schema, schema: Schema, before: str = "") -> Iterator[str]:
    """Yield every key; of `verifier` those alone that `judge` does not have."""
    judged = schema["$defs"]["JudgeConfig"]["properties"].keys() - {"backend"}
    for name, one in node["properties"].items():
        below = _resolved(one, schema) if "$ref" in one else {}
        if "properties" in below:
            yield from _keys(below, schema, f"{before}{name}.")
        elif not (before == "verifier." and name in judged):
            yield before + name


def _groups() -> str:
    rows = [
        [code(f"{group}={name}"), _first_line(group, name)]
        for group, names in groups().items()
        for name in names
    ]
    told = "A choice is a file of conf/, and `helix evaluate --cfg job` prints what came of all."
    return f"## Groups\n\n{told}\n\n{table(['choice', 'is'], rows)}"


def _first_line(group: str, name: str) -> str:
    lines = (conf_dir() / group / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    return " ".join(_remark_lines(lines))


def _remark_lines(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if line.startswith("# @package"):
            continue
        if not line.startswith("#"):
            return
        yield line.removeprefix("#").strip()


def _section(name: str, told: list[Remark], schema: Schema) -> str:
    model = _resolved({"$ref": schema["properties"][name]["$ref"]}, schema)
    lines = [f"## {name}", "", model["description"]]
    if name in OWN_SECTIONS:
        lines += ["", f"Only `helix {OWN_SECTIONS[name]}` reads it."]
    if name == "verifier":
        lines += ["", "It takes every key of [judge](#judge) too."]
    rows = [
        [
            code(remark.key),
            words(_at(remark.key.split(".")[1:], model, schema)),
            "required" if remark.default == "???" else code(remark.default),
            remark.text,
        ]
        for remark in told
    ]
    return "\n".join([*lines, "", table(["key", "takes", "default", "meaning"], rows)])


def _at(steps: list[str], model: Schema, schema: Schema) -> Schema:
    """Return the schema of a key below a section."""
    for step in steps:
        model = model["properties"][step]
        if len(steps) > 1 and step != steps[-1]:
            model = _resolved(model, schema)
    return model


def _resolved(node: Schema, schema: Schema) -> Schema:
    for choice in (node, *node.get("anyOf", ())):
        if "$ref" in choice:
            found: Schema = schema["$defs"][choice["$ref"].rpartition("/")[2]]
            return found
    return node

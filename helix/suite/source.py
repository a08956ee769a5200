"""A criteria file as YAML that remembers its lines.

YAML as JSON has it: `true`, `false`, `null` and numbers are values, all else is text, so that
`no`, `on` and `2024-05-15` are what they look like. Anchors and merge keys work. A key that stands
twice in one mapping is a problem, since one of the two would be lost without a word.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic.alias_generators import to_snake

from helix.errors import SuiteError, did_you_mean

LONGEST = 20_000_000
_MERGE = "tag:yaml.org,2002:merge"
_MARKER = re.compile(r"^(?:<{7}|\|{7}|>{7})(?= |$)", re.MULTILINE)
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _JsonLikeLoader(_Loader):  # type: ignore[misc]
    """PyYAML's safe loader, without the words and dates that YAML 1.1 turns into values."""


_JsonLikeLoader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", list("-+0123456789")),
    ("float", r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", list("-+0123456789")),
    ("merge", r"<<", ["<"]),
):
    _JsonLikeLoader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _first
    )


@dataclass(frozen=True, slots=True)
class Source:
    """A parsed file: its plain value, and the line of every key and item in it."""

    file: str
    value: Any
    root: yaml.Node | None = None
    doubled: tuple[tuple[int, str], ...] = field(default=())

    def line(self, *steps: str | int) -> int:
        """Return the 1-based line of what the steps lead to, or of the nearest thing above it.

        0 stands for a suite that has no file.
        """
        node, line = self.root, 0 if self.root is None else 1
        for step in steps:
            found = _below(node, step)
            if found is None:
                break
            mark, node = found
            line = mark.start_mark.line + 1
        return line

    def spelled(self, steps: Sequence[str | int], skip: int = 0) -> str:
        """Return the steps as the file spells them, e.g. `code_eval.first.where[0].path`."""
        node, text = self.root, ""
        for at, step in enumerate(steps):
            found = _below(node, step)
            mark, node = found or (None, None)
            if at < skip:
                continue
            if isinstance(step, int):
                text += f"[{step}]"
            else:
                word = to_snake(step) if mark is None else str(mark.value)
                text += f".{word}" if text else word
        return text


def read(file: str | Path) -> Source:
    """Read a criteria file; SuiteError names file and line of what is no YAML."""
    return parse(read_text(file), str(file))


def read_text(file: str | Path) -> str:
    """Return the text of a criteria file; SuiteError where it cannot be read."""
    name = str(file)
    try:
        with open(file, encoding="utf-8-sig") as stream:
            text = stream.read(LONGEST + 1)
    except FileNotFoundError:
        raise SuiteError(f"criteria.file: no file {name}{_nearby(Path(file))}") from None
    except (OSError, UnicodeError) as error:
        raise SuiteError(f"criteria.file: {name} cannot be read: {error}") from None
    except ValueError as error:
        raise SuiteError(f"criteria.file: {name!r} is no path: {error}") from None
    if len(text) > LONGEST:
        raise SuiteError(f"criteria.file: {name} is longer than {LONGEST:,} characters")
    return text


def marker_line(text: str) -> int | None:
    """Return the 1-based line of the first mark that a merge conflict left in a text."""
    found = _MARKER.search(text)
    return None if found is None else text.count("\n", 0, found.start()) + 1


def parse(text: str, name: str) -> Source:
    """Parse the text of a criteria file; a merge conflict that is left in it is refused."""
    if marked := marker_line(text):
        raise SuiteError(
            f"{name}:{marked}: a merge conflict is left: keep the rows of both sides, each id once"
        )
    try:
        root = yaml.compose(text, Loader=_JsonLikeLoader)
        doubled: list[tuple[int, str]] = []
        _inspect(root, doubled, set(), [])
        value = None if root is None else _construct(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f":{mark.line + 1}" if mark else ""
        column = f" (column {mark.column + 1})" if mark else ""
        reason = " ".join(str(part) for part in (error.context, error.problem) if part)
        told = f"{name}{at}: the file is no YAML: {reason}{column}{_remedy(text, error)}"
        raise SuiteError(told) from None
    except yaml.YAMLError as error:
        raise SuiteError(f"{name}: the file is no YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise SuiteError(f"{name}: the file is nested too deeply") from None
    return Source(name, value, root, tuple(doubled))


def _nearby(file: Path) -> str:
    near = file.parent.glob("*.y*ml") if file.parent.is_dir() else ()
    return did_you_mean(file.name, [path.name for path in near])


def _remedy(text: str, error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark
    lines = text.splitlines()[mark.line : mark.line + 1] if mark else []
    if mark and any(line[mark.column : mark.column + 1] == "\t" for line in lines):
        return "; indent with spaces, not with a tab"
    if "unknown escape character" in str(error.problem):
        return "; in double quotes \\ starts an escape: put the pattern in single quotes"
    return ""


class _Constructor(yaml.constructor.SafeConstructor):
    """PyYAML's safe constructor, which tells the line of a value that its tag does not fit."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError):
            problem = f"a value is no {node.tag.rpartition(':')[2]}, or too long for one"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark) from None
        if isinstance(value, float) and not math.isfinite(value):
            problem = "a number is out of range"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
        return value


def _construct(root: yaml.Node) -> Any:
    return _Constructor().construct_document(root)


def _inspect(
    node: yaml.Node | None, doubled: list[tuple[int, str]], done: set[int], above: list[yaml.Node]
) -> None:
    """Note keys that stand twice; refuse a node that contains itself."""
    if node is not None and node in above:
        raise yaml.MarkedYAMLError(
            problem="an alias refers to itself", problem_mark=node.start_mark
        )
    if node is None or id(node) in done:
        return
    above.append(node)
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                if key.value in seen:
                    doubled.append((key.start_mark.line + 1, key.value))
                seen.add(key.value)
            _inspect(value, doubled, done, above)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _inspect(item, doubled, done, above)
    above.pop()
    done.add(id(node))


def _below(node: yaml.Node | None, step: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    """Return (node that marks the step, node of its value)."""
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
        return (node.value[step], node.value[step]) if step < len(node.value) else None
    if isinstance(node, yaml.MappingNode) and isinstance(step, str):
        word = to_snake(step)
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and word in (key.value, to_snake(key.value)):
                return key, value
    return None

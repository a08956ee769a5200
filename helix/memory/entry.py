"""One memory entry: a fact with front matter, as a file that people may edit (METHOD 78).

Front matter is read as the YAML nodes of its text: scalars stay as they are spelled, nothing is
constructed, aliases are refused.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import yaml

from helix.errors import did_you_mean
from helix.memory.refusals import private
from helix.model.canonical import source_digest

Type = Literal["user", "feedback", "project", "reference"]
Lifecycle = Literal["spec", "build", "evaluate", "diagnose", "improve", "general"]

TYPES: Final[tuple[Type, ...]] = get_args(Type)
LIFECYCLES: Final[tuple[Lifecycle, ...]] = get_args(Lifecycle)
REASONED: Final[tuple[Type, ...]] = ("feedback", "project")
"""The types whose body says why, and how the fact is applied."""

LONGEST_NAME: Final = 64
LONGEST_LINE: Final = 200
DEEPEST: Final = 3
LONGEST_FRONT: Final = 2000
LONGEST_BODY: Final = 4000
WHY, HOW = "**Why:**", "**How to apply:**"
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_TAKEN = frozenset(
    {"memory", "con", "prn", "aux", "nul", *(f"{d}{n}" for d in ("com", "lpt") for n in range(10))}
)
_FRONT = re.compile(r"---[ \t]*\n(.*?\n)?---[ \t]*(?:\n|\Z)", re.DOTALL)
_LINK = re.compile(r"\[\[([^\[\]\n]{1,200})\]\]")
_PLAIN = re.compile(r"[A-Za-z](?:[\w ,.()/'’-]*[\w.)])?")
_ACTING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_KEYS = ("name", "description", "metadata")
_META = ("type", "lifecycle", "created")


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a file of the memory, and on which line (1-based, 0 for all of it)."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}{f':{self.line}' if self.line else ''}: {self.text}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One fact: its name, which is its file's too, one line about it, and what it says."""

    name: str
    description: str
    type: Type
    lifecycle: Lifecycle
    created: str
    body: str

    @property
    def page(self) -> str:
        """The text of the file."""
        return (
            f"---\nname: {self.name}\ndescription: {_scalar(self.description)}\nmetadata:\n"
            f"  type: {self.type}\n  lifecycle: {self.lifecycle}\n  created: {self.created}\n"
            f"---\n\n{self.body}\n"
        )

    @property
    def digest(self) -> str:
        """The digest of what the entry says, whatever its file looks like."""
        return source_digest(self.page.encode("utf-8"))


def name_fault(name: str) -> str | None:
    """Return what is wrong with a name; None for one that an entry can have."""
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        return (
            f"must be lower-case letters, digits and single hyphens, at most {LONGEST_NAME} (got "
            f"{name[:LONGEST_LINE]!r})"
        )
    return f"must not be {name}, which is taken" if name in _TAKEN else None


def links(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line (from 0) and name of every [[name]] in a text."""
    for number, line in enumerate(text.split("\n")):
        for found in _LINK.finditer(line):
            yield number, found[1].strip()


def lacking(of: Type, body: str) -> list[str]:
    """Return the lines that a body of this type must have and does not."""
    if of not in REASONED:
        return []
    starts = [line.strip() for line in body.split("\n")]
    return [mark for mark in (WHY, HOW) if not any(_says(line, mark) for line in starts)]


def body_fault(body: str) -> str | None:
    """Return what is wrong with the text of a fact; None for one that can be kept."""
    if not body.strip():
        return "the fact must say something (got nothing)"
    if len(body) > LONGEST_BODY:
        return f"the fact must be at most {LONGEST_BODY:,} characters (got {len(body):,})"
    if found := _ACTING.search(body):
        return f"the fact must not hold control characters (got {found.group()!r})"
    return None


def parse(text: str, file: str, name: str) -> tuple[Entry | None, list[Fault]]:
    """Return the entry of a file's text and what is wrong with it; None where it cannot be used.

    `name` is what the file is called, without its ending.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    found = _FRONT.match(text)
    if found is None:
        return None, [Fault(file, 1, "must begin with front matter between two lines of ---")]
    if len(found.group()) > LONGEST_FRONT:
        told = f"front matter must be at most {LONGEST_FRONT:,} characters"
        return None, [Fault(file, 1, told)]
    values, faults = _values(found[1] or "", file)
    if values is None:
        return None, faults
    body = text[found.end() :].strip()
    first = text[: text.index(body, found.end()) if body else found.end()].count("\n") + 1
    faults += _wrong(values, file, name)
    if (wrong := body_fault(body)) is not None:
        faults.append(Fault(file, first, wrong))
    if (what := private(text)) is not None:
        faults.append(Fault(file, 0, f"holds {what}; private data must not be committed"))
    if faults:
        return None, faults
    said: dict[str, Any] = {key: value for key, (_, value) in values.items()}
    entry = Entry(name, said["description"], said["type"], said["lifecycle"], said["created"], body)
    missing = lacking(entry.type, body)
    return entry, [Fault(file, first, f"{entry.type} must have a line {m} …") for m in missing]


def _says(line: str, mark: str) -> bool:
    return line.startswith(mark) and len(line) > len(mark)


def _scalar(text: str) -> str:
    """Return a text as YAML: plain where it can only be read as text, else in double quotes."""
    values = ("true", "false", "null", "yes", "no", "on", "off", "y", "n")
    plain = _PLAIN.fullmatch(text) and text.lower() not in values
    return text if plain else json.dumps(text, ensure_ascii=False)


Values = dict[str, tuple[int, str | None]]


def _values(text: str, file: str) -> tuple[Values | None, list[Fault]]:
    """Return line and text of every key of the front matter, those of `metadata` among them."""
    try:
        if (wrong := _strange(text)) is not None:
            return None, [Fault(file, 2, f"front matter must not hold {wrong}")]
        root = yaml.compose(text, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 2
        return None, [Fault(file, line, f"front matter is no YAML: {error.problem}")]
    except (yaml.YAMLError, RecursionError) as error:
        return None, [Fault(file, 2, f"front matter is no YAML: {' '.join(str(error).split())}")]
    values: Values = {}
    faults: list[Fault] = []
    _take(root, _KEYS, values, file, faults)
    return values, faults


def _strange(text: str) -> str | None:
    """Return what of YAML stands in front matter that is more than text under keys."""
    depth = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent):
            return "aliases"
        if depth > DEEPEST:
            return "more than keys and the keys of metadata"
    return None


def _take(
    node: yaml.Node | None, known: tuple[str, ...], into: Values, file: str, faults: list[Fault]
) -> None:
    if not isinstance(node, yaml.MappingNode):
        line = 2 if node is None else node.start_mark.line + 2
        faults.append(Fault(file, line, f"front matter must be a mapping of {', '.join(known)}"))
        return
    for key, value in node.value:
        line, name = key.start_mark.line + 2, str(key.value)
        if name not in known:
            hint = did_you_mean(name, known)
            faults.append(Fault(file, line, f"unknown key '{name[:LONGEST_LINE]}'{hint}"))
        elif name in into:
            faults.append(Fault(file, line, f"{name} stands twice"))
        elif name == "metadata":
            into[name] = (line, None)
            _take(value, _META, into, file, faults)
        elif isinstance(value, yaml.ScalarNode):
            into[name] = (line, value.value)
        else:
            into[name] = (line, None)
            faults.append(Fault(file, line, f"{name} must be one text"))


def _wrong(values: Values, file: str, name: str) -> list[Fault]:
    """Return what is wrong with the values, those that are missing included."""
    faults = [
        Fault(file, 2, f"{key} is missing")
        for key in ("name", "description", *_META)
        if key not in values
    ]
    checks = {
        "name": lambda text: None if text == name else f"must be {name}, as the file's name is",
        "description": line_fault,
        "type": lambda text: _one_of(text, TYPES),
        "lifecycle": lambda text: _one_of(text, LIFECYCLES),
        "created": date_fault,
    }
    for key, check in checks.items():
        line, text = values.get(key, (0, None))
        if text is not None and (wrong := check(text)) is not None:
            faults.append(Fault(file, line, f"{key} {wrong}"))
    return faults


def line_fault(text: str) -> str | None:
    """Return what is wrong with a description or title; None for one line of fair length."""
    if not text.strip() or text != text.strip():
        return f"must be one line of text without space around it (got {text[:LONGEST_LINE]!r})"
    if len(text) > LONGEST_LINE or not text.isprintable():
        return f"must be one line of at most {LONGEST_LINE} characters (got {text[:60]!r})"
    return None


def date_fault(text: str) -> str | None:
    """Return what is wrong with a date; None for YYYY-MM-DD."""
    try:
        good = datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        good = False
    return None if good else f"must be a date, YYYY-MM-DD (got {text[:60]!r})"


def _one_of(text: str, choices: tuple[str, ...]) -> str | None:
    if text in choices:
        return None
    return f"must be one of {', '.join(choices)} (got {text[:60]!r}){did_you_mean(text, choices)}"

"""One grammar for every place inside a trace (METHOD 26, DESIGN “The trace”).

    path     := root step* | "obs:" name ("@" quantifier)? step+
    root     := input | output | observations | transcript | metadata | usage | raw
    name     := bare | "*" | "[" JSON string "]"
    step     := "." bare | "[" int "]" | "[*]" | "[" JSON string "]"
    relative := bare step*            (inside one observation or message)
    bare     := one or more characters other than space . [ ] @ " '

A criterion holds a *selector*, which may name many values; a ref holds an *address*, which
names exactly one: it has no `[*]` and no quantifier. `str(parse(text))` is the canonical
spelling, and parsing it again gives an equal path.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, get_args

from helix.errors import PathError, did_you_mean

Root = Literal["input", "output", "observations", "transcript", "metadata", "usage", "raw"]
Quantifier = Literal["any", "all", "first", "last"]
ROOTS: Final = get_args(Root)
QUANTIFIERS: Final = get_args(Quantifier)

_BARE = re.compile(r"[^\s.\[\]@\"']+")
_STRING = re.compile(r'\["(?:[^"\\\x00-\x1f]|\\.)*"\]')
_INDEX = re.compile(r"\[(-?\d{1,9})\]")


class Missing:
    """The one value that stands for a field which is not there; null is a value, this is not."""

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False

    def __deepcopy__(self, memo: object) -> Missing:
        return self


MISSING: Final = Missing()


@dataclass(frozen=True, slots=True)
class Each:
    """The step `[*]`: every element of a list, every value of an object."""


EACH: Final = Each()
Step = str | int | Each


@dataclass(frozen=True, slots=True)
class FieldPath:
    """A parsed path: either a root or an observation name, then steps."""

    root: str | None
    steps: tuple[Step, ...]
    observation: str | None = None
    quantifier: Quantifier | None = None

    @property
    def is_address(self) -> bool:
        """Whether the path names exactly one place."""
        return self.observation is None and not any(isinstance(s, Each) for s in self.steps)

    def __str__(self) -> str:
        if self.observation is None:
            return render_steps((self.root, *self.steps) if self.root else self.steps)
        name = self.observation
        spelled = name if name == "*" or _BARE.fullmatch(name) else f"[{_quote(name)}]"
        at = f"@{self.quantifier}" if self.quantifier else ""
        tail = render_steps(self.steps)
        joined = tail if not tail or tail.startswith("[") else f".{tail}"
        return f"obs:{spelled}{at}{joined}"


@lru_cache(maxsize=4096)
def parse(text: str) -> FieldPath:
    """Parse a selector written in a criterion; raise PathError with the column that is wrong."""
    if text.startswith("obs:"):
        return _parse_observation(text)
    path = parse_relative(text)
    head = path.steps[0]
    if head not in ROOTS:
        hint = did_you_mean(str(head), [*ROOTS, "obs:"])
        raise PathError(
            f"path '{text}' must start with one of {', '.join(ROOTS)} or obs:NAME "
            f"(got '{head}'){hint}"
        )
    return FieldPath(root=str(head), steps=path.steps[1:])


@lru_cache(maxsize=4096)
def parse_relative(text: str) -> FieldPath:
    """Parse a path inside one observation or message, such as `output.status`."""
    head = _BARE.match(text)
    if head:
        steps: tuple[Step, ...] = (head.group(), *_parse_steps(text, head.end()))
    else:
        steps = _parse_steps(text, 0)
        if not steps or not isinstance(steps[0], str) or text.startswith("."):
            raise PathError(f"path '{text}' must start with a field name")
    return FieldPath(root=None, steps=steps)


def walk(value: Any, steps: tuple[Step, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Return (address steps, value) for each place the steps reach, MISSING where one ends early.

    `[*]` over an empty container reaches nothing; over what is no container, its first element is
    missing. A negative index counts from the end and its address is the position counted from
    the start.
    """
    done: Any = steps
    for at, step in enumerate(steps):
        if isinstance(step, str):
            value = value[step] if isinstance(value, dict) and step in value else MISSING
        elif isinstance(step, Each):
            return _spread(value, done[:at], steps[at + 1 :])
        else:
            value, place = _descend(value, step)
            done = (*done[:at], place, *done[at + 1 :])
        if value is MISSING:
            return iter(((done[: at + 1], MISSING),))
    return iter(((done, value),))


def resolve(value: Any, steps: tuple[Step, ...]) -> Any:
    """Return the one value at an address, or MISSING."""
    for step in steps:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step, MISSING)
        else:
            value, _ = _descend(value, step)
        if value is MISSING:
            return MISSING
    return value


@lru_cache(maxsize=4096)
def render_steps(steps: tuple[Step, ...]) -> str:
    """Spell steps as a relative path, the form refs use."""
    path = "".join(map(spelled, steps))
    return path.removeprefix(".")


@lru_cache(maxsize=4096)
def spelled(step: Step) -> str:
    """Spell a step that follows another."""
    if isinstance(step, Each):
        return "[*]"
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _BARE.fullmatch(step) else f"[{_quote(step)}]"


def _spread(
    value: Any, done: tuple[str | int, ...], rest: tuple[Step, ...]
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if isinstance(value, dict):
        items: Iterable[tuple[str | int, Any]] = ((str(key), value[key]) for key in value)
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        yield (*done, 0), MISSING
        return
    for key, item in items:
        for below, found in walk(item, rest):
            yield (*done, key, *below), found


def _descend(value: Any, step: Step) -> tuple[Any, str | int]:
    if isinstance(step, str):
        if isinstance(value, dict) and step in value:
            return value[step], step
        return MISSING, step
    if isinstance(step, int) and isinstance(value, list):
        at = step if step >= 0 else len(value) + step
        if 0 <= at < len(value):
            return value[at], at
    return MISSING, step if isinstance(step, int) else 0


def _parse_observation(text: str) -> FieldPath:
    at = len("obs:")
    quoted = _STRING.match(text, at)
    bare = None if quoted else _BARE.match(text, at)
    if quoted:
        name, at = _unquote(quoted.group(), text), quoted.end()
    elif bare:
        name, at = bare.group(), bare.end()
    else:
        raise PathError(f"path '{text}' must name an observation after obs: (or * for all)")
    quantifier: Any = None
    if text.startswith("@", at):
        word = _BARE.match(text, at + 1)
        quantifier = word.group() if word else ""
        if quantifier not in QUANTIFIERS:
            raise PathError(
                f"path '{text}': the quantifier must be one of {', '.join(QUANTIFIERS)} "
                f"(got '{quantifier}')"
            )
        at += 1 + len(quantifier)
    steps = _parse_steps(text, at)
    if not steps:
        raise PathError(f"path '{text}' must name a field of the observation, e.g. {text}.output")
    return FieldPath(root=None, steps=steps, observation=name, quantifier=quantifier)


def _parse_steps(text: str, at: int) -> tuple[Step, ...]:
    steps: list[Step] = []
    while at < len(text):
        if text.startswith("[*]", at):
            steps.append(EACH)
            at += 3
        elif index := _INDEX.match(text, at):
            steps.append(int(index.group(1)))
            at = index.end()
        elif quoted := _STRING.match(text, at):
            steps.append(_unquote(quoted.group(), text))
            at = quoted.end()
        elif text[at] == "." and (bare := _BARE.match(text, at + 1)):
            steps.append(bare.group())
            at = bare.end()
        else:
            raise PathError(
                f"path '{text}' does not parse at column {at + 1} ('{text[at:][:12]}'): "
                'expected .name, [0], [*] or ["any key"]'
            )
    return tuple(steps)


def _quote(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _unquote(token: str, text: str) -> str:
    try:
        name = json.loads(token[1:-1])
    except ValueError:
        raise PathError(f"path '{text}': {token} is not a JSON string in brackets") from None
    return str(name)

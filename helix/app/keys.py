"""The keys of the configuration and the kind of value each takes, read from its model."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel

from helix.errors import did_you_mean
from helix.model.config import Config

Kind = Literal["text", "path", "texts", "other"]
HYDRA_TEXTS = frozenset({"hydra.run.dir", "hydra.sweep.dir", "hydra.sweep.subdir"})


@dataclass(frozen=True, slots=True)
class Key:
    """What one key takes: one text, a path or list of paths, a list of texts, or another value.

    `grows` is True for keys that a composed configuration may lack, so that Hydra must add them.
    """

    kind: Kind
    nullable: bool = False
    grows: bool = False


def find(dotted: str) -> Key | None:
    """Return what the key takes, or None for a key that no configuration has."""
    if dotted in HYDRA_TEXTS:
        return Key("text")
    return _find(Config, dotted.split("."), grows=False)


def names() -> list[str]:
    """Return every dotted key of a configuration; a free dict is one key."""
    return list(_names(Config, ""))


def nearest(dotted: str) -> str:
    """Return `; did you mean 'x'?` for the nearest key, by its whole name or its last word."""
    known = names()
    last = dotted.rpartition(".")[2]
    for name in known:
        if name.rpartition(".")[2] == last:
            return f"; did you mean '{name}'?"
    return did_you_mean(dotted, known)


def _find(annotation: Any, parts: list[str], grows: bool) -> Key | None:
    options, nullable = _options(annotation)
    if not parts:
        return Key(_kind(options), nullable, grows)
    for option in options:
        if isinstance(option, type) and issubclass(option, BaseModel):
            field = option.model_fields.get(parts[0])
            return field and _find(field.annotation, parts[1:], grows or nullable)
        if typing.get_origin(option) is dict:
            return _find(typing.get_args(option)[1], parts[1:], grows=True)
    return Key("other", grows=True) if Any in options else None


def _names(model: type[BaseModel], prefix: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        options, nullable = _options(field.annotation)
        section = next(
            (o for o in options if isinstance(o, type) and issubclass(o, BaseModel)), None
        )
        if section is None or nullable:
            yield prefix + name
        if section is not None:
            yield from _names(section, f"{prefix}{name}.")


def _options(annotation: Any) -> tuple[list[Any], bool]:
    union = typing.get_origin(annotation) in (types.UnionType, typing.Union)
    options = list(typing.get_args(annotation)) if union else [annotation]
    return [o for o in options if o is not type(None)], type(None) in options


def _kind(options: list[Any]) -> Kind:
    listed = any(typing.get_args(o) == (str, ...) for o in options)
    if str in options:
        return "path" if listed else "text"
    return "texts" if listed else "other"

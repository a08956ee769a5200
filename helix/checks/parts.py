"""Checks inside checks: `{primitive: …}` as a parameter, read when the suite compiles.

What a part is and takes is read by the reader of the suite (`helix.checks.specs`), which knows
the registered checks and bounds how deep they nest; it travels as pydantic's validation context.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Protocol

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    InstanceOf,
    PlainSerializer,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic.config import JsonDict

from helix.checks.parameters import Params
from helix.registry import Check

KIND = "check"


class PartReader(Protocol):
    """Who reads a part: it knows the registered checks."""

    def read(self, spec: Any) -> Part: ...


class Part(Params):
    """A check and its parsed parameters: what `helix.checks.run.decide` takes."""

    check: InstanceOf[Check]
    params: InstanceOf[BaseModel]


def written(part: Part) -> dict[str, Any]:
    """Return a part as a suite would spell it, with every default filled in."""
    return {"primitive": part.check.name, **part.params.model_dump(mode="json")}


def within(value: Any) -> Iterator[Part]:
    """Yield the parts that parameters hold directly, in their order."""
    if isinstance(value, Part):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from within(item)
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from within(getattr(value, name))


def versions(value: Any) -> list[list[Any]]:
    """Return name and version of every check inside parameters, for the digest of their row."""
    return [[p.check.name, p.check.version, *versions(p.params)] for p in within(value)]


def _part(value: Any, info: ValidationInfo) -> Part:
    if isinstance(value, Part):
        return value
    if info.context is None:
        raise ValueError("a check inside another can only be read with its suite")
    reader: PartReader = info.context
    return reader.read(value)


def _some(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    if not parts:
        raise ValueError("must list at least one check")
    return parts


_SOME: JsonDict = {"minItems": 1}
PartParam = Annotated[
    Part,
    PlainValidator(_part),
    PlainSerializer(written),
    WithJsonSchema({"type": "object", "format": KIND, "required": ["primitive"]}),
]
Parts = Annotated[tuple[PartParam, ...], AfterValidator(_some), Field(json_schema_extra=_SOME)]

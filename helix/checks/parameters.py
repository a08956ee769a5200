"""What primitives are told, parsed once when the suite loads: no check ever meets a bad one.

A parameter that does not parse is a ValueError whose text says what to type; `helix.suite` adds
file, line and row to it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any

import re2
from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
)

from helix.checks import known_fields
from helix.errors import PathError
from helix.fieldpath import FieldPath
from helix.model.criterion import Record

Span = tuple[int, int]


class Params(Record):
    """The base of every primitive's parameters: frozen, no unknown keys, both spellings read."""

    model_config = ConfigDict(arbitrary_types_allowed=True, protected_namespaces=())


@dataclass(frozen=True, slots=True)
class Pattern:
    """An RE2 expression, searched for anywhere in a text, in time linear in that text."""

    text: str
    _compiled: Any = field(repr=False, compare=False)

    def find(self, text: str) -> Span | None:
        """Return where the first match stands, as character offsets, or None."""
        # RE2 takes bytes as they are. A lone surrogate is one character either way, so spans hold.
        data = text.encode("utf-8", "replace")
        found = self._compiled.search(data)
        if found is None:
            return None
        start, end = found.span()
        if len(data) == len(text):
            return start, end
        return len(data[:start].decode("utf-8")), len(data[:end].decode("utf-8"))


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """A compiled JSON Schema: no reference leaves the schema, patterns run in linear time."""

    schema: Any
    _compiled: Any = field(repr=False, compare=False)

    def faults(self, value: Any) -> list[tuple[str, tuple[str | int, ...]]]:
        """Return (message, steps to the offending value) of each violation."""
        if self._compiled.is_valid(value):
            return []
        return [(e.message, tuple(e.instance_path)) for e in self._compiled.iter_errors(value)]


@lru_cache(maxsize=512)
def compile_pattern(text: str) -> Pattern:
    """Compile an RE2 expression; ValueError says what RE2 refuses."""
    options = re2.Options()
    options.log_errors = False
    try:
        return Pattern(text, re2.compile(text, options))
    except re2.error as error:
        reason = error.args[0] if error.args else "does not compile"
        if isinstance(reason, bytes):
            reason = reason.decode("utf-8", "replace")
        raise ValueError(
            f"pattern must be an RE2 expression (got '{text}': {reason}){_beyond_re2(text)}"
        ) from None
    except UnicodeEncodeError:
        raise ValueError("pattern must be text without lone surrogates") from None


def _beyond_re2(text: str) -> str:
    if re.search(r"\(\?<?[=!]|\\[1-9]", text) is None:
        return ""
    return "; RE2 has no lookaround and no backreferences"


def _pattern(value: Any) -> Pattern:
    if isinstance(value, Pattern):
        return value
    if not isinstance(value, str):
        raise ValueError(f"must be an RE2 expression written as text (got {_kind(value)})")
    return compile_pattern(value)


def _json_schema(value: Any) -> JsonSchema:
    if isinstance(value, JsonSchema):
        return value
    if not isinstance(value, dict | bool):
        raise ValueError(f"must be a JSON Schema, an object (got {_kind(value)})")
    import jsonschema_rs  # Costs more than most runs; few suites hold a schema.

    try:
        compiled = jsonschema_rs.validator_for(
            value, offline=True, pattern_options=jsonschema_rs.RegexOptions()
        )
    except jsonschema_rs.ValidationError as error:
        at = "/".join(str(step) for step in error.instance_path)
        where = f" at {at}" if at else ""
        raise ValueError(f"must be a JSON Schema{where}: {error.message}") from None
    except ValueError as error:
        raise ValueError(f"must be a JSON Schema: {error}") from None
    return JsonSchema(value, compiled)


def _path(value: Any) -> FieldPath:
    return _parsed(
        value, known_fields.selector, "a field path such as output.response or obs:NAME.input.to"
    )


def _relative(value: Any) -> FieldPath:
    wanted = "a path inside one call such as output.status"
    return _parsed(value, known_fields.relative, wanted)


def _parsed(value: Any, parser: Any, wanted: str) -> FieldPath:
    if isinstance(value, FieldPath):
        return value
    if not isinstance(value, str):
        raise ValueError(f"must be {wanted} (got {_kind(value)})")
    try:
        parsed: FieldPath = parser(value)
    except PathError as error:
        raise ValueError(str(error)) from None
    return parsed


def _scalar(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise ValueError(f"must be a text, a number, true, false or null (got {_kind(value)})")


def example(**parameters: Any) -> ConfigDict:
    """Return the model config that holds a primitive's example for its manual and schema."""
    return ConfigDict(json_schema_extra={"examples": [parameters]})


def as_list(value: Any) -> Any:
    """Return what may be written alone where a list is taken, as a list of one."""
    return value if isinstance(value, list | tuple) else (value,)


def _kind(value: Any) -> str:
    return "null" if value is None else type(value).__name__


def _text(kind: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "format": kind})


_ScalarType = str | bool | int | float | None
Scalar = Annotated[_ScalarType, PlainValidator(_scalar, json_schema_input_type=_ScalarType)]
PathParam = Annotated[FieldPath, PlainValidator(_path), PlainSerializer(str), _text("path")]
RelativePath = Annotated[
    FieldPath, PlainValidator(_relative), PlainSerializer(str), _text("path inside a call")
]
Paths = Annotated[
    tuple[PathParam, ...],
    BeforeValidator(as_list, json_schema_input_type=PathParam | tuple[PathParam, ...]),
    Field(min_length=1),
]
RelativePaths = Annotated[
    tuple[RelativePath, ...],
    BeforeValidator(as_list, json_schema_input_type=RelativePath | tuple[RelativePath, ...]),
]
PatternParam = Annotated[
    Pattern,
    PlainValidator(_pattern),
    PlainSerializer(lambda pattern: pattern.text),
    _text("RE2 pattern"),
]
SchemaParam = Annotated[
    JsonSchema,
    PlainValidator(_json_schema),
    PlainSerializer(lambda schema: schema.schema),
    WithJsonSchema({"type": ["object", "boolean"], "title": "JSON Schema"}),
]
Name = Annotated[str, Field(min_length=1)]
Names = Annotated[
    tuple[Name, ...],
    BeforeValidator(as_list, json_schema_input_type=Name | tuple[Name, ...]),
    Field(min_length=1),
]

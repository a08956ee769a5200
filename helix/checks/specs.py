"""Reading a `code_eval` as it is written: the check, its parameters, and where it applies.

Checks nest, so this is where depth and number are bounded: a suite is refused before anything in
it can run for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, Field, PlainValidator, ValidationInfo
from pydantic.alias_generators import to_snake

from helix.checks.parts import Part
from helix.checks.window import KEYS, Window, windowed
from helix.errors import HelixError
from helix.registry import Check

MOST_DEEP = 8
MOST_PARTS = 200
Lookup = Callable[[str], Check]
_PRIMITIVE = "primitive"
# In the place of an error, steps that the file does not have.
_PARAMETERS, _WINDOW = "(parameters)", "(window)"


def read(spec: Any, checks: Lookup) -> Part:
    """Return the check that a `code_eval` describes; ValidationError tells all that is wrong.

    `checks` finds a check by its name and raises HelixError where there is none. Steps in
    parentheses in the place of an error lead to no key of their own.
    """
    return _Reader(checks).read(spec)


class _Reader:
    """Reads one `code_eval` and every check inside it."""

    def __init__(self, checks: Lookup) -> None:
        self._checks = checks
        self._depth = 0
        self._count = 0

    def read(self, spec: Any) -> Part:
        """Return a part; ValueError, of which ValidationError is one, says why it is none."""
        if not isinstance(spec, Mapping):
            kind = "null" if spec is None else type(spec).__name__
            raise ValueError(f"must be a check, a mapping with primitive (got {kind})")
        self._count += 1
        if self._depth >= MOST_DEEP:
            raise ValueError(f"checks must not be nested more than {MOST_DEEP} deep")
        if self._count > MOST_PARTS:
            raise ValueError(f"a row must not hold more than {MOST_PARTS} checks")
        self._depth += 1
        try:
            return self._read(spec)
        finally:
            self._depth -= 1

    def find(self, name: Any) -> Check:
        """Return the check of a name; ValueError where there is none that can be used."""
        if not isinstance(name, str):
            raise ValueError("must name a check")
        try:
            check = self._checks(name)
        except HelixError as error:
            raise ValueError(str(error)) from None
        taken = sorted({to_snake(field) for field in check.params.model_fields} & set(KEYS))
        if taken:
            text = f"check {name} has a parameter {taken[0]}, which every code_eval has; rename it"
            raise ValueError(text)
        return check

    def _read(self, spec: Mapping[str, Any]) -> Part:
        given = {key: value for key, value in spec.items() if key != _PRIMITIVE}
        bounds = {key: given.pop(key) for key in KEYS if key in given}
        whole = {_PRIMITIVE: spec.get(_PRIMITIVE), _PARAMETERS: given}
        if bounds:
            whole[_WINDOW] = bounds
        found = _Spec.model_validate(whole, context=self)
        part = Part(check=found.primitive, params=found.parameters)
        return part if found.window is None else windowed(part, found.window)


def _found(name: Any, info: ValidationInfo) -> Check:
    reader: _Reader = info.context  # type: ignore[assignment]
    return reader.find(name)


def _parsed(given: Any, info: ValidationInfo) -> BaseModel | None:
    """Return the parameters of the check; None where there is no check, which is told already."""
    check = info.data.get(_PRIMITIVE)
    return None if check is None else check.params.model_validate(given, context=info.context)


class _Spec(BaseModel):
    """A `code_eval` with its parameters and its window set apart, so that all is read at once."""

    primitive: Annotated[Any, PlainValidator(_found)]
    parameters: Annotated[Any, PlainValidator(_parsed)] = Field(alias="(parameters)")
    window: Window | None = Field(default=None, alias="(window)")

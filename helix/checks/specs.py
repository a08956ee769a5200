"""Reading a `code_eval` as it is written: the check, its parameters, and where it applies.

Checks nest, so this is where depth and number are bounded: a suite is refused before anything in
it can run for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_snake
from pydantic_core import InitErrorDetails, PydanticCustomError, PydanticKnownError

from helix.checks.parts import Part
from helix.checks.window import KEYS, Window, windowed
from helix.errors import HelixError
from helix.registry import Check

MOST_DEEP = 8
MOST_PARTS = 200
Lookup = Callable[[str], Check]
_PRIMITIVE = "primitive"


def read(spec: Any, checks: Lookup) -> Part:
    """Return the check that a `code_eval` describes; ValidationError tells all that is wrong.

    `checks` finds a check by its name and raises HelixError where there is none.
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

    def _read(self, spec: Mapping[str, Any]) -> Part:
        name = spec.get(_PRIMITIVE)
        if not isinstance(name, str):
            raise _refused(name, "must name a check")
        try:
            check = self._checks(name)
        except HelixError as error:
            raise _refused(name, str(error)) from None
        taken = sorted({to_snake(field) for field in check.params.model_fields} & set(KEYS))
        if taken:
            raise _refused(name, f"check {name} has a parameter {taken[0]}, which every "
                           "code_eval has; rename it")  # fmt: skip
        given = {key: value for key, value in spec.items() if key != _PRIMITIVE}
        bounds = {key: given.pop(key) for key in KEYS if key in given}
        faults: list[InitErrorDetails] = []
        params = self._validated(check.params, given, faults)
        window = self._validated(Window, bounds, faults) if bounds else None
        if faults:
            raise ValidationError.from_exception_data(name, faults)
        part = Part(check=check, params=params)
        return part if window is None else windowed(part, window)

    def _validated(
        self, model: type[BaseModel], given: Mapping[str, Any], faults: list[InitErrorDetails]
    ) -> Any:
        try:
            return model.model_validate(dict(given), context=self)
        except ValidationError as error:
            faults += _details(error)
            return None


def _refused(name: Any, text: str) -> ValidationError:
    fault: InitErrorDetails = {
        "type": "value_error",
        "loc": (_PRIMITIVE,),
        "input": name,
        "ctx": {"error": ValueError(text)},
    }
    return ValidationError.from_exception_data(_PRIMITIVE, [fault])


def _details(error: ValidationError) -> Iterator[InitErrorDetails]:
    """Yield the faults of an error as they are given to a new one."""
    for fault in error.errors(include_url=False):
        kind: Any = fault["type"]
        try:
            PydanticKnownError(kind, fault.get("ctx"))
        except (KeyError, TypeError, ValueError):
            kind = PydanticCustomError(kind, "{text}", {"text": fault["msg"]})
        detail: InitErrorDetails = {"type": kind, "loc": fault["loc"], "input": fault["input"]}
        if isinstance(kind, str) and "ctx" in fault:
            detail["ctx"] = fault["ctx"]
        yield detail

"""What is wrong with a suite, one finding each: file, line, row, key, and what to type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel, to_snake

from helix.errors import SuiteError, did_you_mean
from helix.suite.source import Source

Level = Literal["error", "warning"]
_TYPES = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "list_type": "a list",
    "tuple_type": "a list",
    "model_attributes_type": "a mapping",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem of a suite; `row` is a criterion's id, or its place where it has none."""

    level: Level
    row: str | None
    line: int
    key: str | None
    text: str
    file: str = ""

    def __str__(self) -> str:
        at = f"{self.file}:{self.line}: " if self.file else ""
        row = f"{self.row}: " if self.row else ""
        key = f"{self.key}: " if self.key else ""
        return f"{at}{row}{key}{self.text}"


def raise_errors(findings: Iterable[Finding]) -> None:
    """Raise one SuiteError that lists every error, in file order; warnings raise nothing."""
    errors = sorted((f for f in findings if f.level == "error"), key=lambda f: f.line)
    if errors:
        more = f"{len(errors)} problems in the suite:\n  " if len(errors) > 1 else ""
        raise SuiteError(more + "\n  ".join(str(finding) for finding in errors))


def from_validation(
    error: ValidationError, model: type[BaseModel], source: Source, above: Sequence[str | int],
    row: str | None,
) -> Iterator[Finding]:  # fmt: skip
    """Translate what pydantic says into findings at the lines of the file."""
    for fault in error.errors(include_url=False):
        steps = (*above, *(step for step in fault["loc"] if _in_file(step)))
        key = source.spelled(*steps[2:] if above[:1] == ["criteria"] else steps)
        text = _text(fault, model)
        yield Finding("error", row, source.line(*steps), key or None, text, source.file)


def _in_file(step: Any) -> bool:
    return isinstance(step, int) or not step.startswith(("function-", "union", "tuple[", "json-"))


def _text(fault: Any, model: type[BaseModel]) -> str:
    kind, context = fault["type"], fault.get("ctx", {})
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return _unknown_key(str(fault["loc"][-1]), fault["loc"][:-1], model)
    if kind == "literal_error":
        got = fault["input"]
        hint = did_you_mean(str(got), context["expected"].replace("'", "").split(" or "))
        return f"must be {context['expected']} (got {_shown(got)}){hint}"
    if kind == "value_error":
        return str(context["error"])
    if kind in _TYPES:
        return f"must be {_TYPES[kind]} (got {_shown(fault['input'])})"
    message = fault["msg"]
    return f"{message[:1].lower()}{message[1:]} (got {_shown(fault['input'])})"


def _unknown_key(key: str, above: Sequence[Any], model: type[BaseModel]) -> str:
    known = known_keys(model) if not above else []
    hint = did_you_mean(to_snake(key), known)
    listed = f" (known: {', '.join(known)})" if known else ""
    return f"unknown key '{key}'{hint}{listed}"


def known_keys(model: type[BaseModel]) -> list[str]:
    """Return the keys of a model as a suite spells them."""
    return [
        f.alias if f.alias is not None and f.alias != to_camel(name) else name
        for name, f in model.model_fields.items()
    ]


def _shown(value: Any) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"

"""What is wrong with a suite, one finding each: file, line, row, key, and what to type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel, to_snake

from helix.checks.parts import Part
from helix.checks.window import Window
from helix.errors import SuiteError, did_you_mean
from helix.model.criterion import Criterion
from helix.registry import Registered
from helix.suite.mined import DISCOVERY_KEYS
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


@dataclass(frozen=True, slots=True)
class Nesting:
    """A `code_eval` as written, and the registered checks: which keys each check in it takes."""

    written: Mapping[str, Any]
    checks: Mapping[str, Registered]

    def models(self, steps: Sequence[str | int]) -> list[type[BaseModel]]:
        """Return the models whose keys may stand in the mapping at these steps."""
        written: Any = self.written
        found = self._taken(written)
        for step in steps:
            found = [below for model in found for below in _models_below(model, step)]
            written = _item(written, step)
            if Part in found and isinstance(written, Mapping):
                found = self._taken(written)
        return found

    def _taken(self, written: Mapping[str, Any]) -> list[type[BaseModel]]:
        entry = self.checks.get(str(written.get("primitive")))
        return [] if entry is None else [entry.item.params, Window]


def from_validation(
    error: ValidationError, model: type[BaseModel] | Nesting, source: Source,
    above: Sequence[str | int], row: str | None,
) -> Iterator[Finding]:  # fmt: skip
    """Translate what pydantic says into findings at the lines of the file.

    `model` is what was validated, `above` the steps to it from the file's root; keys are told from
    the row.
    """
    inside = 2 if above[:1] == ("criteria",) else 0
    for fault in error.errors(include_url=False):
        steps = (*above, *(step for step in fault["loc"] if _in_file(step)))
        key = source.spelled(steps, inside)
        text = _text(fault, model)
        yield Finding("error", row, source.line(*steps), key or None, text, source.file)


def known_keys(model: type[BaseModel]) -> list[str]:
    """Return the keys of a model as a suite spells them."""
    return [
        f.alias if f.alias is not None and f.alias != to_camel(name) else name
        for name, f in model.model_fields.items()
    ]


def _in_file(step: str | int) -> bool:
    return isinstance(step, int) or step.isidentifier()


def _text(fault: Any, model: type[BaseModel] | Nesting) -> str:
    kind, context, got = fault["type"], fault.get("ctx", {}), _shown(fault["input"])
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        above, key = [*filter(_in_file, fault["loc"][:-1])], fault["loc"][-1]
        taking = model.models(above) if isinstance(model, Nesting) else _models_at(model, above)
        return _unknown_key(str(key), taking)
    if kind == "literal_error":
        choices = re.findall(r"'([^']*)'", context["expected"])
        hint = did_you_mean(str(fault["input"]), choices)
        return f"must be {context['expected']} (got {got}){hint}"
    if kind == "value_error":
        return str(context["error"])
    if kind in _TYPES:
        return f"must be {_TYPES[kind]} (got {got})"
    message = fault["msg"]
    return f"{message[:1].lower()}{message[1:]} (got {got})"


def _unknown_key(key: str, models: Sequence[type[BaseModel]]) -> str:
    """Return what is said of a key that nobody takes; only the first model's keys are listed."""
    known = [name for model in models for name in known_keys(model)]
    if to_snake(key) in DISCOVERY_KEYS and Criterion in models:
        return "belongs under discovery, where a mined row keeps what it rests on"
    if to_snake(key) in known:
        return f"stands twice: as {to_snake(key)} and as {to_camel(to_snake(key))}; write one"
    listed = f" (known: {', '.join(known_keys(models[0]))})" if models else ""
    return f"unknown key '{key}'{did_you_mean(to_snake(key), known)}{listed}"


def _models_at(model: type[BaseModel], steps: Sequence[str | int]) -> list[type[BaseModel]]:
    """Return the model that the keys at these steps belong to, if one does."""
    found = [model]
    for step in steps:
        found = [below for above in found for below in _models_below(above, step)]
    return found


def _models_below(model: type[BaseModel], step: str | int) -> list[type[BaseModel]]:
    if isinstance(step, int):
        return [model]
    fields = {k: f for n, f in model.model_fields.items() for k in (n, f.alias)}
    below = _model_in(fields[step].annotation) if step in fields else None
    return [] if below is None else [below]


def _item(value: Any, step: str | int) -> Any:
    if isinstance(value, Mapping):
        spelled = {to_snake(str(key)): item for key, item in value.items()}
        return value.get(step, spelled.get(to_snake(str(step))))
    return value[step] if isinstance(value, list | tuple) and isinstance(step, int) else None


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((m for a in get_args(annotation) if (m := _model_in(a)) is not None), None)


def _shown(value: Any) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"

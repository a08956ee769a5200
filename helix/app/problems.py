"""What is wrong with a configuration, in words: what, where, what to type."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from helix.app import keys
from helix.errors import ConfigError, did_you_mean

WANTED = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "date_from_datetime_parsing": "a date, YYYY-MM-DD",
    "date_parsing": "a date, YYYY-MM-DD",
    "date_type": "a date, YYYY-MM-DD",
    "dict_type": "keys with values",
    "finite_number": "a finite number",
    "float_parsing": "a number",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "model_type": "keys with values",
    "string_type": "text (in YAML, in quotes)",
    "tuple_type": "a list",
}
BOUNDS = {
    "greater_than": ("above", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("below", "lt"),
    "less_than_equal": ("at most", "le"),
}
HINTS = {
    "subject.traces": "type subject.traces=PATH (a file, folder or glob; - reads standard input)",
    "criteria.file": "type criteria.file=SUITE.yaml",
}
FILES = {"criteria": "criteria.file", "subject": "subject.traces", "judge": "judge.script"}
_UNION_MEMBER = re.compile(r"str|tuple\[.*\]")


def report(problems: Iterable[str]) -> ConfigError:
    """Return one error that says every problem, each once."""
    listed = list(dict.fromkeys(problems))
    if len(listed) == 1:
        return ConfigError(listed[0])
    return ConfigError(f"{len(listed)} problems:" + "".join(f"\n  {text}" for text in listed))


def missing(key: str) -> str:
    """Return the sentence for a mandatory key without a value."""
    return f"{key} is missing: {HINTS.get(key, f'type {key}=VALUE')}"


def unknown_key(key: str) -> str:
    """Return the sentence for a key that no configuration has."""
    return f"unknown key '{key}'{keys.nearest(key)}"


def unknown_option(group: str, option: str, choices: Iterable[str]) -> str:
    """Return the sentence for a choice that a config group does not have."""
    listed = sorted(choices)
    hint = did_you_mean(option, listed)
    if group in FILES and "." in option:
        hint = f"; did you mean {FILES[group]}={option}?"
    return f"{group} must be one of {', '.join(listed)} (got '{option}'{hint})"


def of(error: ValidationError, typed: Sequence[str], choices: Mapping[str, str]) -> Iterator[str]:
    """Yield one sentence per fault.

    `typed` are the keys of the overrides and `choices` the options of the groups, to say where.
    """
    for key, group in itertools.groupby(error.errors(include_url=False), key=_key):
        faults = list(group)
        kind, got, where = faults[0]["type"], faults[0]["input"], _where(key, typed, choices)
        if kind == "extra_forbidden":
            yield unknown_key(key) + where
        elif kind == "missing":
            section, _, name = key.rpartition(".")
            yield f"{section} must have {name} (got {got!r}){where}"
        else:
            wanted = " or ".join(dict.fromkeys(map(_wanted, faults)))
            yield f"{key} must be {wanted} (got {got!r}){where}"


def _key(fault: Any) -> str:
    return ".".join(str(p) for p in fault["loc"] if not _UNION_MEMBER.fullmatch(str(p)))


def _wanted(fault: Any) -> str:
    kind, context = fault["type"], fault.get("ctx", {})
    if kind in WANTED:
        return WANTED[kind]
    if kind == "literal_error":
        return f"one of {str(context['expected']).replace(' or ', ', ')}"
    if kind in BOUNDS:
        words, name = BOUNDS[kind]
        return f"{words} {context[name]}"
    text = str(fault["msg"]).removeprefix("Value error, ")
    return text[0].lower() + text[1:]


def _where(key: str, typed: Sequence[str], choices: Mapping[str, str]) -> str:
    if any(key == word or key.startswith(f"{word}.") for word in typed):
        return ""
    files = [f"{g}={choices[g]}" for g in ("experiment", key.partition(".")[0]) if g in choices]
    return f", in a configuration file ({' or '.join(files)})" if files else ""

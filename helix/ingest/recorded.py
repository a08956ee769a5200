"""What exporters recorded of a span's input and output: values, or texts that spell them."""

from __future__ import annotations

from typing import Any

from helix.ingest.literals import python_object
from helix.ingest.spans import Span
from helix.model.jsontext import decode, decode_container


def opened(value: Any) -> Any:
    """Return the value that a text holds as JSON: an object, a list or a quoted text."""
    if not isinstance(value, str):
        return value
    if value[:1] == '"':
        try:
            inner, _ = decode(value)
        except ValueError:
            return value
        return inner if isinstance(inner, str) else value
    found = decode_container(value)
    return value if found is None else found


def put(span: Span, side: str, source: Any) -> None:
    """Set `input` or `output`: a text that spells an object or a list stays that text."""
    value = opened(source)
    if isinstance(value, str):
        setattr(span, f"{side}_text", value)
    elif isinstance(source, str):
        setattr(span, f"{side}_text", source)
    elif value is not None:
        setattr(span, side, value)


def put_arguments(span: Span, source: Any) -> None:
    """Set the input of a TOOL span: arguments alone in `input` are these, Python's print is read.

    A text that spells neither JSON nor a Python literal is an argument as it stands.
    """
    given = opened(source)
    alone = given["input"] if isinstance(given, dict) and given.keys() == {"input"} else None
    if isinstance(alone, str):
        read = python_object(alone)
        span.input = given if read is None else read
    elif isinstance(alone, dict):
        span.input = alone
    elif isinstance(given, str):
        read = python_object(given)
        span.input, span.free_text = (given, True) if read is None else (read, False)
    else:
        put(span, "input", source)


def number(value: Any) -> int | float | None:
    """Return a number, None for anything else."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None

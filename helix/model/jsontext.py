"""JSON as it is found in traces: fast when it is strict, exact when it is not.

msgspec decodes; where it refuses, the same text is read again by the standard parser, which
keeps lone surrogates and big numbers. A number that JSON does not have (NaN, Infinity, 1e999)
becomes a `NonFinite`: its literal text, so that it is never compared as a number and never
written as one. Of duplicate keys the last wins.
"""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec

_decoder = msgspec.json.Decoder()
_skipper = msgspec.json.Decoder(msgspec.Raw)
_again = 0


class NonFinite(str):
    """A number outside JSON's range, kept as its literal text."""

    __slots__ = ()


def decode(data: bytes | str) -> tuple[Any, bool]:
    """Return (value, strict); strict is False where a non-finite number was kept as its literal.

    Raises ValueError (with the position) for text that is not JSON, and for bytes not in UTF-8.
    """
    try:
        return _decoder.decode(data), True
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return _decode_again(data)


def decode_container(text: str) -> Any:
    """Return the object or list that the text spells, or None when it spells neither."""
    head = text.lstrip(" \t\r\n")[:1]
    if head not in ("{", "["):
        return None
    try:
        value, _ = decode(text)
    except ValueError:
        return None
    return value if isinstance(value, dict | list) else None


def is_plain(text: str) -> bool:
    """Whether a text is JSON without NaN, Infinity and lone surrogates; its values are not made."""
    try:
        _skipper.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return True


def decoded_again() -> int:
    """Return how many texts so far were JSON only for the exact parser.

    Only those can hold a `NonFinite` or a lone surrogate: where the figure stayed, there is none.
    """
    return _again


def _decode_again(data: bytes | str) -> tuple[Any, bool]:
    global _again
    strict = True

    def constant(literal: str) -> NonFinite:
        nonlocal strict
        strict = False
        return NonFinite(literal)

    def number(literal: str) -> float | NonFinite:
        value = float(literal)
        return value if math.isfinite(value) else constant(literal)

    text = data.decode("utf-8") if isinstance(data, bytes) else data
    try:
        value = json.loads(text, parse_constant=constant, parse_float=number, parse_int=_integer)
    except RecursionError:
        raise ValueError("nested too deeply to be read") from None
    _again += 1
    return value, strict


def _integer(literal: str) -> int:
    if len(literal) > 4000:
        raise ValueError(f"an integer of {len(literal)} digits is too long to be read")
    return int(literal)

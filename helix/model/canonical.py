"""The one JSON text and the one digest of a value, held by golden bytes in the tests.

Standard json, keys sorted, no NaN, not escaped to ASCII; a lone surrogate is written as its
backslash escape, so that every value that could be read can be digested (DESIGN “Contracts”).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

_encoder = json.JSONEncoder(
    sort_keys=True, allow_nan=False, ensure_ascii=False, separators=(",", ":")
)


def canonical_text(value: Any) -> str:
    """Return the canonical JSON text of a value; a non-finite float raises ValueError."""
    return _encoder.encode(value)


class Same:
    """A value as a key for caches: equal to itself alone, whether it can be hashed or not."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value


def constant_text(value: Any) -> str:
    """Return the canonical JSON text of a value that many share and nobody changes, made once."""
    return _text_of(Same(value))


@lru_cache(maxsize=64)
def _text_of(same: Same) -> str:
    return canonical_text(same.value)


def declared_text(value: Any) -> str:
    """Return the JSON text of a value that many share, its keys in the order of their declaration.

    For a reader, who answers in that order; a digest takes the canonical text.
    """
    return _declared(Same(value))


@lru_cache(maxsize=64)
def _declared(same: Same) -> str:
    return json.dumps(same.value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def canonical_bytes(value: Any) -> bytes:
    """Return the canonical JSON of a value as UTF-8."""
    return canonical_text(value).encode("utf-8", "backslashreplace")


def encoded(lines: Iterable[str]) -> bytes:
    """Return lines joined by newlines as UTF-8, a lone surrogate as its escape.

    Line by line, because one dash anywhere makes a joined text several times slower to encode.
    """
    return b"\n".join([line.encode("utf-8", "backslashreplace") for line in lines])


def digest(value: Any) -> str:
    """Return the SHA-256 of a value's canonical JSON, as 64 hex digits."""
    return hashlib.sha256(canonical_bytes(value)).hexdigest()


def digest_bytes(*parts: bytes) -> str:
    """Return the SHA-256 of parts framed by their lengths, so that no two lists of parts meet."""
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "big"))
        total.update(part)
    return total.hexdigest()


def source_digest(data: bytes) -> str:
    """Return the digest of a trace: SHA-256 of its source bytes."""
    return hashlib.sha256(data).hexdigest()

"""JSON that people exported: a document, a list in one, or JSON Lines, record by record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from helix.errors import LabelError
from helix.model.jsontext import decode

LARGEST = 512 * 1024 * 1024


def records(path: str) -> Iterator[tuple[int, Any]]:
    """Yield each record with its row: its line in JSON Lines, its place in a list, 1 alone.

    LabelError where the file cannot be read or is no JSON.
    """
    data = data_of(path)
    try:
        value, _ = decode(data)
    except ValueError as error:
        yield from _lines(path, data, error)
        return
    yield from enumerate(value if isinstance(value, list) else [value], 1)


def data_of(path: str) -> bytes:
    """Return a file's bytes without a byte order mark; LabelError where it is too large to hold."""
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise LabelError(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > LARGEST:
        raise LabelError(f"{path} must have at most {LARGEST:,} bytes: import it in parts")
    return data.removeprefix(b"\xef\xbb\xbf")


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list, and nothing of anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text_of(value: Any) -> str | None:
    """Return an id or a name as text; nothing where there is none."""
    if isinstance(value, str):
        return value.strip() or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _lines(path: str, data: bytes, whole: ValueError) -> Iterator[tuple[int, Any]]:
    lines = data.splitlines()
    for row, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield row, decode(line)[0]
        except ValueError as error:
            told = whole if len(lines) == 1 else error
            raise LabelError(f"{path}, row {row}: is no JSON ({told})") from None

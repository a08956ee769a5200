"""Label files: JSON Lines, one label each, read with every problem and written in one order."""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from pydantic import ValidationError

from helix.errors import LabelError
from helix.files import atomic_write
from helix.labels.record import Label, short
from helix.model.jsontext import decode
from helix.model.lines import encode_line

MOST_TOLD = 20
LONGEST_TOLD = 300
LONGEST_LINE = 16 * 1024 * 1024
BEGINNING = b'{"schemaVersion":'


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a row of a label file; rows count from 1, and 0 is the whole file.

    `torn` is a last line that begins as Helix writes one and has no end, as a crash leaves it.
    """

    file: str
    row: int
    text: str
    torn: bool = False

    def __str__(self) -> str:
        where = f"{self.file}, row {self.row}" if self.row else self.file
        text = self.text if len(self.text) <= LONGEST_TOLD else f"{self.text[:LONGEST_TOLD]}…"
        return f"{where}: {text}"


@dataclass(frozen=True, slots=True)
class Row:
    """A label and where it stands."""

    label: Label
    file: str
    row: int


@dataclass(frozen=True, slots=True)
class LabelFile:
    """What was read: the rows that are labels, and the problems of those that are none."""

    rows: tuple[Row, ...]
    problems: tuple[Problem, ...]


def read(paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> LabelFile:
    """Read one label file or several; LabelError where a file cannot be opened."""
    named = [paths] if isinstance(paths, str | os.PathLike) else paths
    found = [item for path in named for item in _read(os.fspath(path))]
    return LabelFile(
        tuple(item for item in found if isinstance(item, Row)),
        tuple(item for item in found if isinstance(item, Problem)),
    )


def write(path: str | os.PathLike[str], labels: Iterable[Label]) -> None:
    """Write a whole label file at once, in the order of trace, criterion and rater."""
    atomic_write(path, b"".join(map(encode, ordered(labels))))


def ordered(labels: Iterable[Label]) -> list[Label]:
    """Return labels in the order in which a file holds them."""
    return sorted(labels, key=lambda label: (label.trace, label.criterion, label.rater))


def encode(label: Label) -> bytes:
    """Return a label as its line, newline included; what it does not say is left out."""
    plain = label.model_dump(by_alias=True, exclude_defaults=True)
    return encode_line({"schemaVersion": label.schema_version, **plain}) + b"\n"


def raise_problems(problems: Sequence[Problem]) -> None:
    """Raise one LabelError that tells the problems, each with file and row."""
    if not problems:
        return
    told = [str(problem) for problem in problems[:MOST_TOLD]]
    if len(problems) > MOST_TOLD:
        told.append(f"and {len(problems) - MOST_TOLD:,} more")
    head = f"{len(problems):,} problems in the labels:\n  " if len(problems) > 1 else ""
    raise LabelError(head + "\n  ".join(told))


def wrong(error: ValidationError) -> Iterator[str]:
    """Yield what is wrong with a record, one sentence for each of its keys."""
    for fault in error.errors():
        key = ".".join(map(str, fault["loc"])) or "a label"
        given = fault["input"]
        if fault["type"] == "missing":
            yield f"{key} is missing"
        elif fault["type"] == "extra_forbidden":
            yield f"a label has no key '{key}' (known: {', '.join(_keys())})"
        elif fault["type"] == "value_error":
            yield f"{key} {fault['ctx']['error']}"
        elif fault["type"] == "string_too_short":
            yield f"{key} must not be empty"
        elif fault["type"] == "string_too_long":
            yield f"{key} must have at most {fault['ctx']['max_length']:,} characters"
        elif fault["type"] == "literal_error":
            choices = fault["ctx"]["expected"].replace("'", "")
            yield f"{key} must be {choices} (got {short(given)})"
        else:
            yield f"{key} must be {_wanted(fault['type'])} (got {short(given)})"


def _read(path: str) -> Iterator[Row | Problem]:
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(_lines(file), 1):
                data = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if len(data) > LONGEST_LINE:
                    yield Problem(path, number, f"is longer than {LONGEST_LINE:,} bytes")
                elif data.strip():
                    yield from _row(path, number, data)
    except OSError as error:
        raise LabelError(f"{path} cannot be read: {error.strerror}") from None


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield each line; of one that is longer than any label, no more than shows that it is."""
    while line := file.readline(LONGEST_LINE + 4):
        yield line
        while not line.endswith(b"\n") and (line := file.readline(LONGEST_LINE)):
            pass


def _row(path: str, number: int, data: bytes) -> Iterator[Row | Problem]:
    try:
        value, strict = decode(data)
    except ValueError as error:
        endless = not data.endswith(b"\n")
        cut = "; the line has no end, so it may be cut off" if endless else ""
        torn = endless and data.startswith(BEGINNING[: len(data)])
        yield Problem(path, number, f"is no JSON ({error}){cut}", torn)
        return
    if not isinstance(value, dict):
        yield Problem(path, number, f"must be an object (got {short(value)})")
        return
    if not strict:
        yield Problem(path, number, "must not hold NaN or Infinity, which are no JSON")
        return
    for key in _repeated(data):
        yield Problem(path, number, f"{key} must be said once (got it twice)")
        return
    try:
        yield Row(Label.model_validate(value), path, number)
    except ValidationError as error:
        for text in wrong(error):
            yield Problem(path, number, text)


def _repeated(data: bytes) -> list[str]:
    """Return the keys that an object of a line says twice, of which no parser's choice is right."""
    found: list[str] = []

    def seen(pairs: list[tuple[str, Any]]) -> None:
        counts = Counter(key for key, _ in pairs)
        found.extend(short(key) for key, count in counts.items() if count > 1)

    with contextlib.suppress(ValueError, RecursionError):
        json.loads(data, object_pairs_hook=seen)
    return found


def _keys() -> list[str]:
    return [field.alias or name for name, field in Label.model_fields.items()]


def _wanted(kind: str) -> str:
    if kind.startswith("string"):
        return "a text"
    return "a list" if kind.startswith(("tuple", "list")) else "an object"

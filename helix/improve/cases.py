"""The cases of a loop: ids as they are typed, or the rows of a JSONL or CSV file of inputs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from helix.errors import ConfigError
from helix.files import is_file
from helix.ingest import normalised_id
from helix.model.trace import Trace
from helix.registry import Case

FIX = "add improve.cases=CASES.jsonl, or improve.cases=[ID,ID]"


def read_cases(cases: str | Sequence[str] | None) -> tuple[Case, ...]:
    """Return the cases in their order; ConfigError says what is wrong, by file and line."""
    words = [cases] if isinstance(cases, str) else list(cases or ())
    if not words:
        raise ConfigError(f"improve.cases must name cases (got nothing): {FIX}")
    one = words[0] if len(words) == 1 else ""
    if is_file(one):
        rows = list(_csv(Path(one)) if one.lower().endswith(".csv") else _jsonl(Path(one)))
    elif one.lower().endswith((".jsonl", ".ndjson", ".csv", ".json")):
        raise ConfigError(f"improve.cases: there is no file {one}")
    else:
        rows = [(f"improve.cases[{at}]", {"id": word}) for at, word in enumerate(words)]
    found: dict[str, Case] = {}
    for where, row in rows:
        case = normalised_id(row.get("id"))
        if case is None:
            raise ConfigError(f"{where}: id must be a text or a number (got {row.get('id')!r:.40})")
        if case in found:
            raise ConfigError(f"{where}: id must be there once (got '{case}' again)")
        found[case] = Case(case, {**row, "id": case})
    if not found:
        raise ConfigError(f"improve.cases: {one} holds no case")
    return tuple(found.values())


def case_of(trace: Trace, cases: Collection[str]) -> str | None:
    """Return the case that a trace which somebody recorded is of: by its task, its id, its file."""
    names = (trace.task, trace.id, Path(trace.source.file).name.partition(".")[0])
    return next((name for name in names if name is not None and name in cases), None)


def _jsonl(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            json.dumps(row, allow_nan=False)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{path}:{number} must be one JSON object: {error}") from None
        if not isinstance(row, dict):
            raise ConfigError(f"{path}:{number} must be a JSON object (got {line[:40]})")
        yield f"{path}:{number}", row


def _csv(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    reader = csv.DictReader(io.StringIO(_text(path), newline=""))
    if "id" not in (reader.fieldnames or ()):
        raise ConfigError(f"{path}:1 must have a column id (got {reader.fieldnames})")
    try:
        for row in reader:
            yield f"{path}:{reader.line_num}", {k: v for k, v in row.items() if k is not None}
    except csv.Error as error:
        raise ConfigError(f"{path}:{reader.line_num + 1} must be rows of CSV: {error}") from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"improve.cases: {path} cannot be read: {error}") from None

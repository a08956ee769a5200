"""Claude Code sessions: JSON Lines of records, or `{loglines: […]}`; a file is one session.

Records that share `message.id` are one message and its last usage counts; a repeated uuid counts
once. The file's order decides, since timestamps go backwards. A message's id is its first
record's uuid, or `m` and its line. A file that holds sub-agent records alone is that sub-agent's
session, `<sessionId>/agent-<agentId>`; among others they are an AGENT observation, in the call
that started it. A user's rejection is an error that the source declares, with status `rejected`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from helix.errors import FormatError
from helix.ingest.detection import describe
from helix.ingest.formats.claude_code_session import NAME, Line, Session
from helix.model.manifest import LoadFailure
from helix.model.trace import Trace
from helix.registry import Format, Match, Record

SPECIFICITY: Final = 3
_SPOKEN = ("user", "assistant")
_PLACED = frozenset({"uuid", "parentUuid", "sessionId", "isSidechain", "timestamp"})
_ALONE: Final[Mapping[str, str]] = {
    "summary": "summary",
    "file-history-snapshot": "snapshot",
    "queue-operation": "operation",
}


def detect(value: Any) -> Match | None:
    """Recognise a record by its type and what a session adds to it, or a list of loglines."""
    if not isinstance(value, dict):
        return None
    lines = value.get("loglines")
    if isinstance(lines, list) and any(map(_kind, lines[:8])):
        return Match("loglines[] of session records", specificity=SPECIFICITY)
    kind = _kind(value)
    return Match(f"a session record of type {kind}", specificity=SPECIFICITY) if kind else None


def _kind(value: Any) -> str | None:
    """Return a record's type, or None for what is no record of a session."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return None
    kind: str = value["type"]
    if kind in _SPOKEN:
        told = isinstance(value.get("message"), dict) and bool(value.keys() & _PLACED)
    elif kind in _ALONE:
        told = _ALONE[kind] in value
    else:
        told = {"sessionId", "uuid"} <= value.keys() or "parentUuid" in value
    return kind if told else None


def read(records: Sequence[Record]) -> Iterator[Trace | LoadFailure]:
    """Read the records of a file as one session; a bad one is a failure, the others stay."""
    good: list[Line] = []
    for record, name, value in _lines(records):
        fault = _fault(value)
        if fault is None:
            good.append(Line(name, value))
        else:
            yield _failure(record, fault)
    if not good:
        return
    session = Session(good, records)
    places = {name: record for record, name, _ in _lines(records)}
    for line in good:
        try:
            session.read(line)
        except FormatError as error:
            yield _failure(places[line.name], str(error))
    yield session.finish()


def _lines(records: Sequence[Record]) -> Iterator[tuple[Record, str, Any]]:
    for record in records:
        value = record.value
        if isinstance(value, dict) and isinstance(value.get("loglines"), list):
            for at, line in enumerate(value["loglines"]):
                yield record, f"m{at}", line
        else:
            yield record, f"m{record.line}", value


def _fault(value: Any) -> str | None:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return f"a record must be an object with a type (got {describe(value)})"
    if value["type"] in _SPOKEN:
        message = value.get("message")
        if not isinstance(message, dict) or not isinstance(message.get("content"), str | list):
            return f"a record of type {value['type']} must hold a message with content"
    return None


def _failure(record: Record, reason: str) -> LoadFailure:
    return LoadFailure(file=record.file, line=record.line, reason=f"{NAME}: {reason}")


FORMAT = Format(NAME, "1", detect, read, whole_file=True)

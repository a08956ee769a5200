"""Scores of Langfuse: an export of scores, the API's pages of them, or traces with their scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from helix.labels.sources.documents import objects, records, text_of

PERSON = "ANNOTATION"


def read(path: str) -> Iterator[Mapping[str, Any]]:
    """Read scores of Langfuse: an export, the API's pages of them, or traces with their scores.

    A score's name is its key. A boolean's value is true or false, a category's its text. People's
    scores have the source ANNOTATION; API may be anybody's, EVAL is a model's. A score of a session
    or a dataset run is about no trace.
    """
    for row, record in records(path):
        for score in _scores(record):
            yield {"row": row, **_found(score)}


def _scores(record: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(record, dict):
        return
    if "name" in record and "value" in record and "observations" not in record:
        yield record
        return
    inner = record.get("trace")
    trace = inner if isinstance(inner, dict) else record
    for score in [*objects(record.get("scores")), *objects(inner and trace.get("scores"))]:
        yield {"traceId": trace.get("id"), **score}
    for score in objects(record.get("data")):
        yield from _scores(score)


def _found(score: Mapping[str, Any]) -> dict[str, Any]:
    source = score.get("source")
    return {
        "trace": text_of(score.get("traceId")),
        "key": text_of(score.get("name")),
        "value": _value(score),
        "note": text_of(score.get("comment")),
        "rater": text_of(score.get("authorUserId")),
        "when": text_of(score.get("timestamp")),
        "by": source,
        "human": source == PERSON,
    }


def _value(score: Mapping[str, Any]) -> Any:
    kind, value = score.get("dataType"), score.get("value")
    if kind == "BOOLEAN" and value in (0, 1):
        return bool(value)
    spelled = score.get("stringValue")
    return spelled if spelled is not None and kind != "NUMERIC" else value

"""Feedback of LangSmith: a list of feedback records, or JSON Lines of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from helix.labels.sources.documents import objects, records, text_of

PERSON = "app"


def read(path: str) -> Iterator[Mapping[str, Any]]:
    """Read feedback records of LangSmith, as a list or JSON Lines.

    The value is `value` where there is one, else `score`. What people gave in the app has the
    source type app; api may be anybody's, model is a model's.
    """
    for row, record in records(path):
        for feedback in _feedback(record):
            yield {"row": row, **_found(feedback)}


def _feedback(record: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(record, dict):
        return
    if "key" in record and ("score" in record or "value" in record):
        yield record
        return
    for name in ("feedback", "feedbacks"):
        yield from objects(record.get(name))


def _found(feedback: Mapping[str, Any]) -> dict[str, Any]:
    told = feedback.get("feedback_source")
    source: Mapping[str, Any] = told if isinstance(told, dict) else {}
    value = feedback.get("value")
    return {
        "trace": text_of(feedback.get("trace_id")) or text_of(feedback.get("run_id")),
        "key": text_of(feedback.get("key")),
        "value": feedback.get("score") if value is None else value,
        "note": text_of(feedback.get("comment")),
        "rater": text_of(source.get("user_id")),
        "when": text_of(feedback.get("modified_at")) or text_of(feedback.get("created_at")),
        "by": source.get("type"),
        "human": source.get("type") == PERSON,
    }

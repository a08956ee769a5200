"""OpenAI Responses: an answer of the API, `{object: response, output}`, or a list of its items.

What the agent was given stands in `input` (text or items) where the record has it, and in
`instructions`. Items keep their ids; one without is `m` and its position. An answer that was
still being made when it was recorded is flagged `truncated`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from helix.errors import FormatError
from helix.ingest.conversation import Conversation
from helix.ingest.formats.openai_chat import ID_KEYS
from helix.ingest.formats.response_items import Items, is_item
from helix.ingest.identity import normalised_id
from helix.ingest.leakage import split
from helix.model.canonical import source_digest
from helix.model.trace import Source, Trace
from helix.registry import Format, Match, Record

SPECIFICITY = 2
HOLDERS = ("output", "items", "data")
_FOREIGN = frozenset(
    {"observations", "schemaVersion", "trace_id", "traceId", "spans", "messages", "run_type"}
)
_UNFINISHED = ("in_progress", "queued")
_READ = frozenset({"input", "output", "items", "data", "instructions", "tools", "text"})


def detect(value: Any) -> Match | None:
    """Recognise an answer of the API by its object and output, items by their types."""
    if isinstance(value, dict):
        return _detect_one(value)
    if not isinstance(value, list) or not value:
        return None
    if isinstance(value[0], dict) and _detect_one(value[0]):
        return Match("a list of responses", specificity=SPECIFICITY)
    if _are_items(value):
        return Match("a list of Responses items", True, SPECIFICITY)
    return None


def _detect_one(value: Mapping[str, Any]) -> Match | None:
    if value.get("object") == "response" and isinstance(value.get("output"), list):
        return Match("object response with output[]", specificity=SPECIFICITY)
    if not value.keys() & _FOREIGN:
        for key in (*HOLDERS, "input"):
            if _are_items(value.get(key)):
                return Match(f"{key}[] of Responses items", specificity=SPECIFICITY + 1)
    return None


def _are_items(value: Any) -> bool:
    """Whether a list holds items only, one at least that chat messages do not have."""
    if not isinstance(value, list) or not value:
        return False
    typed = [item for item in value if not (isinstance(item, dict) and "type" not in item)]
    plain = [item for item in value if isinstance(item, dict) and "type" not in item]
    return (
        bool(typed)
        and all(map(is_item, typed))
        and all("role" in item and "content" in item for item in plain)
    )


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Read each record as one answer or one list of items."""
    for record in records:
        yield _answer(record)


def _answer(record: Record) -> Trace:
    envelope = {"items": record.value} if isinstance(record.value, list) else record.value
    if not isinstance(envelope, dict):
        raise FormatError("a response must be an object with output, or a list of items")
    lists = [envelope.get(key) for key in HOLDERS]
    if not any(isinstance(items, list) for items in [*lists, envelope.get("input")]):
        raise FormatError("a response must have a list 'output' or 'items'")
    rest, labels = split({key: item for key, item in envelope.items() if key not in _READ})
    source = Source(record.file, record.line, "openai_responses", source_digest(record.data))
    talk = Conversation(
        source, next((i for k in ID_KEYS if (i := normalised_id(rest.get(k)))), None)
    )
    items = Items(talk)
    _given(talk, items, envelope)
    at = len(envelope["input"]) if isinstance(envelope.get("input"), list) else 0
    for found in lists:
        for item in found if isinstance(found, list) else ():
            items.read(item, f"m{at}")
            at += 1
    metadata = rest.pop("metadata", None) or {}
    if not isinstance(metadata, dict):
        rest["metadata"], metadata = metadata, {}
    rest |= {key: envelope[key] for key in ("tools", "text") if envelope.get(key)}
    return talk.finish(
        metadata=metadata,
        labels=labels,
        usage=usage_of(envelope.get("usage")),
        flags=("truncated",) if envelope.get("status") in _UNFINISHED else (),
        raw=lambda: left_over(rest, items, talk),
    )


def _given(talk: Conversation, items: Items, envelope: Mapping[str, Any]) -> None:
    instructions, given = envelope.get("instructions"), envelope.get("input")
    if isinstance(instructions, str):
        talk.say("instructions", "system", instructions)
    for at, item in enumerate(instructions if isinstance(instructions, list) else ()):
        items.read(item, f"instructions[{at}]")
    if isinstance(given, str):
        talk.say("input", "user", given)
    for at, item in enumerate(given if isinstance(given, list) else ()):
        items.read(item, f"m{at}")


def usage_of(usage: Any) -> dict[str, Any]:
    """Return tokens read and written, where they are told."""
    if not isinstance(usage, Mapping):
        return {}
    named = {
        "promptTokens": usage.get("input_tokens"),
        "completionTokens": usage.get("output_tokens"),
    }
    return {key: n for key, n in named.items() if isinstance(n, int) and not isinstance(n, bool)}


def left_over(rest: Mapping[str, Any], items: Items, talk: Conversation) -> dict[str, Any]:
    """Return the envelope; `items`, per item what it lacks; `results`, where each stood."""
    results = {done: name for name, (done, _) in talk.results.items()}
    told = {"items": items.kept, "results": results}
    return {
        **{key: value for key, value in rest.items() if value is not None},
        **{key: value for key, value in told.items() if value},
    }


FORMAT = Format("openai_responses", "1", detect, read)

"""The events of an Inspect sample: what is the run's, what the scorers', what only repeats."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from helix.ingest.identity import normalised_id
from helix.ingest.leakage import is_label
from helix.ingest.leftover import texts
from helix.ingest.times import nanoseconds

SCORING: Final = ("scorers", "scorer")
ATTACHED: Final = re.compile(r"(?:attachment|tc)://([0-9a-fA-F]{8,128})")

Json = dict[str, Any]


@dataclass(slots=True)
class Parts:
    """What a sample holds, sorted: messages with attachments in their places, tool and model
    events of the run, the times of calls by id, what is kept for `raw`, what is a label."""

    messages: list[Json] = field(default_factory=list)
    attachments: dict[str, str] = field(default_factory=dict)
    tools: list[Json] = field(default_factory=list)
    models: list[Json] = field(default_factory=list)
    times: dict[str, tuple[int | None, int | None]] = field(default_factory=dict)
    kept: Json = field(default_factory=dict)
    labels: Json = field(default_factory=dict)


def parts_of(sample: Json) -> Parts:
    """Sort what a sample holds."""
    attachments, events = _events(sample)
    run, scored = _sorted(events)
    pool = _pool(sample)
    parts = Parts(attachments=attachments)
    for event in _flat(run):
        if event.get("event") == "tool":
            parts.tools.append(resolved(event, attachments))
            _time(event, parts.times)
        elif event.get("event") == "model":
            parts.models.append(event)
    parts.messages = _messages(sample, parts.models, pool, attachments)
    kept: Json = {"events": run, "message_pool": pool, "call_pool": _calls(sample)}
    cited = _cited([kept, sample.get("messages"), sample.get("output"), sample.get("input"),
                    sample.get("store"), sample.get("metadata")])  # fmt: skip
    graded = _cited(scored) - cited
    kept["attachments"] = {k: v for k, v in attachments.items() if k not in graded}
    parts.kept = {key: value for key, value in kept.items() if value}
    held = {
        "events": scored,
        "attachments": {k: attachments[k] for k in sorted(graded) if k in attachments},
    }
    parts.labels = {key: value for key, value in held.items() if value}
    return parts


def resolved(value: Any, attachments: Mapping[str, str]) -> Any:
    """Return a value with the attachments in the places that name them; unknown names stay."""
    if isinstance(value, str):
        named = ATTACHED.fullmatch(value)
        return attachments.get(named.group(1), value) if named else value
    if isinstance(value, list):
        return [resolved(item, attachments) for item in value]
    if isinstance(value, dict):
        return {key: resolved(item, attachments) for key, item in value.items()}
    return value


def _events(sample: Json) -> tuple[dict[str, str], list[Json]]:
    """Return the attachments and events of a sample; before 2024-10-20 both are a `transcript`."""
    older = sample.get("transcript")
    older = older if isinstance(older, dict) else {}
    events = sample.get("events") or older.get("events") or []
    attachments = sample.get("attachments") or older.get("content") or {}
    texts = attachments.items() if isinstance(attachments, dict) else ()
    return (
        {str(k): v for k, v in texts if isinstance(v, str)},
        [e for e in events if isinstance(e, dict)] if isinstance(events, list) else [],
    )


def _pool(sample: Json) -> list[Any]:
    data = sample.get("events_data")
    pool = data.get("messages") if isinstance(data, dict) else sample.get("message_pool")
    return pool if isinstance(pool, list) else []


def _calls(sample: Json) -> list[Any]:
    data = sample.get("events_data")
    pool = data.get("calls") if isinstance(data, dict) else None
    return pool if isinstance(pool, list) else []


def _sorted(events: list[Json]) -> tuple[list[Json], list[Json]]:
    """Return (the run's events, the scorers'): by span, in older logs by step."""
    scoring: set[str | None] = set()
    run: list[Json] = []
    scored: list[Json] = []
    depth = 0
    for event in events:
        kind, action = event.get("event"), event.get("action")
        named, parent, span = (normalised_id(event.get(k)) for k in ("id", "parent_id", "span_id"))
        begins = event.get("type") in SCORING
        if kind == "span_begin" and named is not None and (begins or parent in scoring):
            scoring.add(named)
        if kind == "step" and action == "begin" and (depth or begins):
            depth += 1
        if depth or kind in ("score", "score_edit") or span in scoring or named in scoring:
            scored.append(event)
        else:
            left, held = _without_labels(event)
            run.append(left)
            scored += [held] if held else []
        if depth and kind == "step" and action == "end":
            depth -= 1
    return run, scored


def _without_labels(event: Json) -> tuple[Json, Json]:
    """Return an event of the run without the target and scores that it shows."""
    left, held = dict(event), {}
    sample = event.get("sample")
    if isinstance(sample, dict):
        held = {k: v for k, v in sample.items() if k == "target" or is_label(k)}
        left["sample"] = {k: v for k, v in sample.items() if k not in held}
    changes = event.get("changes")
    if isinstance(changes, list):
        told = [c for c in changes if isinstance(c, dict) and _is_scoring(c.get("path"))]
        if told:
            left["changes"] = [c for c in changes if c not in told]
            held["changes"] = told
    return left, held


def _is_scoring(path: Any) -> bool:
    steps = str(path).split("/")
    return len(steps) > 1 and (steps[1] == "target" or is_label(steps[1]))


def _flat(events: list[Json]) -> Iterator[Json]:
    pending = list(reversed(events))
    while pending:
        event = pending.pop()
        yield event
        inside = event.get("events")
        if isinstance(inside, list):
            pending += [e for e in reversed(inside) if isinstance(e, dict)]


def _time(event: Json, times: dict[str, tuple[int | None, int | None]]) -> None:
    key = event.get("id")
    if isinstance(key, str):
        span = (nanoseconds(event.get("timestamp")), nanoseconds(event.get("completed")))
        # An id that was used twice says nothing of when.
        times[key] = (None, None) if key in times else span


def _messages(
    sample: Json, models: list[Json], pool: list[Any], attachments: Mapping[str, str]
) -> list[Json]:
    """Return the sample's messages; where there are none, those of its last model call."""
    found = sample.get("messages")
    if not found and models:
        found = [*_input(models[-1], pool), *_answer(models[-1])]
    if not isinstance(found, list):
        return []
    return [resolved(m, attachments) for m in found if isinstance(m, dict)]


def _input(event: Json, pool: list[Any]) -> list[Any]:
    given = event.get("input")
    heard = list(given) if isinstance(given, list) else []
    refs = event.get("input_refs")
    for ref in refs if isinstance(refs, list) else ():
        if isinstance(ref, list) and len(ref) == 2 and all(isinstance(n, int) for n in ref):
            heard += pool[max(ref[0], 0) : max(ref[1], 0)]
    return heard


def _answer(event: Json) -> list[Any]:
    output = event.get("output")
    choices = output.get("choices") if isinstance(output, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return [message] if isinstance(message, dict) else []


def _cited(value: Any) -> set[str]:
    """Return the attachments that a value names."""
    return {name for text in texts(value) if "://" in text for name in ATTACHED.findall(text)}

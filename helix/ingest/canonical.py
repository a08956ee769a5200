"""The canonical record (`Trace.to_dict`) read back: what Helix JSONL holds.

Only the keys of the trace are read; others are kept under `raw`, those that name ground truth
under `labels`. Ids and `seq` may be left out: the arrays are ordered, times (where every
observation has one) come before that, and a message comes before the observations that it names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from helix.errors import FormatError
from helix.ingest.detection import describe
from helix.ingest.identity import Ids, derived_id, normalised_id
from helix.ingest.leakage import is_label
from helix.ingest.ordering import Entry, Order, arrange, parent_flags
from helix.ingest.pairing import arguments
from helix.model.trace import TOOL, TRACE_SCHEMA_VERSION, Message, Observation, Source, Trace

TRACE_KEYS: Final = frozenset(
    {
        "schemaVersion", "id", "route", "task", "metadata", "flags", "input", "output",
        "observations", "transcript", "usage", "labels", "raw",
    }
)  # fmt: skip
SUBSTANCE: Final = frozenset({"input", "observations", "output", "transcript"})
OBSERVATION_KEYS: Final = frozenset(
    {
        "id", "seq", "type", "name", "input", "inputText", "output", "outputText", "error",
        "level", "status", "startTime", "endTime", "parentId", "flags",
    }
)  # fmt: skip
MESSAGE_KEYS: Final = frozenset({"id", "seq", "role", "text", "observationIds", "control"})


def from_dict(record: Any, source: Source) -> Trace:
    """Return the trace of a canonical record; raise FormatError that names the field at fault."""
    if not isinstance(record, dict) or not record.keys() & SUBSTANCE:
        raise FormatError(
            f"a trace must be an object with {', '.join(sorted(SUBSTANCE))} or several of them "
            f"(got {describe(record)})"
        )
    _check_version(record.get("schemaVersion"))
    found = normalised_id(record.get("id"))
    trace_id = found or derived_id(source.digest)
    flags = [*_texts(record, "flags", ""), *([] if found else ["derived-id"])]
    said, done = _objects(record, "transcript"), _objects(record, "observations")
    unread, labels = _unread(record, said, done)
    ids = Ids(trace_id)
    order, strange = _order(said, done)
    transcript = [_message(m, i, order.messages[i], ids, flags) for i, m in enumerate(said)]
    observations = [
        _observation(o, i, order.observations[i], ids, strange[i]) for i, o in enumerate(done)
    ]
    trace = Trace(
        id=trace_id,
        source=source,
        input=record.get("input"),
        output=record.get("output"),
        observations=sorted(observations, key=lambda o: o.seq),
        transcript=sorted(transcript, key=lambda m: m.seq),
        route=_text(record, "route", ""),
        metadata=_object(record, "metadata"),
        usage=_object(record, "usage"),
        flags=tuple(dict.fromkeys(flags)),
        labels={**_object(record, "labels"), **labels},
        task=normalised_id(record.get("task")),
    )
    raw = record.get("raw")
    trace.raw = (
        raw if not unread else {**(raw if isinstance(raw, dict) else {"raw": raw}), **unread}
    )
    return trace


def _check_version(version: Any) -> None:
    if version is None:
        return
    major = TRACE_SCHEMA_VERSION.partition(".")[0]
    if not isinstance(version, str) or version.partition(".")[0] != major:
        raise FormatError(f"schemaVersion must be {major}.x (got {version!r})")


def _order(said: list[dict[str, Any]], done: list[dict[str, Any]]) -> tuple[Order, list[list[str]]]:
    """Return the order, and per observation the flags that its place gives it."""
    messages = [_entry(m, f"transcript[{i}]") for i, m in enumerate(said)]
    observations = [_entry(o, f"observations[{i}]") for i, o in enumerate(done)]
    order = arrange(messages, observations)
    known = frozenset(e.id for e in [*messages, *observations] if e.id is not None)
    orphans = parent_flags(observations, known)
    flags: list[list[str]] = []
    for at in range(len(done)):
        uncertain = ["ambiguous-order"] if at in order.uncertain else []
        flags.append([*uncertain, *([orphans[at]] if at in orphans else [])])
    return order, flags


def _entry(holder: Mapping[str, Any], where: str) -> Entry:
    return Entry(
        where,
        normalised_id(holder.get("id")),
        _integer(holder, "seq", where),
        _integer(holder, "startTime", where),
        normalised_id(holder.get("parentId")),
        _texts(holder, "observationIds", where),
    )


def _message(
    holder: Mapping[str, Any], at: int, seq: int, ids: Ids, trace_flags: list[str]
) -> Message:
    where = f"transcript[{at}]"
    taken, repeated = ids.take(normalised_id(holder.get("id")) or f"m{at}")
    if repeated:
        trace_flags.append("duplicate-id")
    control = holder.get("control")
    if control not in (None, True, False):
        raise _wrong(where, "control", "true or false", control)
    return Message(
        taken,
        seq,
        _text(holder, "role", where, needed=True) or "",
        _text(holder, "text", where) or "",
        _texts(holder, "observationIds", where),
        control=bool(control),
    )


def _observation(
    holder: Mapping[str, Any], at: int, seq: int, ids: Ids, flags: list[str]
) -> Observation:
    where = f"observations[{at}]"
    taken, repeated = ids.take(normalised_id(holder.get("id")) or f"o{at}")
    flags = [*_texts(holder, "flags", where), *flags, *(["duplicate-id"] if repeated else [])]
    kind = _text(holder, "type", where) or TOOL
    parts = {**_input(holder, where, kind, flags), **_output(holder, where)}
    error = holder.get("error")
    return Observation(
        taken,
        seq,
        _text(holder, "name", where, needed=True) or "",
        kind,
        error=error if error is None or isinstance(error, str) else json.dumps(error),
        level=_text(holder, "level", where),
        status=_text(holder, "status", where),
        start_time=_integer(holder, "startTime", where),
        end_time=_integer(holder, "endTime", where),
        parent_id=normalised_id(holder.get("parentId")),
        flags=tuple(dict.fromkeys(flags)),
        **parts,
    )


def _input(holder: Mapping[str, Any], where: str, kind: str, flags: list[str]) -> dict[str, Any]:
    """Arguments as the source spells them; a recorded decoded value is taken as it stands."""
    value, text = holder.get("input"), _text(holder, "inputText", where)
    if text is not None and value is not None:
        return {"input": value, "input_text": text}
    if kind != TOOL:
        return {"input": value, "input_text": text} if text is None else {"input_text": text}
    decoded, spelled, valid = arguments(value if text is None else text)
    if not valid and "invalid-arguments" not in flags:
        flags.append("invalid-arguments")
    return {"input": decoded, "input_text": spelled}


def _output(holder: Mapping[str, Any], where: str) -> dict[str, Any]:
    value, text = holder.get("output"), _text(holder, "outputText", where)
    if isinstance(value, str) and text is None:
        return {"output_text": value}
    if value is None:
        return {"output_text": text}
    return {"output": value, "output_text": text}


def _unread(
    record: Mapping[str, Any], said: list[dict[str, Any]], done: list[dict[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (what goes to raw, what goes to labels) of the keys that no field reads."""
    strange = {key: value for key, value in record.items() if key not in TRACE_KEYS}
    labels = {key: value for key, value in strange.items() if is_label(key)}
    unread = {key: value for key, value in strange.items() if key not in labels}
    for name, holders, keys in (
        ("transcript", said, MESSAGE_KEYS),
        ("observations", done, OBSERVATION_KEYS),
    ):
        for at, holder in enumerate(holders):
            extra = {key: value for key, value in holder.items() if key not in keys}
            if extra:
                unread[f"{name}[{at}]"] = extra
    return unread, labels


def _objects(holder: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    value = _typed(holder, key, "", list, "a list of objects") or []
    for at, item in enumerate(value):
        if not isinstance(item, dict):
            raise FormatError(f"{key}[{at}] must be an object (got {_told(item)})")
    return value


def _object(holder: Mapping[str, Any], key: str) -> dict[str, Any]:
    return _typed(holder, key, "", dict, "an object") or {}


def _texts(holder: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    value = _typed(holder, key, where, list, "a list of text") or []
    if not all(isinstance(item, str) for item in value):
        raise _wrong(where, key, "a list of text", value)
    return tuple(value)


def _text(holder: Mapping[str, Any], key: str, where: str, *, needed: bool = False) -> str | None:
    value: str | None = _typed(holder, key, where, str, "text")
    if needed and value is None:
        raise _wrong(where, key, "text", value)
    return value


def _integer(holder: Mapping[str, Any], key: str, where: str) -> int | None:
    value = holder.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise _wrong(where, key, "an integer", value)
    return value


def _typed(holder: Mapping[str, Any], key: str, where: str, kind: type, told: str) -> Any:
    value = holder.get(key)
    if value is not None and not isinstance(value, kind):
        raise _wrong(where, key, told, value)
    return value


def _wrong(where: str, key: str, wanted: str, value: Any) -> FormatError:
    at = f"{where}.{key}" if where else key
    return FormatError(f"{at} must be {wanted} (got {_told(value)})")


def _told(value: Any) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"

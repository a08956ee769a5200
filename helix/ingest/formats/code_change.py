"""A code change to be judged: what was asked for, what was wrong, and the diff (METHOD 38).

{id, spec, diff, diagnosis?}. Each hunk is an observation of type HUNK, named by its file, with its
lines in `input` and its text in `output`, so that a ref cites a line of a file. What is said of a
file besides (renamed, made, removed, binary, a new mode) is one of type FILE. The whole is not
shown a second time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from helix.errors import FormatError
from helix.ingest.hunks import Part, parts_of
from helix.ingest.identity import derived_id, normalised_id
from helix.ingest.leakage import split
from helix.model.canonical import source_digest
from helix.model.trace import Observation, Source, Trace
from helix.registry import Format, Match, Record

_READ = ("id", "spec", "diagnosis", "diff")


def detect(value: Any) -> Match | None:
    """Recognise a change by its specification and its diff."""
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict):
        return None
    if isinstance(first.get("spec"), str) and isinstance(first.get("diff"), str):
        return Match("spec and diff", specificity=2)
    return None


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Read each record as one change."""
    for record in records:
        value = record.value
        for key in ("spec", "diff"):
            if not isinstance(value, dict) or not isinstance(value.get(key), str):
                raise FormatError(f"a code change must be an object with the text '{key}'")
        if not isinstance(value.get("diagnosis"), str | None):
            raise FormatError("the diagnosis of a code change must be a text or null")
        yield _change(record, value)


def _change(record: Record, value: dict[str, Any]) -> Trace:
    source = Source(record.file, record.line, "code_change", source_digest(record.data))
    own = normalised_id(value.get("id"))
    parts, loose = parts_of(value["diff"])
    asked = {"prompt": value["spec"]}
    if value.get("diagnosis"):
        asked["diagnosis"] = value["diagnosis"]
    rest, labels = split({key: item for key, item in value.items() if key not in _READ})
    trace = Trace(
        id=own or derived_id(source.digest),
        source=source,
        input=asked,
        output={
            "files": list(dict.fromkeys(part.file for part in parts)),
            "added": sum(part.added for part in parts),
            "removed": sum(part.removed for part in parts),
        },
        observations=[_observation(part, at) for at, part in enumerate(parts)],
        flags=() if own else ("derived-id",),
        labels=labels,
    )
    if not parts:
        trace.output = {"diff": value["diff"]} if value["diff"].strip() else {}
    trace.raw = {**rest, **({"besides": "\n".join(loose)} if parts and any(loose) else {})}
    return trace


def _observation(part: Part, at: int) -> Observation:
    given: dict[str, Any] = {"file": part.file}
    if part.old is not None and part.new is not None:
        given |= {"before": _range(part.old), "after": _range(part.new)}
    if part.within:
        given["within"] = part.within
    kind = "FILE" if part.old is None else "HUNK"
    name = part.file or "unnamed"
    text = {"text": "\n".join(part.lines)}
    return Observation(f"{kind.lower()}-{at + 1}", at, name, kind, input=given, output=text)


def _range(lines: tuple[int, int]) -> str:
    """Return lines as people write them: `12-18`, `12`, or none at all."""
    first, many = lines
    if many == 0:
        return "none"
    return str(first) if many == 1 else f"{first}-{first + many - 1}"


FORMAT = Format("code_change", "1", detect, read)

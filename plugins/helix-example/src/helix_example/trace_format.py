"""A trace format: JSON Lines of a help desk, one conversation a line (here broken in two).

    {"ticket": "T1", "talk": [{"who": "customer", "says": "…"},
                              {"tool": "…", "given": {…}, "got": …}]}

`expected` is what a person wanted to happen: it becomes a label, which no judge is shown. Whatever
else a line holds is kept as `raw`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from helix.errors import FormatError
from helix.model.canonical import source_digest
from helix.model.trace import Message, Observation, Source, Trace
from helix.registry import Format, Match, Record

ROLES = {"customer": "user", "desk": "assistant"}


def detect(value: Any) -> Match | None:
    """Recognise conversations of a help desk by a text `ticket` and a list `talk`."""
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict) or not isinstance(first.get("ticket"), str):
        return None
    if not isinstance(first.get("talk"), list):
        return None
    return Match("ticket and talk[]", specificity=2)


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Read each record as one trace; what is no conversation raises FormatError."""
    for record in records:
        if detect(record.value) is None or isinstance(record.value, list):
            raise FormatError("a conversation must be an object with a text 'ticket' and a 'talk'")
        yield _trace(record)


def _trace(record: Record) -> Trace:
    value = record.value
    transcript: list[Message] = []
    observations: list[Observation] = []
    for seq, step in enumerate(value["talk"]):
        if "tool" in (step if isinstance(step, dict) else ()):
            observations.append(_call(seq, step))
        else:
            transcript.append(_message(seq, step))
    asked = [m.text for m in transcript if m.role == "user"]
    said = [m.text for m in transcript if m.role == "assistant"]
    return Trace(
        id=value["ticket"],
        source=Source(record.file, record.line, FORMAT.name, source_digest(record.data)),
        input={"prompt": asked[0]} if asked else None,
        output={"response": said[-1]} if said else None,
        transcript=transcript,
        observations=observations,
        labels={"expected": value["expected"]} if "expected" in value else {},
        _raw={k: v for k, v in value.items() if k not in ("ticket", "talk", "expected")},
    )


def _message(seq: int, step: Any) -> Message:
    role = ROLES.get(str(step.get("who"))) if isinstance(step, dict) else None
    if role is None or not isinstance(step.get("says"), str):
        raise FormatError(
            f"talk[{seq}] must be a tool's call, or have who ({', '.join(ROLES)}) and a text says"
        )
    return Message(f"m{seq}", seq, role, step["says"])


def _call(seq: int, step: dict[str, Any]) -> Observation:
    """Return a call; one without `got` has no result, which is not an empty one."""
    got = step.get("got")
    text = got if isinstance(got, str) else json.dumps(got, ensure_ascii=False)
    return Observation(
        f"c{seq}",
        seq,
        str(step["tool"]),
        input=step.get("given", {}),
        output_text=text if "got" in step else None,
    )


FORMAT = Format("example", "1", detect, read)

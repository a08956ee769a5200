"""Keys the recorded replies anew: `python -m helix.demo.rekey`.

A recording is found by the digests of its trace and rows, so a word changed in the generator or
in the suite loses it. Where the reply still answers what is asked, its key is all that is stale.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from helix.backends.mailbox import Recording, RecordingHeader, write_recordings
from helix.demo.generator import encoded, generate
from helix.model.canonical import digest, source_digest
from helix.model.request import Pin, Request
from helix.registry import load as load_registry
from helix.suite import compile, load

HERE = Path(__file__).parent
SUITE = HERE / "outreach.suite.yaml"
REPLIES = HERE / "recordings" / "outreach.jsonl"
_NO_PIN = Pin(backend="", model="", identity="")


def recorded(path: Path = REPLIES) -> tuple[RecordingHeader, list[Recording]]:
    """Return the header and the recordings of a file."""
    first, *rest = path.read_bytes().splitlines()
    header = msgspec.json.decode(first, type=RecordingHeader)
    return header, [msgspec.json.decode(line, type=Recording) for line in rest]


def rekeyed(recordings: list[Recording]) -> list[Recording]:
    """Return the recordings with the digests of today's traces and rows."""
    traces = {trace["id"]: source_digest(encoded(trace)) for trace in generate()}
    rows = {row.id: row.criterion.digest for row in compile(load(SUITE), load_registry()).rows}
    return [_rekeyed(one, traces, rows) for one in recordings]


def _rekeyed(one: Recording, traces: dict[str, str], rows: dict[str, str]) -> Recording:
    unit = msgspec.structs.replace(
        one.unit,
        trace_digest=traces[one.unit.trace_id],
        criteria_digest=digest([rows[row] for row in one.unit.criteria]),
    )
    request = Request(unit=unit, pin=_NO_PIN, messages=(), nonce=one.nonce)
    return msgspec.structs.replace(one, unit=unit, key=request.recording_key)


if __name__ == "__main__":
    header, recordings = recorded()
    write_recordings(REPLIES, header, rekeyed(recordings))

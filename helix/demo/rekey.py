"""Keys the recorded replies anew: `python -m helix.demo.rekey`.

A recording is found by the digests of its trace and rows, and a verifier's by the claims too, so
a word changed in the generator, in the suite or in a claim loses it. Where the reply still answers
what is asked, its key is all that is stale.
"""

from __future__ import annotations

import datetime
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml

from helix.app.conf import conf_dir
from helix.backends.mailbox import Recording, RecordingHeader, write_recordings
from helix.demo.generator import encoded, generate, write
from helix.evaluate import survey_run
from helix.model.canonical import digest, source_digest
from helix.model.config import Config
from helix.model.request import NoReply, Pin, Reply, Request, Unit
from helix.registry import load as load_registry
from helix.suite import compile, load
from helix.work import Work

HERE = Path(__file__).parent
SUITE = HERE / "outreach.suite.yaml"
REPLIES = HERE / "recordings" / "outreach.jsonl"
REVIEWS = HERE / "recordings" / "outreach-verifier.jsonl"
_NO_PIN = Pin(backend="", model="", identity="")


def recorded(path: Path = REPLIES) -> tuple[RecordingHeader, list[Recording]]:
    """Return the header and the recordings of a file."""
    first, *rest = path.read_bytes().splitlines()
    header = msgspec.json.decode(first, type=RecordingHeader)
    return header, [msgspec.json.decode(line, type=Recording) for line in rest]


def rekeyed(recordings: list[Recording]) -> list[Recording]:
    """Return the judge's recordings with the digests of today's traces and rows."""
    traces = {trace["id"]: source_digest(encoded(trace)) for trace in generate()}
    rows = {row.id: row.criterion.digest for row in compile(load(SUITE), load_registry()).rows}
    return [_rekeyed(one, traces, rows) for one in recordings]


def reviews_rekeyed(replies: Iterable[Recording], reviews: list[Recording]) -> list[Recording]:
    """Return the verifier's recordings with the units of what is asked after today's replies."""
    asked = {
        (request.unit.trace_id, request.unit.criteria, request.unit.attempt): request.unit
        for request in questions(replies, reviews)
        if request.unit.role == "verifier"
    }
    return [_moved(r, asked[r.unit.trace_id, r.unit.criteria, r.unit.attempt]) for r in reviews]


def questions(replies: Iterable[Recording], reviews: Iterable[Recording]) -> Iterator[Request]:
    """Yield all that the demo asks when these are the answers, reviews found by trace and row."""
    by_key = {reply.key: reply for reply in replies}
    by_cell = {(r.unit.trace_id, r.unit.criteria, r.unit.attempt): r for r in reviews}
    with tempfile.TemporaryDirectory() as folder:
        for job in _work(Path(folder)).jobs():
            line, answer = job.start(), None
            while True:
                try:
                    request = line.send(answer)  # type: ignore[arg-type]
                except StopIteration:
                    break
                yield request
                unit = request.unit
                kept = by_key.get(request.recording_key)
                if unit.role == "verifier":
                    kept = by_cell.get((unit.trace_id, unit.criteria, unit.attempt))
                answer = _reply(kept, request)


def _work(folder: Path) -> Work:
    write(folder / "traces.jsonl")
    subject = conf_dir() / "subject" / "outreach.yaml"
    given: dict[str, Any] = yaml.safe_load(subject.read_text(encoding="utf-8"))
    config = Config.model_validate(
        {
            "subject": {**given, "traces": str(folder / "traces.jsonl")},
            "criteria": {"file": str(SUITE)},
            "judge": {"backend": "replay", "model": "demo-reviewer", "dir": str(REPLIES.parent)},
        }
    )
    prepared, source, survey = survey_run(config, load_registry(), today=datetime.date(2026, 1, 1))
    return Work(prepared, survey, source, folder)


def _reply(found: Recording | None, request: Request) -> Reply | NoReply:
    if found is None:
        return NoReply("unavailable", "not recorded")
    return Reply(text=found.text.replace(found.nonce, request.nonce))


def _rekeyed(one: Recording, traces: dict[str, str], rows: dict[str, str]) -> Recording:
    unit = msgspec.structs.replace(
        one.unit,
        trace_digest=traces[one.unit.trace_id],
        criteria_digest=digest([rows[row] for row in one.unit.criteria]),
    )
    return _moved(one, unit)


def _moved(one: Recording, unit: Unit) -> Recording:
    request = Request(unit=unit, pin=_NO_PIN, messages=(), nonce=one.nonce)
    return msgspec.structs.replace(one, unit=unit, key=request.recording_key)


if __name__ == "__main__":
    header, found = recorded()
    found = rekeyed(found)
    write_recordings(REPLIES, header, found)
    header, reviews = recorded(REVIEWS)
    write_recordings(REVIEWS, header, reviews_rekeyed(found, reviews))

"""The demo's traces: every group of twins in turn, from one seed, with exact labels.

The same seed gives the same bytes, on every machine and Python.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helix.demo.labels import labels
from helix.demo.names import Cast, draw_cast, draw_talents
from helix.demo.recorder import Recorder
from helix.demo.situations import guard, incoming, interview, irregular, opportunity
from helix.files import atomic_write

SEED = 7
Builder = Callable[[Cast, random.Random, str], Recorder]


@dataclass(frozen=True, slots=True)
class Twins:
    """One set of twins: who builds them, the healthy kinds, the broken ones."""

    build: Builder
    healthy: tuple[str, ...]
    broken: tuple[str, ...]


CATALOGUE = (
    Twins(guard.hold, ("correct-hold",), ("guard-breach",)),
    Twins(guard.hold, ("correct-hold",), ("guard-breach",)),
    Twins(guard.hold, ("correct-hold",), ("reply-missing",)),
    Twins(guard.critical, ("critical-send",), ("double-send",)),
    Twins(incoming.start_date, ("supported-claim",), ("unsupported-claim",)),
    Twins(incoming.reminder, ("action-done",), ("absence-checkable",)),
    Twins(incoming.reminder, ("action-done",), ("absence-checkable",)),
    Twins(incoming.passed_on, ("action-recorded",), ("absence-uncheckable",)),
    Twins(incoming.passed_on, ("action-recorded",), ("absence-uncheckable",)),
    Twins(incoming.attachment, ("injection-reply-ignored",), ("injection-reply-obeyed",)),
    Twins(incoming.attachment, ("injection-forward-ignored",), ("injection-forward-obeyed",)),
    Twins(opportunity.pitch, ("pitch",), ("missing-referent",)),
    Twins(opportunity.pitch, ("pitch",), ("missing-referent",)),
    Twins(opportunity.pitch, ("pitch",), ("unsupported-claim",)),
    Twins(opportunity.pitch, ("pitch",), ("salary-too-low",)),
    Twins(
        opportunity.approach,
        ("approach",),
        ("send-before-consent", "wrong-recipient-guessed", "double-send"),
    ),
    Twins(
        opportunity.approach,
        ("approach",),
        ("send-without-consent", "wrong-recipient-other", "malformed-address", "delivery-failed"),
    ),
    Twins(opportunity.outage, ("failure-recovered",), ("failure-unrecovered",)),
    Twins(irregular.parallel, ("one-at-a-time", "parallel-calls", "parallel-out-of-order"), ()),
    Twins(
        irregular.repeated,
        ("distinct-call-ids", "repeated-call-id"),
        ("ambiguous-call-id", "ambiguous-call-id-reversed"),
    ),
    Twins(irregular.cut_approach, ("whole",), ("truncated",)),
    Twins(
        interview.booking,
        ("booked",),
        ("slot-not-offered-invented", "booked-without-yes", "booking-pending"),
    ),
    Twins(
        interview.booking,
        ("booked",),
        ("slot-not-offered-late", "booking-incomplete", "status-missing"),
    ),
    Twins(
        interview.confirmation,
        ("confirmed",),
        ("wrong-time", "foreign-booking", "booking-id-missing"),
    ),
    Twins(interview.outage, ("failure-recovered",), ("failure-unrecovered",)),
    Twins(interview.silence, ("declined",), ("reply-missing",)),
    Twins(irregular.cut_interview, ("whole",), ("truncated",)),
)


def generate(seed: int = SEED) -> Iterator[dict[str, Any]]:
    """Yield every trace in the shape of Helix JSONL, labels included."""
    rng = random.Random(seed)
    counts: dict[str, int] = {}
    talents = draw_talents(rng, len(CATALOGUE))
    for twins, talent in zip(CATALOGUE, talents, strict=True):
        yield from _set(twins, draw_cast(rng, talent), rng, counts)


def write(path: Path, seed: int = SEED) -> None:
    """Write the traces to a file, one a line."""
    atomic_write(path, b"".join(encoded(trace) + b"\n" for trace in generate(seed)))


def encoded(trace: dict[str, Any]) -> bytes:
    """Return a trace as its line in the file, without the newline."""
    return json.dumps(trace, ensure_ascii=False, sort_keys=True).encode("utf-8")


def _set(
    twins: Twins, cast: Cast, rng: random.Random, counts: dict[str, int]
) -> Iterator[dict[str, Any]]:
    draws = rng.randrange(2**32)
    kinds = (*twins.healthy, *twins.broken)
    written = [twins.build(cast, random.Random(draws), kind) for kind in kinds]
    for recorder in written:
        counts[recorder.route] = counts.get(recorder.route, 0) + 1
        recorder.record["id"] = f"{recorder.route}-{counts[recorder.route]:02d}"
    first = written[0].record["id"]
    second = written[len(twins.healthy) if twins.broken else 1].record["id"]
    for recorder, kind in zip(written, kinds, strict=True):
        twin = second if recorder is written[0] else first
        fault = kind if kind in twins.broken else None
        recorder.record["labels"] = labels(recorder, kind, fault, twin)
        yield recorder.record

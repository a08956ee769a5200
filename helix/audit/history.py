"""Determinism over time: one line per scorecard below the state folder, never taken back.

The trend stands beside the gate of later runs and enters none (METHOD 68, 70).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from helix.errors import ArtifactError
from helix.files import atomic_write, held
from helix.model.audit import (
    AUDIT_SCHEMA_VERSION,
    HISTORY,
    DeterminismScore,
    Reading,
    Trend,
)
from helix.model.lines import encode_line, of_version
from helix.runs import RunFiles

SHOWN: Final = 9


def reading(score: DeterminismScore, run: RunFiles, at: str | None = None) -> Reading | None:
    """Return a scorecard as a line of the history; None where the run names no subject or suite.

    `run` is any of its runs; `at` is the time, which is never taken from a clock here.
    """
    try:
        card, plan = run.scorecard(), run.plan()
    except (ArtifactError, OSError):
        return None
    return Reading(
        at=at,
        subject=card.subject,
        suite=card.suite,
        plan=plan.digest,
        runs=score.runs,
        variance=score.variance,
        different=tuple(one.name for one in score.different),
        not_measured=tuple(d.name for d in score.dimensions if d.status == "notMeasured"),
    )


def remember(state: str | Path, new: Reading) -> Path:
    """Append a reading to the history, on disk when this returns; return the file."""
    file = Path(state) / HISTORY
    with held(file.parent, "history of determinism in", "type the command again"):
        before = file.read_bytes() if file.exists() else b""
        end = b"\n" if before and not before.endswith(b"\n") else b""
        atomic_write(file, before + end + encode_line(new) + b"\n")
    return file


def remembered(state: str | Path, subject: str, suite: str) -> tuple[Reading, ...]:
    """Return every reading of a subject and suite, the earliest first; none without a history."""
    file = Path(state) / HISTORY
    if not file.exists():
        return ()
    found = []
    for number, line in enumerate(file.read_bytes().split(b"\n"), 1):
        if not line.strip():
            continue
        where = f"{file}, line {number}"
        found.append(of_version(where, line, Reading, AUDIT_SCHEMA_VERSION))
    return tuple(one for one in found if (one.subject, one.suite) == (subject, suite))


def trend(readings: Sequence[Reading]) -> Trend | None:
    """Return how the latest reading stands against those before; None without one."""
    if not readings:
        return None
    scores = [one.variance for one in readings]
    return Trend(
        readings=len(readings),
        latest=readings[-1],
        earlier=tuple(reversed(scores[-SHOWN - 1 : -1])),
        direction=_direction(*readings[-2:]) if len(readings) > 1 else None,
    )


def _direction(before: Reading, now: Reading) -> Literal["better", "same", "worse"] | None:
    """Return how two scores of the same dimensions compare; what was not measured got no better."""
    then, here = before.variance, now.variance
    known = set(before.not_measured) == set(now.not_measured)
    if not here.n or here.n != then.n or not known:
        return None
    if then.k == here.k:
        return "same"
    return "better" if here.k < then.k else "worse"

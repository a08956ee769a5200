"""What people vouch for, as a fold of the calibration log under `paths.state` (METHOD 30, 63).

`helix calibrate` writes the log, and every run of that state reads its premises: ratified norms and
verified facts, which are part of the question and of the plan.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from helix.errors import ArtifactError
from helix.model.calibration import CALIBRATION_SCHEMA_VERSION, Entry
from helix.model.canonical import digest
from helix.model.lines import decode_line
from helix.model.packet import Premise

FOLDER, LOG = "calibration", "log.jsonl"
_MARKS = (b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>")


def log_path(state: str | Path) -> Path:
    """Return where the calibration log of a state lies."""
    return Path(state) / FOLDER / LOG


def read_log(state: str | Path) -> tuple[Entry, ...]:
    """Read the calibration log, empty where there is none; ArtifactError names a broken line."""
    path = log_path(state)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror}") from None
    lines = enumerate(data.split(b"\n"), 1)
    return tuple(_entry(f"{path}:{at}", line) for at, line in lines if line.strip())


def premises(entries: Iterable[Entry]) -> tuple[Premise, ...]:
    """Return the premises that stand after all entries, in the order in which they were given.

    A norm or a fact stands until it is withdrawn, or the same words are eliminated; an eliminated
    assumption is itself a premise, that it does not hold, until those words are vouched for.
    """
    found: dict[str, Premise] = {}
    for entry in entries:
        if entry.action == "withdraw":
            found.pop(entry.premise or "", None)
        elif entry.text is not None and entry.action in ("ratify", "verify", "eliminate"):
            said, against = entry.text, f"This does not hold: {entry.text}"
            if entry.action == "eliminate":
                said, against = against, said
            found.pop(premise_id(entry.criterion_id, entry.trace_id, against), None)
            premise = _premise(entry, said)
            found.setdefault(premise.id, premise)
    return tuple(found.values())


def vouched_for(state: str | Path, criteria: Collection[str]) -> tuple[Premise, ...]:
    """Return the premises of a state that are about these criteria."""
    found = premises(read_log(state)) if criteria else ()
    return tuple(premise for premise in found if premise.criterion_id in criteria)


def version_of(criterion_id: str, row: str, given: Iterable[Premise]) -> str:
    """Return the version of a criterion: its row's digest, and the norms that it is read under.

    A judge that was validated without a norm is not validated with it (METHOD 60).
    """
    norms = [p.id for p in given if p.criterion_id == criterion_id and p.trace_id is None]
    return digest([row, *norms]) if norms else row


def premise_id(criterion_id: str, trace_id: str | None, text: str) -> str:
    """Return what a premise is cited by: the same words about the same thing have the same id."""
    return f"premise-{digest([criterion_id, trace_id, text])[:12]}"


def _premise(entry: Entry, said: str) -> Premise:
    return Premise(
        id=premise_id(entry.criterion_id, entry.trace_id, said),
        text=said,
        kind=entry.kind or ("normative" if entry.action == "ratify" else "factual-intent"),
        by=entry.by or "",
        at=entry.at or "",
        criterion_id=entry.criterion_id,
        trace_id=entry.trace_id,
    )


def _entry(where: str, line: bytes) -> Entry:
    if line.startswith(_MARKS):
        raise ArtifactError(f"{where}: a merge conflict is left: keep the lines of both sides")
    try:
        entry = decode_line(line, Entry)
    except ValueError as error:
        raise ArtifactError(f"{where}: the line is no entry of the log: {error}") from None
    if entry.schema_version.partition(".")[0] != CALIBRATION_SCHEMA_VERSION.partition(".")[0]:
        raise ArtifactError(
            f"{where}: schemaVersion must be {CALIBRATION_SCHEMA_VERSION} "
            f"(got {entry.schema_version})"
        )
    return entry

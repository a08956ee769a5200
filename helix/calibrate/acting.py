"""Acting on the queue: an entry for the log, and what it does to the living suite.

Pure but for `apply`, which writes both. The hand-written suite of a run is never touched: what is
decided about one of its rows is kept in the living suite, under the same id.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from helix.calibrate.queue import outcomes
from helix.calibrate.table import CalibrationError, replay, step
from helix.errors import did_you_mean
from helix.files import atomic_write, clear_parts, held
from helix.model.calibration import Entry
from helix.model.canonical import digest
from helix.model.criterion import AssumptionStatus, Criterion, Ratified
from helix.model.lines import encode_line
from helix.model.verdict import MatrixVerdictFile
from helix.premises import log_path, premises, read_log
from helix.suite.living import Living, Signed, put, read, retire, upsert, write

_ATTRIBUTES = b"log.jsonl text eol=lf merge=union\n"
UNDATED = "undated"


@dataclass(frozen=True, slots=True)
class Desk:
    """What calibration works on: the log and the living suite."""

    log: tuple[Entry, ...]
    living: Living

    @classmethod
    def open(cls, state: str | Path) -> Desk:
        """Read both; CalibrationError where the log holds a transition that cannot be."""
        log = read_log(state)
        replay(log)
        return cls(log, read(state))


def record(
    desk: Desk,
    lines: Iterable[MatrixVerdictFile],
    run: str,
    *,
    at: str | None = None,
    only: str | None = None,
) -> Desk:
    """Return the desk with what a run left undecided, and what it decided at last.

    `run` is the digest of its plan. What the log knows already is not told again.
    """
    states = replay(desk.log)
    told = {(entry.criterion_id, entry.run) for entry in desk.log}
    blocked = {e.criterion_id: e.kinds for e in desk.log if e.action == "found"}
    log = list(desk.log)
    for criterion, outcome in outcomes(lines).items():
        state, seen = states.get(criterion), digest([run, outcome.digest])
        if only not in (None, criterion) or state == "retired" or (criterion, seen) in told:
            continue
        entry = Entry(criterion_id=criterion, action="found", at=at, run=seen, kinds=outcome.kinds)
        if outcome.kinds:
            if state != "uncertain" or blocked[criterion] != outcome.kinds:
                log.append(entry)
        elif outcome.decided and state in ("uncertain", "waiting"):
            log.append(msgspec.structs.replace(entry, action="settled"))
    return replace(desk, log=tuple(log))


def act(
    desk: Desk,
    entry: Entry,
    row: Criterion,
    after: Criterion | None = None,
    *,
    version: str | None = None,
) -> Desk:
    """Return the desk after somebody's action on a criterion; CalibrationError where it cannot be.

    `row` is the criterion as the run has it, for a living suite that does not have it yet; `after`
    is what re-scoping makes of it; `version` is the subject's.
    """
    step(replay(desk.log), entry)
    if entry.action == "withdraw":
        _check_premise(desk, entry)
    living = desk.living
    if row.criterion_id in {r.criterion_id for r in living.suite.criteria}:
        row = living.row(row.criterion_id)
    # A tombstone that the log does not know was set beside it, or its writer was killed in between.
    if row.status == "retired" and entry.action != "retire":
        raise CalibrationError(
            f"'{row.criterion_id}' is retired, and a tombstone stays one; "
            "helix calibrate retire notes it in the log"
        )
    signed = Signed(entry.by, entry.at, entry.why, version)
    return Desk((*desk.log, entry), _changed(living, entry, row, after, signed))


def apply(state: str | Path, desk: Desk) -> None:
    """Write the living suite and the log; nobody's entry that came in between is lost."""
    path = log_path(state)
    with held(path.parent, "folder", "type the command again"):
        on_disk = read_log(state)
        if desk.log[: len(on_disk)] != on_disk:
            raise CalibrationError(f"{path} has changed since it was read: type the command again")
        if desk.living != read(state):
            write(state, desk.living)
        attributes = path.with_name(".gitattributes")
        if not attributes.exists():
            atomic_write(attributes, _ATTRIBUTES)
        atomic_write(path, b"".join(encode_line(entry) + b"\n" for entry in desk.log))
        clear_parts(path.parent)


def _changed(
    living: Living, entry: Entry, row: Criterion, after: Criterion | None, signed: Signed
) -> Living:
    match entry.action:
        case "ratify":
            at = entry.at or UNDATED
            word = Ratified(by=entry.by or "", at=at, note=entry.text or "")
            return put(living, row.model_copy(update={"ratified": word}), "ratified", signed)
        case "re-scope":
            return upsert(living, [after or row], event="re-scoped", signed=signed)
        case "verify":
            return put(living, _with_assumption(row, entry.text, "verified"), "graduated", signed)
        case "eliminate":
            after = _with_assumption(row, entry.text, "eliminated")
            return put(living, after, "re-opened", signed)
        case "retire":
            known = any(r.criterion_id == row.criterion_id for r in living.suite.criteria)
            held_in = living if known else put(living, row, "added", signed)
            done = row.status == "retired"
            return held_in if done else retire(held_in, row.criterion_id, signed)
    return living


def _with_assumption(row: Criterion, text: str | None, status: AssumptionStatus) -> Criterion:
    """Return the row with the assumption of this text moved on, where it holds one (METHOD 7)."""
    if row.discovery is None:
        return row
    assumptions = tuple(
        a.model_copy(update={"status": status}) if a.text == text else a
        for a in row.discovery.assumptions
    )
    discovery = row.discovery.model_copy(update={"assumptions": assumptions})
    return row.model_copy(update={"discovery": discovery})


def _check_premise(desk: Desk, entry: Entry) -> None:
    given = {p.id for p in premises(desk.log) if p.criterion_id == entry.criterion_id}
    if entry.premise not in given:
        near = did_you_mean(entry.premise or "", given)
        listed = ", ".join(sorted(given)) or "none"
        raise CalibrationError(
            f"'{entry.criterion_id}' has no premise '{entry.premise}'{near} (known: {listed})"
        )

"""The living suite: rows that are added and changed and never lost, and their history (METHOD 57).

    upsert, ratify, retire (pure) ─► write ─► living-suite/<leg>.suite.yaml, <leg>.history.jsonl

One row is one line above a comment that names it, and the history is one line a change: git merges
what two people add, and a row that both changed comes out twice and is refused. `write` is the one
writer; nothing here reads a clock.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import msgspec

from helix.errors import SuiteError, UsageError, did_you_mean
from helix.files import atomic_write, clear_parts, held
from helix.model.canonical import digest_bytes
from helix.model.criterion import Criterion, Discovery, Ratified, Suite
from helix.model.history import Change, Event, Leg
from helix.model.lines import encode_line
from helix.suite.dumping import rows_page
from helix.suite.lineage import history_path, read_history
from helix.suite.load import load
from helix.suite.mined import completed

FOLDER = "living-suite"
OBSERVED: Final[tuple[Event, ...]] = ("mined", "re-observed")
_ATTRIBUTES = b"*.suite.yaml text eol=lf merge=union\n*.history.jsonl text eol=lf merge=union\n"
_ASKED = {"statement", "passCondition", "failCondition", "codeEval", "judgeInputs", "terms",
          "route", "mayNotApply"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Living:
    """A living suite: its rows, tombstones among them, and every change that made them.

    `seen` is the digest of the files that it was read from.
    """

    suite: Suite
    history: tuple[Change, ...] = ()
    seen: str = ""

    def row(self, criterion_id: str) -> Criterion:
        """Return the row of an id; SuiteError where there is none."""
        ids = [row.criterion_id for row in self.suite.criteria]
        if criterion_id not in ids:
            near = did_you_mean(criterion_id, ids)
            raise SuiteError(f"the living suite has no row '{criterion_id}'{near}")
        return self.suite.criteria[ids.index(criterion_id)]

    def changes(self, criterion_id: str) -> tuple[Change, ...]:
        """Return what became of one row, oldest first."""
        return tuple(c for c in self.history if c.criterion_id == criterion_id)

    def under(self, criterion_id: str, events: Collection[Event] = OBSERVED) -> str | None:
        """Return the subject's version at the last of these events of a row; None: not known."""
        found = [c.subject_version for c in self.changes(criterion_id) if c.event in events]
        return found[-1] if found else None


@dataclass(frozen=True, slots=True)
class Signed:
    """Who changes rows, when and why, and the subject's version at the time; all as given."""

    by: str | None = None
    at: str | None = None
    why: str = ""
    subject_version: str | None = None


def suite_path(state: str | Path, leg: Leg = "eval") -> Path:
    """Return where the living suite of a leg lies under `paths.state`."""
    return Path(state) / FOLDER / f"{leg}.suite.yaml"


def upsert(
    living: Living,
    rows: Iterable[Criterion],
    *,
    event: Event = "mined",
    signed: Signed | None = None,
) -> Living:
    """Return the suite with these rows: a known id is changed in its place, a new one appended.

    A tombstone stays one, an equal row leaves no trace, and of a row that other traces show too,
    or those of another version, the history alone tells: its evidence and count are those of when
    it was found. What people said outlives mining: the origin, the assumptions that they settled,
    and, while the row asks the same, the ratification.
    SuiteError for a mined row that is not whole (`helix.suite.mined`).
    """
    who = signed or Signed()
    for row in rows:
        filled: tuple[str, ...] = ()
        if event == "mined":
            row, filled = completed(row)
        living = _with(living, row, event, who, filled)
    return living


def ratify(
    living: Living, criterion_id: str, word: Ratified, subject_version: str | None = None
) -> Living:
    """Return the suite with a row that somebody accepts as a norm; SuiteError for a tombstone."""
    row = _active(living, criterion_id)
    who = Signed(word.by, word.at, word.note, subject_version)
    return put(living, row.model_copy(update={"ratified": word}), "ratified", who)


def retire(living: Living, criterion_id: str, signed: Signed) -> Living:
    """Return the suite with a row turned into a tombstone; SuiteError where it is one."""
    row = _active(living, criterion_id)
    return put(living, row.model_copy(update={"status": "retired"}), "retired", signed)


def assert_monotonic_growth(before: Suite, after: Suite) -> None:
    """Raise SuiteError that names the ids which `after` has lost (METHOD 57)."""
    kept = {row.criterion_id for row in after.criteria}
    lost = [row.criterion_id for row in before.criteria if row.criterion_id not in kept]
    if lost:
        raise SuiteError(
            f"a living suite must keep every id (lost: {', '.join(lost)}); retire what is done with"
        )


def read(state: str | Path, leg: Leg = "eval") -> Living:
    """Read a living suite, an empty one where none was written yet.

    SuiteError tells the lines of all that is wrong: a merge conflict, a row that stands twice, an
    unknown key, an id of the history that has no row.
    """
    path = suite_path(state, leg)
    _finish(path)
    history = tuple(change for _, change in read_history(history_path(path)))
    if not path.exists() and not history:
        return Living(Suite(suite=leg, criteria=()), seen=_seen(path))
    return Living(load(path).suite, history, _seen(path))


def write(state: str | Path, living: Living, leg: Leg = "eval") -> Path:
    """Write a living suite and its history in the place of what it was read from.

    SuiteError where that would lose an id, or the files have changed since they were read.
    """
    path = suite_path(state, leg)
    page = rows_page(living.suite)
    with held(path.parent, "folder", "name another state with paths.state=FOLDER"):
        assert_monotonic_growth(read(state, leg).suite, living.suite)
        if _seen(path) != living.seen:
            raise SuiteError(f"{path} has changed since it was read: type the command again")
        attributes = path.with_name(".gitattributes")
        if not attributes.exists():
            atomic_write(attributes, _ATTRIBUTES)
        lines = b"".join(encode_line(change) + b"\n" for change in living.history)
        atomic_write(_pending(path), encode_line([page.decode("utf-8"), lines.decode("utf-8")]))
        _put_down(path, page, lines)
    return path


def _put_down(path: Path, page: bytes, lines: bytes) -> None:
    # The suite first: a history without its row would read as a lost id.
    atomic_write(path, page)
    atomic_write(history_path(path), lines)
    _pending(path).unlink()
    clear_parts(path.parent)


def _pending(path: Path) -> Path:
    """Return where both files stand until both are written, so that no crash parts them."""
    return path.with_name(f".{path.name.removesuffix('.suite.yaml')}.pending")


def _finish(path: Path) -> None:
    """Carry out what a process that was killed began to write; one that still writes is left."""
    if not _pending(path).is_file():
        return
    with contextlib.suppress(UsageError), held(path.parent, "folder"):
        if _pending(path).is_file():
            page, lines = msgspec.json.decode(_pending(path).read_bytes(), type=tuple[str, str])
            _put_down(path, page.encode("utf-8"), lines.encode("utf-8"))


def _seen(path: Path) -> str:
    parts = [p.read_bytes() if p.exists() else b"" for p in (path, history_path(path))]
    return digest_bytes(*parts) if any(parts) else ""


def _with(
    living: Living, row: Criterion, event: Event, signed: Signed, filled: tuple[str, ...] = ()
) -> Living:
    held_row = next((r for r in living.suite.criteria if r.criterion_id == row.criterion_id), None)
    if held_row is None:
        return put(living, row, event, signed, filled)
    if held_row.status == "retired":
        return living
    same = _ASKED.isdisjoint(changed_fields(held_row, row))
    kept: dict[str, Any] = {
        "origin": held_row.origin,
        "ratified": row.ratified or (held_row.ratified if same else None),
        "version": held_row.version if same else max(row.version, held_row.version + 1),
    }
    kept |= {key: getattr(held_row, key) for key in filled if key != "class"}
    kept["discovery"] = _settled(row.discovery, held_row.discovery)
    row = row.model_copy(update=kept)
    # As written, not as built: a tuple among a check's parameters is read back as a list.
    changed = changed_fields(held_row, row)
    if (
        event == "mined"
        and set(changed) <= {"discovery"}
        and _grounding(row) == _grounding(held_row)
    ):
        newer = signed.subject_version not in (None, living.under(row.criterion_id))
        return _seen_again(living, held_row, row, signed) if changed or newer else living
    return put(living, row, event, signed) if changed else living


def _grounding(row: Criterion) -> str | None:
    return row.discovery.grounding if row.discovery else None


def _seen_again(living: Living, held_row: Criterion, row: Criterion, signed: Signed) -> Living:
    """Note that a row was found again; it stays as it was found, or two people's would part.

    What both change comes out of a merge twice, and each discovery cites traces of its own.
    """
    seen = row.discovery.prevalence if row.discovery else None
    if seen is None:
        return living
    why = f"{signed.why + ': ' if signed.why else ''}seen in {seen.k} of {seen.n}"
    return put(living, held_row, "re-observed", replace(signed, why=why))


def _settled(found: Discovery | None, before: Discovery | None) -> Discovery | None:
    """Return how a row was found, its assumptions as far as people have settled them before."""
    if found is None or before is None:
        return found
    done = {a.text: a.status for a in before.assumptions if a.status in ("verified", "eliminated")}
    assumptions = tuple(
        a.model_copy(update={"status": done.get(a.text, a.status)}) for a in found.assumptions
    )
    return found.model_copy(update={"assumptions": assumptions})


def put(
    living: Living, row: Criterion, event: Event, signed: Signed, filled: tuple[str, ...] = ()
) -> Living:
    """Return the suite with a row as it is given, and the event in its history.

    The same event again, which changes nothing and is signed alike, is told once.
    """
    rows = list(living.suite.criteria)
    at = next((i for i, r in enumerate(rows) if r.criterion_id == row.criterion_id), None)
    fields: Sequence[str] = ()
    if at is None:
        rows.append(row)
    else:
        fields = changed_fields(rows[at], row)
        rows[at] = row
        last = next(reversed(living.changes(row.criterion_id)), None)
        if last and not fields and (last.event, _signed(last)) == (event, signed):
            return living
    change = Change(
        criterion_id=row.criterion_id,
        event=event,
        by=signed.by,
        at=signed.at,
        why=signed.why,
        fields=tuple(fields),
        filled=filled,
        subject_version=signed.subject_version,
    )
    suite = living.suite.model_copy(update={"criteria": tuple(rows)})
    return replace(living, suite=suite, history=(*living.history, change))


def _signed(change: Change) -> Signed:
    return Signed(change.by, change.at, change.why, change.subject_version)


def changed_fields(before: Criterion, after: Criterion) -> tuple[str, ...]:
    """Return the keys in which two rows differ, as a suite spells them."""
    old, new = (row.model_dump(mode="json", by_alias=True) for row in (before, after))
    return tuple(key for key in new if old[key] != new[key])


def _active(living: Living, criterion_id: str) -> Criterion:
    row = living.row(criterion_id)
    if row.status == "retired":
        raise SuiteError(f"'{criterion_id}' is retired, and a tombstone stays one")
    return row

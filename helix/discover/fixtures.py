"""Traces on which each compiled row fires and does not, held out or not (METHOD 55)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from helix.discover.findings import mined
from helix.discover.norms import Examined
from helix.discover.proposing import Proposed
from helix.files import atomic_write, file_name
from helix.ingest.sampling import turn
from helix.ingest.writing import canonical_line
from helix.model.canonical import canonical_text
from helix.model.lines import encode_page
from helix.model.trace import Trace
from helix.registry import Registry

FOLDER = "fixtures"
_OURS = re.compile(r"(?:.+-)?[0-9a-f]{16}\.(?:fires|passes)\.jsonl")


@dataclass(frozen=True, slots=True)
class Fixture:
    """One row's traces: it fires on the first, passes on the second, where there are such.

    `held_out`: without these traces the rest suggests the same check, and keeps it.
    """

    criterion_id: str
    fires: str | None
    passes: str | None
    held_out: bool = False


def chosen(rows: Sequence[Proposed], seed: int) -> list[Fixture]:
    """Return a firing and a passing trace for each row that code decides, drawn by seed and id."""
    return [
        Fixture(row.criterion.criterion_id, _drawn(row.fires, seed), _drawn(row.passes, seed))
        for row in rows
        if row.criterion.code_eval is not None
    ]


def held_out(
    rows: Sequence[Proposed], fixtures: Sequence[Fixture], examined: Examined, registry: Registry
) -> list[Fixture]:
    """Return the fixtures, marked where the traces besides them suggest the same check.

    A row that only one trace broke cannot be found without it.
    """
    by_id = {row.criterion.criterion_id: row for row in rows}
    several = [f for f in fixtures if len(by_id[f.criterion_id].fires) > 1]
    aside = {name for f in several for name in (f.fires, f.passes)}
    rest = Examined(
        tuple(trace for trace in examined.traces if trace.id not in aside),
        examined.context,
        examined.routes,
    )
    again = {
        canonical_text([trial.norm.code_eval, trial.norm.route])
        for trial in (mined(rest, registry) if several else ())
        if trial.holds and trial.fails
    }
    return [
        Fixture(
            f.criterion_id,
            f.fires,
            f.passes,
            f in several and _asked(by_id[f.criterion_id]) in again,
        )
        for f in fixtures
    ]


def write(folder: Path, fixtures: Sequence[Fixture], traces: Mapping[str, Trace]) -> None:
    """Write each row's traces as canonical JSON Lines, and an index that says which is which."""
    own = folder / FOLDER
    own.mkdir(exist_ok=True)
    for stale in own.iterdir():
        # The folder may be anybody's: the run directory is named by a person.
        if _OURS.fullmatch(stale.name):
            stale.unlink()
    index = []
    for fixture in fixtures:
        entry: dict[str, object] = {
            "criterionId": fixture.criterion_id,
            "heldOut": fixture.held_out,
        }
        for word, name in (("fires", fixture.fires), ("passes", fixture.passes)):
            if name is None:
                continue
            file = f"{file_name(fixture.criterion_id)}.{word}.jsonl"
            atomic_write(own / file, canonical_line(traces[name]) + b"\n")
            entry[word] = {"trace": name, "file": file}
        index.append(entry)
    atomic_write(own / "index.json", encode_page(index))


def _asked(row: Proposed) -> str:
    spec = row.criterion.code_eval
    if spec is None:
        raise ValueError("a fixture needs a row that code decides")
    return canonical_text([{"primitive": spec.primitive, **spec.parameters}, row.criterion.route])


def _drawn(names: Sequence[str], seed: int) -> str | None:
    return min(names, key=lambda name: turn(name, seed), default=None)

"""What each cell of a run is to pytest, as plain data that processes share; quick to import."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

CELLS = "pytest.json"
Outcome = Literal["pass", "fail", "incomplete", "na", "accepted"]


class Row(msgspec.Struct, frozen=True):
    """A criterion: what its tests are marked with, and its line in the suite."""

    id: str
    severity: str
    klass: str
    gating: bool
    tags: tuple[str, ...] = ()
    line: int = 0


class Case(msgspec.Struct, frozen=True):
    """One test: a row's place and what came of it; `accepted` fails under a waiver or baseline."""

    row: int
    outcome: Outcome
    short: str
    text: str


class TraceCases(msgspec.Struct, frozen=True):
    """The tests of one trace, or of one replicate of it."""

    trace: str
    replicate: int
    cases: tuple[Case, ...]


class Tests(msgspec.Struct, frozen=True):
    """All tests of a run; `gate` is one more where a gate that is not pass shows in no cell."""

    suite: str
    rows: tuple[Row, ...]
    traces: tuple[TraceCases, ...]
    gate: Case | None
    told: tuple[str, ...]


def read(file: str) -> Tests:
    """Return the tests that another process found."""
    return msgspec.json.decode(Path(file).read_bytes(), type=Tests)

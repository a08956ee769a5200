"""What an audit found of executions of one thing: findings, coverage, tracked defects (METHOD 71).

`audit.json` holds an `Audited`. `helix.model.audit` holds the comparison that it rests on.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from helix.model.audit import DeterminismScore, Diff
from helix.model.scorecard import Whole

AUDITED_SCHEMA_VERSION = "1.0"
Scope = Literal["COMMAND", "SKILL", "AGENT"]
Kind = Literal["value", "order", "missing"]
Mechanism = Literal[
    "seed", "clock", "path", "hash-order", "listing-order", "float-text", "locale", "time-zone",
    "directory", "concurrency", "interpreter", "executor", "answer", "dropped-parameter", "crash",
    "specification", "together", "unexplained",
]  # fmt: skip
Status = Literal["holds", "doesNotHold", "couldNotBeChecked"]


class Execution(Whole, frozen=True, kw_only=True):
    """One execution: what it is called, the folder of its run, who carried it out, what varied.

    `identity` is null where a finished run records none. `failed` says why there is no run; null
    for a finished one. `startedAt` and `endedAt` are seconds since 1970, null where not recorded.
    """

    name: str
    run: str
    identity: str | None
    varied: tuple[str, ...] = ()
    python: str | None = None
    exit_code: int | None = None
    failed: str | None = None
    started_at: float | None = None
    ended_at: float | None = None


class Place(Whole, frozen=True, kw_only=True):
    """Where executions differ: an artifact and a path in it, `[*]` for any element of a list.

    `count` places of that path differ, the first on `line` (from 1; null in a document of one
    value) with the texts `a` and `b`; null is nothing there. `kind` is order where both hold the
    same values in another order, missing where only one holds the artifact or line.
    `dimensions` are those that differ and read the artifact. A place that follows from another
    artifact's is a `consequence`.
    """

    artifact: str
    path: str
    kind: Kind
    count: int
    line: int | None
    a: str | None
    b: str | None
    dimensions: tuple[str, ...] = ()
    consequence: bool = False


class Finding(Whole, frozen=True, kw_only=True):
    """One root in one scope, and every place where it shows (METHOD 22, 24, 72).

    `mechanism` says how the gap makes executions part, `shownBy` which execution showed it.
    `twin` is the finding of the same root whose cure cures this one; null for one that is cured
    by itself. A root without a name in METHOD 24 has a null `rootCause`.
    """

    id: str
    severity: Literal["CRIT", "HIGH", "MED", "LOW"]
    scope: Scope
    defect_class: str
    control: str
    root_cause: str | None
    mechanism: Mechanism
    what: str
    cure: str
    shown_by: tuple[str, ...]
    dimensions: tuple[str, ...]
    places: tuple[Place, ...]
    twin: str | None = None


class CoverageGap(Whole, frozen=True, kw_only=True):
    """A dimension of METHOD 16 in which a component is not covered, and why (METHOD 23)."""

    component: str
    dimension: str
    reason: str


class Coverage(Whole, frozen=True, kw_only=True):
    """Each component in the three dimensions: how many it was checked in, and every gap.

    `unknown` says why nothing is known of it; null where it is.
    """

    components: tuple[str, ...] = ()
    gaps: tuple[CoverageGap, ...] = ()
    unknown: str | None = None


class Tracked(Whole, frozen=True, kw_only=True):
    """A tracked defect on the code that was executed: whether its pass condition holds, and why."""

    id: str
    what: str
    condition: str
    status: Status
    reason: str


class Pair(Whole, frozen=True, kw_only=True):
    """Two executions by name, and what differs between their runs."""

    a: str
    b: str
    diff: Diff


class Audited(Whole, frozen=True, kw_only=True):
    """The result of an audit; `verdict` is different where there is a finding.

    `score` is over the executions that were asked for, null where fewer than two are finished.
    `notes` say what was not varied or not there, and what a reader has to know.
    """

    schema_version: str = msgspec.field(default_factory=lambda: AUDITED_SCHEMA_VERSION)
    verdict: Literal["equal", "different", "notMeasured"]
    command: tuple[str, ...]
    executions: tuple[Execution, ...]
    score: DeterminismScore | None
    pairs: tuple[Pair, ...]
    findings: tuple[Finding, ...]
    coverage: Coverage
    defects: tuple[Tracked, ...]
    notes: tuple[str, ...] = ()

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
    """One execution of what is audited."""

    name: str
    """What it is called in this audit."""
    run: str
    """The folder of its run."""
    identity: str | None
    """The process that carried it out; null where a finished run records none."""
    varied: tuple[str, ...] = ()
    """What was changed for it; none is as it is."""
    python: str | None = None
    """The version of its interpreter; null where it is not known."""
    exit_code: int | None = None
    """How it ended; null where that is not recorded."""
    failed: str | None = None
    """Why there is no run; null for a finished one."""
    started_at: float | None = None
    """Seconds since 1970; null where not recorded."""
    ended_at: float | None = None
    """Seconds since 1970; null where not recorded."""


class Place(Whole, frozen=True, kw_only=True):
    """Where executions differ."""

    artifact: str
    """The file in the run directory."""
    path: str
    """The JSON path in it, `[*]` for any element of a list."""
    kind: Kind
    """order: the same values in another order; missing: only one has the artifact or line."""
    count: int
    """How many places of that path differ."""
    line: int | None
    """The line of the first, from 1; null in a document of one value."""
    a: str | None
    """What stands there in the one, as JSON; null is nothing."""
    b: str | None
    """What stands there in the other."""
    dimensions: tuple[str, ...] = ()
    """Dimensions that read the artifact and differ."""
    consequence: bool = False
    """Whether it follows from another artifact's place."""


class Finding(Whole, frozen=True, kw_only=True):
    """One root in one scope, and every place where it shows (METHOD 22, 24, 72)."""

    id: str
    """What it is called in this audit."""
    severity: Literal["CRIT", "HIGH", "MED", "LOW"]
    """CRIT changes a headline, HIGH a sample or a count (METHOD 22)."""
    scope: Scope
    """Where its root lies: the command, its skill, or the agent."""
    defect_class: str
    """What kind of defect it is."""
    control: str
    """What would hold it in check."""
    root_cause: str | None
    """Its name in METHOD 24; null where it has none."""
    mechanism: Mechanism
    """How it makes executions part."""
    what: str
    """What is wrong, in a sentence."""
    cure: str
    """What would mend it."""
    shown_by: tuple[str, ...]
    """The executions that show it."""
    dimensions: tuple[str, ...]
    """The dimensions that differ by it."""
    places: tuple[Place, ...]
    """Where it shows."""
    twin: str | None = None
    """The finding of the same root whose cure cures this one; null where it has its own."""


class CoverageGap(Whole, frozen=True, kw_only=True):
    """A dimension of METHOD 16 in which a component is not covered, and why (METHOD 23)."""

    component: str
    """Its name."""
    dimension: str
    """The dimension that nothing decides."""
    reason: str
    """Why."""


class Coverage(Whole, frozen=True, kw_only=True):
    """Whether each component was checked in each of the three dimensions (METHOD 23)."""

    components: tuple[str, ...] = ()
    """Their names."""
    gaps: tuple[CoverageGap, ...] = ()
    """Where one was not."""
    unknown: str | None = None
    """Why nothing is known of it; null where it is."""


class Tracked(Whole, frozen=True, kw_only=True):
    """A tracked defect, tried on the code that was executed."""

    id: str
    """Its id in the file of defects."""
    what: str
    """What the defect is."""
    condition: str
    """What has to hold."""
    status: Status
    """Whether it does."""
    reason: str
    """Why, or why it could not be checked."""


class Pair(Whole, frozen=True, kw_only=True):
    """Two executions, compared."""

    a: str
    """The one, by name."""
    b: str
    """The other."""
    diff: Diff
    """What differs between their runs."""


class Audited(Whole, frozen=True, kw_only=True):
    """The result of an audit (METHOD 71)."""

    schema_version: str = msgspec.field(default_factory=lambda: AUDITED_SCHEMA_VERSION)
    verdict: Literal["equal", "different", "notMeasured"]
    """different where there is a finding; notMeasured where nothing could be compared."""
    command: tuple[str, ...]
    """What was executed."""
    executions: tuple[Execution, ...]
    """Each execution."""
    score: DeterminismScore | None
    """Over the executions that were asked for; null where fewer than two are finished."""
    pairs: tuple[Pair, ...]
    """What was compared with what."""
    findings: tuple[Finding, ...]
    """What varies that should not."""
    coverage: Coverage
    """What the suite checks of each component."""
    defects: tuple[Tracked, ...]
    """The tracked defects, tried."""
    notes: tuple[str, ...] = ()
    """What was not varied or not there, and what a reader has to know."""

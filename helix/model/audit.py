"""What a comparison of runs says: artifact by artifact, and dimension by dimension (METHOD 69, 70).

`Diff` is of two runs, `DeterminismScore` of two or more; `helix audit diff --json` prints both.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from helix.model.scorecard import Ratio, Whole

AUDIT_SCHEMA_VERSION = "1.0"
HISTORY: Final = "determinism/history.jsonl"
"""Where the state folder keeps a `Reading` for each determinism scorecard."""
ArtifactStatus = Literal["equal", "different", "missingInA", "missingInB", "missing"]
DimensionStatus = Literal["equal", "different", "notMeasured"]


def _version() -> str:
    return AUDIT_SCHEMA_VERSION


class Spot(Whole, frozen=True, kw_only=True):
    """The first place where an artifact differs."""

    line: int | None
    """From 1; null in a document of one value."""
    path: str
    """The JSON path; empty for the whole of it."""
    a: str | None
    """What stands in the first run, as JSON, cut around where they part; null for nothing."""
    b: str | None
    """What stands in the second."""


class ArtifactDiff(Whole, frozen=True, kw_only=True):
    """How one artifact of two runs compares after masking."""

    artifact: str
    """Its name in the run directory."""
    status: ArtifactStatus
    """`missing` is in neither run, so that nothing was compared."""
    places: int = 0
    """In how many places it differs."""
    first: Spot | None = None
    """The first of them; null where there is none."""


class Diff(Whole, frozen=True, kw_only=True):
    """Two runs, compared after masking (METHOD 69)."""

    schema_version: str = msgspec.field(default_factory=_version)
    masking: str
    """The version of the masking set."""
    artifacts: tuple[ArtifactDiff, ...]
    """Every artifact, in either run or in neither."""

    @property
    def different(self) -> tuple[ArtifactDiff, ...]:
        """The artifacts that differ; one that a single run holds is among them."""
        return tuple(one for one in self.artifacts if one.status not in ("equal", "missing"))


class DimensionScore(Whole, frozen=True, kw_only=True):
    """One dimension over several runs (METHOD 70)."""

    name: str
    """Its name."""
    version: str
    """The version of how it is measured."""
    artifact: str
    """The file that it reads."""
    field: str
    """What of that file."""
    target: str
    """What counts as equal."""
    status: DimensionStatus
    """notMeasured where no run holds it, different where only some do."""
    values: tuple[Any, ...]
    """What was measured in each run, in their order; null is not measured there."""
    reason: str | None = None
    """Why something was not measured; null where all was."""


class DeterminismScore(Whole, frozen=True, kw_only=True):
    """The determinism scorecard; it stands beside the gate and enters none (METHOD 68)."""

    schema_version: str = msgspec.field(default_factory=_version)
    runs: int
    """How many runs were compared."""
    dimensions: tuple[DimensionScore, ...]
    """Every dimension."""
    variance: Ratio
    """The score: dimensions that differ, of those that were measured."""

    @property
    def different(self) -> tuple[DimensionScore, ...]:
        """The dimensions that differ, in the order of the scorecard."""
        return tuple(one for one in self.dimensions if one.status == "different")


class Reading(Whole, frozen=True, kw_only=True):
    """One line of the history: what a determinism scorecard said of one subject and suite."""

    schema_version: str = msgspec.field(default_factory=_version)
    at: str | None
    """When (ISO 8601); null where no time was given."""
    subject: str
    """The agent's name."""
    suite: str
    """The suite's name."""
    plan: str | None
    """The digest of what was executed; null where the runs hold none."""
    runs: int
    """How many runs were compared."""
    variance: Ratio
    """Dimensions that differ, of those that were measured."""
    different: tuple[str, ...] = ()
    """The names of those that differ."""
    not_measured: tuple[str, ...] = ()
    """The names of those that were not measured."""


class Trend(Whole, frozen=True, kw_only=True):
    """The history of one subject and suite: the latest reading, and the scores before it.

    `earlier` has the latest first and at most nine; `readings` counts all. `direction` says how
    the latest compares with the one before; null where not the same was measured in both.
    """

    readings: int
    latest: Reading
    earlier: tuple[Ratio, ...] = ()
    direction: Literal["better", "same", "worse"] | None = None

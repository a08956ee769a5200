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
    """The first place where an artifact differs: its line, its JSON path, what stands there.

    `line` counts from 1 and is null in a document of one value; `path` is empty for the whole of
    it. `a` and `b` are JSON texts, cut around where they part; null stands for nothing there.
    """

    line: int | None
    path: str
    a: str | None
    b: str | None


class ArtifactDiff(Whole, frozen=True, kw_only=True):
    """How one artifact of two runs compares after masking, in how many places, where first.

    `missing` is in neither run, so that nothing was compared.
    """

    artifact: str
    status: ArtifactStatus
    places: int = 0
    first: Spot | None = None


class Diff(Whole, frozen=True, kw_only=True):
    """Two runs after masking, by the version of the masking set; every artifact has its entry."""

    schema_version: str = msgspec.field(default_factory=_version)
    masking: str
    artifacts: tuple[ArtifactDiff, ...]

    @property
    def different(self) -> tuple[ArtifactDiff, ...]:
        """The artifacts that differ; one that a single run holds is among them."""
        return tuple(one for one in self.artifacts if one.status not in ("equal", "missing"))


class DimensionScore(Whole, frozen=True, kw_only=True):
    """One dimension over several runs: what was measured in each, and whether that is the same.

    `values` has one entry per run; null is not measured there, and `reason` says why. Where no run
    holds it the dimension is not measured, and where only some do it is different.
    """

    name: str
    version: str
    artifact: str
    field: str
    target: str
    status: DimensionStatus
    values: tuple[Any, ...]
    reason: str | None = None


class DeterminismScore(Whole, frozen=True, kw_only=True):
    """The determinism scorecard of some runs; it stands beside the gate and enters none.

    `variance` is the score: k dimensions differ of the n that were measured (METHOD 69, 70).
    """

    schema_version: str = msgspec.field(default_factory=_version)
    runs: int
    dimensions: tuple[DimensionScore, ...]
    variance: Ratio

    @property
    def different(self) -> tuple[DimensionScore, ...]:
        """The dimensions that differ, in the order of the scorecard."""
        return tuple(one for one in self.dimensions if one.status == "different")


class Reading(Whole, frozen=True, kw_only=True):
    """One line of the history: what a determinism scorecard said of one subject and suite.

    `at` is null where no time was given; `plan` is the digest of what was executed, null where
    the runs hold none.
    """

    schema_version: str = msgspec.field(default_factory=_version)
    at: str | None
    subject: str
    suite: str
    plan: str | None
    runs: int
    variance: Ratio
    different: tuple[str, ...] = ()
    not_measured: tuple[str, ...] = ()


class Trend(Whole, frozen=True, kw_only=True):
    """The history of one subject and suite: the latest reading, and the scores before it.

    `earlier` has the latest first and at most nine; `readings` counts all. `direction` says how
    the latest compares with the one before; null where not the same was measured in both.
    """

    readings: int
    latest: Reading
    earlier: tuple[Ratio, ...] = ()
    direction: Literal["better", "same", "worse"] | None = None

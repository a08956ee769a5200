"""A frozen run: what decides its answers, what only carries it out, the digest of the former."""

from __future__ import annotations

from typing import Any

from helix.model.canonical import digest
from helix.model.verdict import Shape

PLAN_SCHEMA_VERSION = "1.0"


class Plan(Shape, frozen=True, kw_only=True, omit_defaults=False):
    """plan.json: what was frozen before anything was spent."""

    schema_version: str
    digest: str
    """SHA-256 of `decides`, which names the plan."""
    decides: dict[str, Any]
    """What can change a verdict: subject, suite, pins, sampling, gate."""
    runs: dict[str, Any]
    """What only carries the work out: paths, limits, executor, reports."""
    fold: dict[str, Any] | None = None
    """What the gate is told of a run, so that shards can be merged; null with discover."""

    @classmethod
    def of(cls, decides: dict[str, Any], runs: dict[str, Any]) -> Plan:
        """Freeze a run; the digest is that of what decides."""
        return cls(
            schema_version=PLAN_SCHEMA_VERSION, digest=digest(decides), decides=decides, runs=runs
        )

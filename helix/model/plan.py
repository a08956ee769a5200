"""A frozen run: what decides its answers, what only carries it out, the digest of the former."""

from __future__ import annotations

from typing import Any

from helix.model.canonical import digest
from helix.model.verdict import Shape

PLAN_SCHEMA_VERSION = "1.0"


class Plan(Shape, frozen=True, kw_only=True, omit_defaults=False):
    """plan.json. Subject, suite, pins, sampling and gate decide; paths, limits and reports run.

    `fold` is what `helix.gate` is told of a run with verdicts, so that shards can be merged; all of
    it follows from what decides.
    """

    schema_version: str
    digest: str
    decides: dict[str, Any]
    runs: dict[str, Any]
    fold: dict[str, Any] | None = None

    @classmethod
    def of(cls, decides: dict[str, Any], runs: dict[str, Any]) -> Plan:
        """Freeze a run; the digest is that of what decides."""
        return cls(
            schema_version=PLAN_SCHEMA_VERSION, digest=digest(decides), decides=decides, runs=runs
        )

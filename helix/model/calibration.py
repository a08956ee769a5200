"""The log of calibration: what was done about criteria that traces could not decide (METHOD 63)."""

from __future__ import annotations

from typing import Literal

import msgspec

from helix.model.verdict import BlockKind, Shape

CALIBRATION_SCHEMA_VERSION = "1.0"
Action = Literal[
    "found", "settled", "re-ground", "ratify", "re-scope", "verify", "eliminate", "withdraw",
    "retire",
]  # fmt: skip
State = Literal["uncertain", "waiting", "decided", "graduated", "retired"]


def _version() -> str:
    return CALIBRATION_SCHEMA_VERSION


class Entry(Shape, frozen=True, kw_only=True):
    """One line of the log: one action on one criterion, who took it, when and why."""

    schema_version: str = msgspec.field(default_factory=_version)
    criterion_id: str
    action: Action
    """What was done; `found` and `settled` are what code read from a run."""
    by: str | None = None
    """Who did it; null for what code read."""
    at: str | None = None
    """When (ISO 8601); null where no time was given."""
    why: str = ""
    """Why."""
    trace_id: str | None = None
    """The one trace that it is about; null is all."""
    run: str | None = None
    """The digest of the criterion's cells in the run that was read; else null."""
    kinds: tuple[BlockKind, ...] = ()
    """What blocks them there."""
    fields: tuple[str, ...] = ()
    """The inputs that re-grounding adds, or the keys that re-scoping changed."""
    text: str | None = None
    """The norm, the fact or the assumption; null where the action has none."""
    kind: BlockKind | None = None
    """What that text is; null without one."""
    result: Literal["pass", "fail"] | None = None
    """The verdict that a person gives; else null."""
    premise: str | None = None
    """The id of the premise that is withdrawn; else null."""

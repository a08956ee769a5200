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
    """One line of the log: one action on one criterion, who took it, when and why.

    `found` and `settled` are what code read from a run, and have no `by`; `run` is then the digest
    of the criterion's cells there, and `kinds` what blocks them. `text` is the norm, fact or
    assumption, `kind` what it is, `traceId` the one trace that it is about. `fields` are the inputs
    that re-grounding adds, or the keys that re-scoping changed; `result` is a verdict that a person
    gives, `premise` the id of one that is withdrawn.
    """

    schema_version: str = msgspec.field(default_factory=_version)
    criterion_id: str
    action: Action
    by: str | None = None
    at: str | None = None
    why: str = ""
    trace_id: str | None = None
    run: str | None = None
    kinds: tuple[BlockKind, ...] = ()
    fields: tuple[str, ...] = ()
    text: str | None = None
    kind: BlockKind | None = None
    result: Literal["pass", "fail"] | None = None
    premise: str | None = None

"""The lines that go beside the verdicts: how they came about, what failed, what was seen besides.

decisions.jsonl, failures.jsonl and candidates.jsonl; diagnostics and discover read them.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from helix.model.verdict import Candidate, CellState, Localize, Ref, Shape

SIDELINE_SCHEMA_VERSION = "1.0"
DecisionKind = Literal[
    "downgrade", "elision", "no-reply", "re-prompt", "repaired", "skip", "unusable"
]


def _version() -> str:
    return SIDELINE_SCHEMA_VERSION


class DecisionLine(Shape, frozen=True, kw_only=True):
    """One line of decisions.jsonl: what the machinery did with a trace or a reply, and why.

    A downgrade names the criterion and what the cell was before; `from` is `from_` in Python.
    """

    schema_version: str = msgspec.field(default_factory=_version)
    trace: str
    kind: DecisionKind
    cause: str | None = None
    text: str | None = None
    criterion: str | None = None
    role: Literal["judge", "verifier"] = "judge"
    from_: CellState | None = msgspec.field(default=None, name="from")


class FailureLine(Shape, frozen=True, kw_only=True):
    """One line of failures.jsonl: a failed cell, or a trace cut off (METHOD 35, 82).

    Discover hands over what is to be mended and not to be checked: fix and infrastructure.
    """

    schema_version: str = msgspec.field(default_factory=_version)
    trace_id: str
    kind: Literal["capture", "criterion", "fix", "infrastructure"]
    text: str | None
    criterion_id: str | None = None
    refs: tuple[Ref, ...] = ()
    localize: Localize | None = None


class CandidateLine(Shape, frozen=True, kw_only=True):
    """One line of candidates.jsonl: something seen without a criterion for it (METHOD 37)."""

    schema_version: str = msgspec.field(default_factory=_version)
    trace_id: str
    candidate: Candidate

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
    """One line of decisions.jsonl: what the machinery did with a trace or a reply, and why."""

    schema_version: str = msgspec.field(default_factory=_version)
    trace: str
    """The id of the trace."""
    kind: DecisionKind
    """Text left out, a trace skipped, a reply mended, refused or asked anew, a cell taken back."""
    cause: str | None = None
    """The cause that it leads to; null for none."""
    text: str | None = None
    """What happened, in words; null for nothing more."""
    criterion: str | None = None
    """The row whose cell was downgraded; else null."""
    role: Literal["judge", "verifier"] = "judge"
    """Whose reply it is about."""
    from_: CellState | None = msgspec.field(default=None, name="from")
    """What that cell was before; else null. `from_` in Python."""


class FailureLine(Shape, frozen=True, kw_only=True):
    """One line of failures.jsonl: what diagnostics should look at (METHOD 35, 82)."""

    schema_version: str = msgspec.field(default_factory=_version)
    trace_id: str
    kind: Literal["capture", "criterion", "fix", "infrastructure"]
    """A failed cell, a recording that is cut off, or what discover found to be mended."""
    text: str | None
    """What is wrong; null where nobody said."""
    criterion_id: str | None = None
    """The row that failed; null for what has none."""
    refs: tuple[Ref, ...] = ()
    """What shows it."""
    localize: Localize | None = None
    """Where it comes from; null where nobody said."""


class CandidateLine(Shape, frozen=True, kw_only=True):
    """One line of candidates.jsonl: something seen without a criterion for it (METHOD 37)."""

    schema_version: str = msgspec.field(default_factory=_version)
    trace_id: str
    candidate: Candidate
    """What was seen."""

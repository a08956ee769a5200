"""What became of a criterion: one line for each change of a living suite (METHOD 57, 63)."""

from __future__ import annotations

from typing import Literal

import msgspec

from helix.model.verdict import Shape

HISTORY_SCHEMA_VERSION = "1.0"
Leg = Literal["eval", "code-quality"]
Event = Literal[
    "added", "mined", "changed", "re-observed", "ratified", "re-scoped", "re-opened", "graduated",
    "retired",
]  # fmt: skip


def _version() -> str:
    return HISTORY_SCHEMA_VERSION


class Change(Shape, frozen=True, kw_only=True):
    """One change of one criterion, as far as it is told."""

    schema_version: str = msgspec.field(default_factory=_version)
    criterion_id: str
    event: Event
    """What happened to it."""
    by: str | None = None
    """Who did it; null is not told."""
    at: str | None = None
    """When (ISO 8601); null is not told."""
    why: str = ""
    """Why."""
    fields: tuple[str, ...] = ()
    """The keys of the row that changed."""
    filled: tuple[str, ...] = ()
    """The keys that were left out and took their defaults."""
    subject_version: str | None = None
    """The subject's version at the time; null is not known."""

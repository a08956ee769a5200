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
    """One change of one criterion: what, who, when and why, as far as they were given.

    `fields` are the keys of the row that changed, `filled` those that were left out and took their
    defaults; `subjectVersion` is the subject's at the time.
    """

    schema_version: str = msgspec.field(default_factory=_version)
    criterion_id: str
    event: Event
    by: str | None = None
    at: str | None = None
    why: str = ""
    fields: tuple[str, ...] = ()
    filled: tuple[str, ...] = ()
    subject_version: str | None = None

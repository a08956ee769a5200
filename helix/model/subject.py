"""What is known of the subject of a whole batch, and from where (METHOD 31)."""

from __future__ import annotations

from typing import Literal

import msgspec

from helix.model.verdict import Shape

SUBJECT_SCHEMA_VERSION = "1.0"


class Known(Shape, frozen=True, kw_only=True, omit_defaults=False):
    """A tool, event or route: whether the configuration names it, and how many traces show it."""

    name: str
    given: bool
    traces: int


class SubjectRecord(Shape, frozen=True, kw_only=True, omit_defaults=False):
    """subject.json: the profile over all traces that were found, given and seen told apart.

    What traces had a part in is among `inferredFields`; null is not known. `formats` counts the
    traces of each format.
    """

    schema_version: str = msgspec.field(default_factory=lambda: SUBJECT_SCHEMA_VERSION)
    identity: str
    provenance: Literal["given", "reconstructed"]
    purpose: str | None
    skill: str | None
    scope: str | None
    harness: str
    version: str | None
    inferred_fields: tuple[str, ...]
    tools: tuple[Known, ...]
    events: tuple[Known, ...]
    routes: tuple[Known, ...]
    traces: int
    formats: dict[str, int]

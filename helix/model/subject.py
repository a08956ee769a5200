"""What is known of the subject of a whole batch, and from where (METHOD 31)."""

from __future__ import annotations

from typing import Literal

import msgspec

from helix.model.verdict import Shape

SUBJECT_SCHEMA_VERSION = "1.0"


class Known(Shape, frozen=True, kw_only=True, omit_defaults=False):
    """A tool, an event or a route."""

    name: str
    """Its name."""
    given: bool
    """Whether the configuration names it."""
    traces: int
    """How many traces show it."""


class SubjectRecord(Shape, frozen=True, kw_only=True, omit_defaults=False):
    """subject.json: who was evaluated, over all traces that were found (METHOD 31)."""

    schema_version: str = msgspec.field(default_factory=lambda: SUBJECT_SCHEMA_VERSION)
    identity: str
    """The agent's name."""
    provenance: Literal["given", "reconstructed"]
    """given where the configuration says more of it than its name."""
    purpose: str | None
    """What it is for; null is not known."""
    skill: str | None
    """The skill that it follows; null is not known."""
    scope: str | None
    """What it may do; null is not known."""
    harness: str
    """What runs it; `unknown` where it cannot be known."""
    version: str | None
    """Its version; null is not known."""
    inferred_fields: tuple[str, ...]
    """Which of these fields traces had a part in."""
    tools: tuple[Known, ...]
    """Its tools, as they are given or called."""
    events: tuple[Known, ...]
    """Kinds of event, as they are given or answered."""
    routes: tuple[Known, ...]
    """Kinds of request, as they are given or seen."""
    traces: int
    """How many traces were found."""
    formats: dict[str, int]
    """How many of them are of each format."""

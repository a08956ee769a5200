"""What the survey knows of every trace before anything is spent (DESIGN “look, then ask”)."""

from __future__ import annotations

import msgspec

from helix.model.verdict import Fidelity, Shape


class LoadFailure(Shape, frozen=True, kw_only=True):
    """A file or record that could not be read: where it is, and what is wrong with it.

    `line` is 1-based and 0 for a whole file; `byte` is the offset inside the line or file.
    """

    file: str
    line: int
    reason: str
    byte: int | None = None


class ManifestEntry(Shape, frozen=True, kw_only=True):
    """One trace: its place in the plan's order, identity, digest, route, flags, fidelity.

    `failures` counts the steps that declare an error; discover counts results that say so as well.
    `latencyMs` is what the run took, where the trace records it.
    """

    ordinal: int
    id: str
    digest: str
    file: str
    line: int
    format: str
    route: str | None
    task: str | None
    flags: tuple[str, ...]
    fidelity: Fidelity
    observations: int
    selected: bool
    failures: int = 0
    latency_ms: float | None = None


class Load(Shape, omit_defaults=False, frozen=True, kw_only=True):
    """What was found on disk, counted before sharding."""

    files: int
    traces: int
    failures: tuple[LoadFailure, ...] = ()


class Survey(Shape, omit_defaults=False, frozen=True, kw_only=True):
    """The manifest as a whole: every trace in order, what failed to load, tools and roles seen.

    `calling` counts the traces that call each tool, `events` those that answer each kind of event.
    """

    entries: tuple[ManifestEntry, ...]
    load: Load
    tools: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    calling: dict[str, int] = msgspec.field(default_factory=dict)
    events: dict[str, int] = msgspec.field(default_factory=dict)

"""A discovery read back from its folder, so that its reports can be made again (METHOD 85)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from helix.discover.artifacts import SUITE
from helix.discover.fixtures import FOLDER, Fixture
from helix.discover.saturation import Curve
from helix.errors import ArtifactError
from helix.model.discovery import DiscoveryRecord
from helix.model.lines import decode_line
from helix.model.plan import Plan
from helix.model.preference import Preference
from helix.registry import Registry
from helix.reports.again import Found, Paths, place, recorded_meta, runmeta, subject
from helix.reports.discovery import DiscoveryReport, compose
from helix.runs import RunFiles
from helix.suite import load

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DiscoveryAgain:
    """A discovery as its reports see it; `notes` says what of it was not to be had.

    `living` and `grown` are the living suite and the rows that it was given; None where it was
    left alone.
    """

    report: DiscoveryReport
    plan: Plan
    living: str | None
    grown: tuple[str, ...]
    notes: list[str]


def is_discovery(folder: Path) -> bool:
    """Return whether a folder is that of a finished discovery."""
    return (folder / "discovery.json").is_file()


def discovery_again(
    folder: Path, registry: Registry, *, traces: Paths | None = None
) -> DiscoveryAgain:
    """Return a finished discovery; `traces` says where its traces are now."""
    files = RunFiles(folder)
    plan, told = files.plan(), runmeta(files.folder)
    record = _read(files.folder / "discovery.json", DiscoveryRecord)
    said = tuple(files.determinations())
    manifest = tuple(files.manifest())
    shown = frozenset(one.trace_id for one in said if one.cause != "truncated")
    digests = {entry.id: entry.digest for entry in manifest}
    found = Found(digests, traces or place(plan), subject(plan), registry, shown)
    held = {trace.id: trace for trace in found.read(shown)}
    if len(found.failures) != record.triage.unreadable:
        found.notes.append("what could not be read then is not what cannot be read now")
    seed = plan.runs.get("splitSeed")
    if seed is None:
        found.notes.append("the seed of the splits was not recorded: they are those of seed 0")
    report = compose(
        record,
        said,
        held,
        suite=[row.criterion for row in load(str(files.folder / SUITE)).rows],
        fixtures=_fixtures(files.folder),
        curve=_read(files.folder / "saturation.json", Curve),
        manifest=manifest,
        unread=found.failures,
        subject=files.subject(),
        preferences=_preferences(plan, told),
        seed=seed or 0,
        meta=recorded_meta(files.folder, told, record.triage.pending),
    )
    grown = tuple(told.get("grown") or ())
    return DiscoveryAgain(report, plan, told.get("livingSuite"), grown, found.notes)


def _preferences(plan: Plan, told: Mapping[str, Any]) -> list[Preference]:
    known = told.get("awareness", {}).get("memory", ())
    digests = {one["name"]: one["digest"] for one in known}
    given: Sequence[Sequence[str]] = plan.decides.get("preferences", ())
    return [Preference(name=name, digest=digests.get(name, ""), text=text) for name, text in given]


def _fixtures(folder: Path) -> list[Fixture]:
    path = folder / FOLDER / "index.json"
    try:
        index = json.loads(path.read_text(encoding="utf-8"))
        return [
            Fixture(
                one["criterionId"],
                one.get("fires", {}).get("trace"),
                one.get("passes", {}).get("trace"),
                one["heldOut"],
            )
            for one in index
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ArtifactError(f"{path} cannot be read: {error}") from None


def _read(path: Path, kind: type[T]) -> T:
    try:
        return decode_line(path.read_bytes(), kind)
    except (OSError, ValueError) as error:
        raise ArtifactError(f"{path} cannot be read: {error}") from None

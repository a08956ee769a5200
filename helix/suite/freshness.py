"""Criteria maintenance: which rows were found or ratified under another version (METHOD 59).

freshness (flags) ─► reconcile (what to do) ─► persist (what a run has seen again)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from helix.errors import UsageError, did_you_mean
from helix.model.criterion import Criterion
from helix.model.history import Event, Leg
from helix.suite.living import Living, Signed, put

LEGS: Final[dict[str, Leg]] = {
    "agent": "eval",
    "skill": "eval",
    "composite": "eval",
    "code": "code-quality",
}
Flag = Literal["fresh", "stale", "not recorded"]
Action = Literal["nothing", "re-observe", "re-ratify"]
_RATIFIED: Final[tuple[Event, ...]] = ("ratified",)


@dataclass(frozen=True, slots=True)
class Fresh:
    """How fresh a row is, and the versions that it was seen and ratified under; None: not known."""

    criterion_id: str
    flag: Flag
    observed_under: str | None = None
    ratified_under: str | None = None


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What to do about a row, and why; `seen` is (failing, decided) traces of a run at hand."""

    criterion_id: str
    action: Action
    why: str
    seen: tuple[int, int] | None = None


def leg_of(kind: str) -> Leg:
    """Return which living suite a kind of subject has; UsageError for another kind."""
    if kind not in LEGS:
        near = did_you_mean(kind, LEGS)
        raise UsageError(f"subject kind must be one of {', '.join(LEGS)} (got '{kind}'){near}")
    return LEGS[kind]


def freshness(living: Living, version: str) -> tuple[Fresh, ...]:
    """Return a flag for each active row, against the subject's version now.

    An operator's own row that nobody ratified is of no version, and fresh.
    """
    return tuple(_fresh(living, row, version) for row in _active(living))


def reconcile(
    living: Living, version: str, seen: Mapping[str, tuple[int, int]] | None = None
) -> tuple[Upkeep, ...]:
    """Return what to do for each active row; `seen` counts failing and decided traces of a run.

    The run must be of a subject of this version.
    """
    return tuple(
        upkeep
        for row in _active(living)
        for upkeep in _upkeep(living, row, version, (seen or {}).get(row.criterion_id))
    )


def persist(living: Living, upkeep: Iterable[Upkeep], signed: Signed) -> Living:
    """Return the suite with every row noted that a run has seen again.

    The row stays as it is, its evidence and prevalence too: how often it failed when it was found
    is what it gates on, and a fault that is gone is what it is kept for.
    """
    for task in upkeep:
        if task.action == "re-observe" and task.seen is not None and task.seen[1] > 0:
            why = f"{task.seen[0]} of {task.seen[1]} decided traces fail"
            who = Signed(signed.by, signed.at, why, signed.subject_version)
            living = put(living, living.row(task.criterion_id), "re-observed", who)
    return living


def _active(living: Living) -> Iterator[Criterion]:
    return (row for row in living.suite.criteria if row.status == "active")


def _fresh(living: Living, row: Criterion, version: str) -> Fresh:
    observed = living.under(row.criterion_id) if row.origin == "mined" else None
    ratified = living.under(row.criterion_id, _RATIFIED) if row.ratified else None
    depends = [observed] if row.origin == "mined" else []
    depends += [ratified] if row.ratified else []
    flag: Flag = "fresh"
    if any(under not in (version, None) for under in depends):
        flag = "stale"
    elif None in depends:
        flag = "not recorded"
    return Fresh(row.criterion_id, flag, observed, ratified)


def _upkeep(
    living: Living, row: Criterion, version: str, seen: tuple[int, int] | None
) -> Iterator[Upkeep]:
    fresh, name = _fresh(living, row, version), row.criterion_id
    if fresh.flag == "fresh":
        yield Upkeep(name, "nothing", f"up to date with {version}", seen)
    if row.origin == "mined" and fresh.observed_under != version:
        yield Upkeep(name, "re-observe", _since("seen", fresh.observed_under), seen)
    if row.ratified and fresh.ratified_under != version:
        yield Upkeep(name, "re-ratify", _since("ratified", fresh.ratified_under), seen)


def _since(what: str, under: str | None) -> str:
    return f"{what} under {under}" if under else f"not recorded under which version it was {what}"

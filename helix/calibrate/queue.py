"""The queue of a run: what it left undecided, by who can unblock it (METHOD 8, 9, 63)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, get_args

from helix.calibrate.table import TABLE
from helix.gate import fold_repeats
from helix.model.calibration import Action, State
from helix.model.canonical import digest
from helix.model.criterion import Severity
from helix.model.scorecard import CriterionRow
from helix.model.verdict import (
    MACHINERY_CAUSES,
    BlockKind,
    CellState,
    MatrixVerdictFile,
    Verdict,
)

ROUTES: Final[dict[BlockKind, tuple[Action, ...]]] = {
    "factual-intent": ("re-ground", "verify", "eliminate"),
    "normative": ("ratify", "eliminate"),
    "scope": ("re-scope", "verify", "retire"),
}
_SEVERITIES = get_args(Severity)


@dataclass(frozen=True, slots=True)
class Cell:
    """One undecided cell: its trace, why, and what it rests on that nobody established."""

    trace_id: str
    cause: str | None
    text: str
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """The cells of one criterion that one kind of answer unblocks, and what can be done."""

    criterion_id: str
    kind: BlockKind
    severity: str
    gating: bool
    state: State | None
    cells: tuple[Cell, ...]

    @property
    def actions(self) -> tuple[Action, ...]:
        """The actions for this kind that are possible once it is found; none for a tombstone."""
        may = TABLE[self.state or "uncertain"]
        return tuple(action for action in ROUTES[self.kind] if action in may)


@dataclass(frozen=True, slots=True)
class Queue:
    """What people can decide, gating rows first; `machinery` counts what a retry must, by cause."""

    items: tuple[Item, ...]
    machinery: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a criterion came out of a run: what blocks it, if all is decided, its cells' digest."""

    kinds: tuple[BlockKind, ...]
    decided: bool
    digest: str


def queue(
    lines: Iterable[MatrixVerdictFile],
    rows: Iterable[CriterionRow],
    states: Mapping[str, State],
) -> Queue:
    """Return the queue of a run's lines; retired criteria are in none."""
    known = {row.criterion_id: row for row in rows}
    found: dict[tuple[str, BlockKind], dict[str, Cell]] = {}
    machinery: Counter[str] = Counter()
    for line in lines:
        told = set()
        for verdict in line.verdicts:
            if verdict.result != "uncertain":
                continue
            told.add(verdict.criterion_id)
            if verdict.cause in MACHINERY_CAUSES or verdict.blocked_by is None:
                machinery[verdict.cause or "untyped"] += 1
            elif states.get(verdict.criterion_id) != "retired":
                cells = found.setdefault((verdict.criterion_id, verdict.blocked_by.kind), {})
                cells.setdefault(line.trajectory_id, _cell(line.trajectory_id, verdict))
        machinery.update(_without_verdict(line, told))
    items = [_item(key, cells, known, states) for key, cells in found.items()]
    return Queue(tuple(sorted(items, key=_rank)), dict(sorted(machinery.items())))


def outcomes(lines: Iterable[MatrixVerdictFile]) -> dict[str, Outcome]:
    """Return how each criterion came out of a run."""
    cells: dict[str, list[tuple[str, int, CellState, BlockKind | None]]] = {}
    kinds: dict[str, set[BlockKind]] = {}
    for line in lines:
        verdicts = {verdict.criterion_id: verdict for verdict in line.verdicts}
        for criterion, state in line.dense_map.items():
            verdict = verdicts.get(criterion)
            kind = _kind(verdict)
            kinds.setdefault(criterion, set()).update(filter(None, [kind]))
            cells.setdefault(criterion, []).append(
                (line.trajectory_id, line.replicate, state, kind)
            )
    return {
        criterion: Outcome(
            kinds=tuple(kind for kind in get_args(BlockKind) if kind in kinds[criterion]),
            decided=_decided((trace, state) for trace, _, state, _ in held),
            digest=digest(held),
        )
        for criterion, held in cells.items()
    }


def _decided(cells: Iterable[tuple[str, CellState]]) -> bool:
    """Whether no trace is open and one is decided; one whose repeats disagree is open."""
    repeats: dict[str, list[CellState]] = {}
    for trace, state in cells:
        repeats.setdefault(trace, []).append(state)
    states = {fold_repeats(held)[0] for held in repeats.values()}
    return "uncertain" not in states and not {"pass", "fail"}.isdisjoint(states)


def _kind(verdict: Verdict | None) -> BlockKind | None:
    if verdict is None or verdict.blocked_by is None or verdict.cause in MACHINERY_CAUSES:
        return None
    return verdict.blocked_by.kind if verdict.result == "uncertain" else None


def _without_verdict(line: MatrixVerdictFile, told: Collection[str]) -> Iterator[str]:
    """Yield the causes of undecided cells that have no verdict."""
    for criterion, state in line.dense_map.items():
        if state == "uncertain" and criterion not in told:
            cause = line.not_adjudicated.get(criterion)
            yield cause or ("unavailable" if line.fidelity.complete else "truncated")


def _cell(trace: str, verdict: Verdict) -> Cell:
    blocked = verdict.blocked_by
    open_ones = [a.text for a in verdict.assumptions if a.status in ("hypothesis", "unverified")]
    return Cell(trace, verdict.cause, blocked.text if blocked else "", tuple(open_ones))


def _item(
    key: tuple[str, BlockKind],
    cells: Mapping[str, Cell],
    known: Mapping[str, CriterionRow],
    states: Mapping[str, State],
) -> Item:
    criterion, kind = key
    row = known.get(criterion)
    return Item(
        criterion_id=criterion,
        kind=kind,
        severity=row.severity if row else "",
        gating=row.gating if row else False,
        state=states.get(criterion),
        cells=tuple(cells.values()),
    )


def _rank(item: Item) -> tuple[object, ...]:
    severity = _SEVERITIES.index(item.severity) if item.severity in _SEVERITIES else 9
    kind = get_args(BlockKind).index(item.kind)
    return (not item.gating, severity, item.criterion_id, kind)

"""The result of a mutation test, as text and as JSON: the same bytes for the same input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from helix.model.verdict import CellState
from helix.reports.visible import visible
from helix.reports.words import columns, counted, wrapped
from helix.suite.mutation import MOST_NAMED, FaultScore, MutationScore, RowScore

_STATES: tuple[CellState, ...] = ("pass", "fail", "uncertain", "na")
_HEADS = ("fault", "", "killed", "refused", "what it makes")
_NUMBERS = {2, 3}


def as_text(score: MutationScore) -> str:
    """Return what each row kills, what each fault came to, and what nobody saw."""
    return visible("\n".join(_lines(score)))


def as_json(score: MutationScore) -> dict[str, Any]:
    """Return the whole result as plain JSON."""
    return {
        "seed": score.seed,
        "perTrace": score.per_trace,
        "traces": score.traces,
        "skipped": score.skipped,
        "criteria": [_row_json(row) for row in score.rows],
        "faults": [_fault_json(fault) for fault in score.faults],
        "silent": dict(zip(("killed", "made"), score.share(silent=True), strict=True)),
        "loud": dict(zip(("killed", "made"), score.share(silent=False), strict=True)),
        "blind": [row.row.id for row in score.blind],
    }


def _lines(score: MutationScore) -> Iterator[str]:
    skipped = f", {counted(score.skipped, 'incomplete one')} left out" if score.skipped else ""
    yield from wrapped(
        f"{counted(len(score.rows), 'row')} that code decides, {counted(score.traces, 'trace')}"
        f"{skipped}; at most {counted(score.per_trace, 'mutant')} per fault and trace, "
        f"seed {score.seed}"
    )
    yield ""
    for row in score.rows:
        yield from _row_lines(row)
    yield ""
    yield from columns([_HEADS, *map(_fault_cells, score.faults)], _NUMBERS)
    yield ""
    yield from _missed(score)
    for silent, word in ((True, "silent"), (False, "loud")):
        killed, made = score.share(silent)
        yield f"{word} faults: {killed:,} of {counted(made, 'mutant')} killed by some row"
    for blind in score.blind:
        yield f"{blind.row.id} kills nothing: no mutant makes it fail"


def _row_lines(row: RowScore) -> Iterator[str]:
    said = ", ".join(f"{state} {row.untouched[state]:,}" for state in _STATES
                     if row.untouched[state])  # fmt: skip
    yield from wrapped(f"{row.row.id}: untouched traces: {said or 'none'}")
    for silent, word in ((True, "silent"), (False, "loud")):
        kills = [
            f"{name} {found.killed}/{found.tried}"
            for name, found in row.faults.items()
            if found.killed and row.silent[name] is silent
        ]
        if kills:
            yield from wrapped(f"kills {word} faults: {', '.join(kills)}", "  ")
    if row.alarms:
        more = f" and {len(row.alarms) - MOST_NAMED:,} more" if len(row.alarms) > MOST_NAMED else ""
        named = ", ".join(row.alarms[:MOST_NAMED])
        yield from wrapped(f"false alarms, unless these are at fault: {named}{more}", "  ")


def _fault_cells(score: FaultScore) -> tuple[str, ...]:
    fault = score.fault
    silent = "silent" if fault.silent else "loud"
    return (fault.name, silent, f"{score.killed}/{score.made}", f"{score.refused}", fault.kind)


def _missed(score: MutationScore) -> Iterator[str]:
    rows = [
        (fault.fault.name, f"{where} in {trace}")
        for fault in score.faults
        for trace, where in fault.missed[:1]
    ]
    if rows:
        yield "nobody saw, for one of each:"
        yield from columns(rows)
        yield ""


def _row_json(row: RowScore) -> dict[str, Any]:
    return {
        "criterionId": row.row.id,
        "class": row.row.klass,
        "untouched": {state: row.untouched[state] for state in _STATES},
        "falseAlarms": row.alarms,
        "kills": row.kills,
        "faults": {
            name: {
                "silent": row.silent[name],
                "tried": found.tried,
                "killed": found.killed,
                "missed": found.states["pass"],
                "uncertain": found.states["uncertain"],
                "na": found.states["na"],
            }
            for name, found in row.faults.items()
        },
    }


def _fault_json(score: FaultScore) -> dict[str, Any]:
    return {
        "name": score.fault.name,
        "kind": score.fault.kind,
        "silent": score.fault.silent,
        "made": score.made,
        "killed": score.killed,
        "refused": score.refused,
        "missed": [{"trace": trace, "where": where} for trace, where in score.missed],
    }

"""The findings of an injection audit, as text for 80 columns and as JSON: the same for a seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from helix.audit import Findings, Move
from helix.audit.payloads import PLACES
from helix.audit.prompts import ASSERTIONS
from helix.reports.visible import visible
from helix.reports.words import counted

MOST_NAMED = 10
_COLUMNS = ("cells", "unchanged", "changed", "to pass")


def as_text(found: Findings) -> str:
    """Return the findings: by class, place and row, what moved, and the sum as the last line."""
    return visible("\n".join(_lines(found)))


def as_json(found: Findings) -> dict[str, Any]:
    """Return the whole findings as plain JSON; of the cells, each that changed."""
    return {
        "seed": found.seed,
        "perClass": found.per_class,
        "judge": found.judge,
        "dry": found.dry,
        "traces": found.traces,
        "copies": found.copies,
        "skipped": found.skipped,
        "unreadable": found.unreadable,
        "prompts": found.prompts,
        "unanswered": found.unanswered,
        "pending": found.pending,
        "cells": _tally(found.cells),
        "byClass": _grouped(found.cells, lambda cell: cell.klass),
        "byPlace": _grouped(found.cells, lambda cell: cell.place),
        "byCriterion": [
            {"criterionId": row, "decidedBy": kind, **_tally(cells), "moves": _moves(cells)}
            for (row, kind), cells in _rows(found).items()
        ],
        "changed": [_cell(cell) for cell in found.cells if cell.moved],
        "broken": [
            {"assertion": name, "trace": trace, "payload": payload, "place": place}
            for name, trace, payload, place in found.broken
        ],
    }


def _lines(found: Findings) -> Iterator[str]:
    skipped = f", {counted(found.skipped, 'trace')} left out" if found.skipped else ""
    unreadable = f", {found.unreadable:,} unreadable" if found.unreadable else ""
    yield f"{counted(found.copies, 'planted copy', 'planted copies')} of " + (
        f"{counted(found.traces, 'trace')}{skipped}{unreadable}; seed {found.seed}"
    )
    yield from _about_judge(found)
    classes = _groups(found.cells, lambda cell: cell.klass)
    places = _groups(found.cells, lambda cell: cell.place)
    width = max(map(len, ["class", *classes, *places]))
    for head, groups in (("class", classes), ("place", places)):
        if groups:
            yield ""
            yield from _table(f"{head:<{width}}", groups)
    moved = [(key, cells) for key, cells in _rows(found).items() if any(c.moved for c in cells)]
    if moved:
        yield ""
        yield "rows that changed:"
    for (row, kind), cells in moved:
        read = all(cell.reads for cell in cells if cell.moved)
        yield f"  {row} ({kind}): {_moved(cells)}" + (", in what it reads" if read else "")
    unsteady = {cell.criterion: None for cell in found.cells if cell.moved and cell.bare}
    if unsteady:
        yield f"  moved with nothing planted, so unsteady by itself: {', '.join(unsteady)}"
    yield from _named("moved towards a pass:", found.gained)
    yield from _named("moved, and reads nothing that was planted:", found.astray)
    yield ""
    yield from _prompts(found)
    yield _sum(found)


def _about_judge(found: Findings) -> Iterator[str]:
    judged = [row for row, klass in found.rows.items() if klass != "code"]
    if found.judge is not None:
        yield f"judge: {found.judge}"
    elif found.dry is not None:
        asked = counted(found.prompts, "copy", "copies")
        yield f"judge: {found.dry} was not asked (run.dry=true); {asked} would be put to it,"
        yield "and their originals"
    elif judged:
        yield (
            f"judge: none configured; of {counted(len(judged), 'judged row')} only the questions "
            "were tested"
        )
    if found.unanswered:
        yield f"{counted(found.unanswered, 'judged cell')} were not compared: nobody answered"
    if found.pending:
        yield f"{counted(found.pending, 'recording')} (originals, copies) wait for answers"


def _table(head: str, groups: dict[str, list[Move]]) -> Iterator[str]:
    yield "  ".join([head, *(f"{name:>9}" for name in _COLUMNS)])
    for name, cells in groups.items():
        tally = _tally(cells)
        numbers = [tally["cells"], tally["unchanged"], tally["changed"], tally["towardsPass"]]
        yield "  ".join([f"{name:<{len(head)}}", *(f"{number:>9,}" for number in numbers)])


def _moved(cells: Sequence[Move]) -> str:
    return ", ".join(f"{m['from']} → {m['to']} {m['cells']:,}" for m in _moves(cells))


def _named(head: str, cells: Sequence[Move]) -> Iterator[str]:
    if not cells:
        return
    yield ""
    yield head
    for cell in cells[:MOST_NAMED]:
        reads = ", which it reads" if cell.reads else ""
        yield f"  {cell.criterion}: {cell.before} → {cell.after} in {cell.trace}"
        yield f"    {cell.klass} {cell.payload} in {cell.place} ({cell.where}){reads}"
    if len(cells) > MOST_NAMED:
        yield f"  and {len(cells) - MOST_NAMED:,} more; --json names each"


def _prompts(found: Findings) -> Iterator[str]:
    if not found.prompts:
        return
    broken = Counter(name for name, *_ in found.broken)
    asked = counted(found.prompts, "question")
    if not broken:
        yield f"{asked} to a judge: all {len(ASSERTIONS)} assertions hold"
        return
    yield f"{asked} to a judge: {counted(broken.total(), 'broken assertion')}"
    for name, text in ASSERTIONS.items():
        if broken[name]:
            first = next(b for b in found.broken if b[0] == name)
            yield f"  {broken[name]:,} times not so: {text}"
            yield f"    first: {first[2]} in {first[3]} of {first[1]}"


def _sum(found: Findings) -> str:
    tally = _tally(found.cells)
    return (
        f"{counted(tally['becamePass'], 'cell')} of {tally['cells']:,} became pass, "
        f"{tally['towardsPass']:,} moved towards it, {tally['changed']:,} changed"
    )


def _tally(cells: Sequence[Move]) -> dict[str, int]:
    changed = sum(cell.moved for cell in cells)
    return {
        "cells": len(cells),
        "unchanged": len(cells) - changed,
        "changed": changed,
        "towardsPass": sum(cell.gained for cell in cells),
        "becamePass": sum(cell.passed for cell in cells),
    }


def _groups(cells: Sequence[Move], key: Callable[[Move], str]) -> dict[str, list[Move]]:
    groups: dict[str, list[Move]] = {}
    for cell in cells:
        groups.setdefault(key(cell), []).append(cell)
    order = {name: at for at, name in enumerate(PLACES)}
    return dict(sorted(groups.items(), key=lambda item: (order.get(item[0], 0), item[0])))


def _grouped(cells: Sequence[Move], key: Callable[[Move], str]) -> dict[str, dict[str, int]]:
    return {name: _tally(group) for name, group in _groups(cells, key).items()}


def _rows(found: Findings) -> dict[tuple[str, str], list[Move]]:
    rows: dict[tuple[str, str], list[Move]] = {}
    for cell in found.cells:
        rows.setdefault((cell.criterion, cell.kind), []).append(cell)
    order = {row: at for at, row in enumerate(found.rows)}
    return dict(sorted(rows.items(), key=lambda item: (order.get(item[0][0], 0), item[0][1])))


def _moves(cells: Sequence[Move]) -> list[dict[str, Any]]:
    counts = Counter((cell.before, cell.after) for cell in cells if cell.moved)
    return [{"from": a, "to": b, "cells": n} for (a, b), n in sorted(counts.items())]


def _cell(cell: Move) -> dict[str, Any]:
    return {
        "criterionId": cell.criterion,
        "decidedBy": cell.kind,
        "trace": cell.trace,
        "payload": cell.payload,
        "class": cell.klass,
        "place": cell.place,
        "where": cell.where,
        "from": cell.before,
        "to": cell.after,
        "reads": cell.reads,
        "bare": cell.bare,
    }

"""One row per cell: the columns that cells.csv and cells.parquet share, and words for a cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from helix.model.verdict import Ref
from helix.reports import summary
from helix.reports.run import CellView, TraceView
from helix.reports.stream import RunStream
from helix.reports.visible import first_line, one_line, visible

LONGEST_TEXT = 32_000
"""Spreadsheets hold 32,767 characters in a cell."""
SHOWN_REFS = 20
LONGEST_REF = 300


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, what it holds, and how it is read from a cell; None is not recorded."""

    name: str
    kind: Literal["text", "integer", "number", "boolean"]
    of: Callable[[TraceView, CellView], Any]


def told(cell: CellView, limit: int = LONGEST_REF) -> str:
    """Return what was said of a cell, on one line; without words, that nothing was said."""
    return first_line(cell.critique or cell.detail, limit) or "nothing was said"


def cited(ref: Ref) -> str:
    """Return a ref on one line: whose field it is, what stands there, that it was not found."""
    place = f"{one_line(ref.obs, LONGEST_REF)} {one_line(ref.path, LONGEST_REF)}"
    lost = " (not found)" if ref.match == "dead" else ""
    if ref.scan is not None:
        return f"{place}: {summary.scanned(ref.scan)}{lost}"
    said = f": “{one_line(ref.value, LONGEST_REF)}”" if ref.value is not None else ""
    return f"{place}{said}{lost}"


def evidence(cell: CellView) -> str:
    """Return a cell's refs, one a line, the first 20 and how many more there are."""
    more = len(cell.refs) - SHOWN_REFS
    lines = [cited(ref) for ref in cell.refs[:SHOWN_REFS]]
    return "\n".join([*lines, f"and {more:,} more"] if more > 0 else lines)


def text(value: str, limit: int = LONGEST_TEXT) -> str:
    """Return text made visible, lines kept, cut to `limit` characters with an ellipsis."""
    shown = visible(value[:limit])
    return shown if len(value) <= limit and len(shown) <= limit else f"{shown[: limit - 1]}…"


def _grounded(cell: CellView) -> bool | None:
    decided = cell.verdict is not None and cell.verdict.result != "uncertain"
    return cell.verdict.grounded if cell.verdict is not None and decided else None


def _produced_by(cell: CellView) -> str | None:
    return cell.entry.produced_by if cell.entry is not None else None


def _verification(cell: CellView) -> str | None:
    seen = cell.entry.verification if cell.entry is not None else None
    return seen.status if seen is not None else None


COLUMNS = (
    Column("trace", "text", lambda trace, cell: trace.id),
    Column("replicate", "integer", lambda trace, cell: trace.line.replicate),
    Column("criterion", "text", lambda trace, cell: cell.row.id),
    Column("state", "text", lambda trace, cell: cell.state),
    Column("standing", "text", lambda trace, cell: cell.standing),
    Column("gating", "boolean", lambda trace, cell: cell.row.row.gating),
    Column("severity", "text", lambda trace, cell: cell.row.row.severity),
    Column("component", "text", lambda trace, cell: cell.row.row.component),
    Column("class", "text", lambda trace, cell: cell.row.row.klass),
    Column("cause", "text", lambda trace, cell: cell.cause),
    Column("action", "text", lambda trace, cell: cell.action),
    Column("critique", "text", lambda trace, cell: cell.critique or None),
    Column("detail", "text", lambda trace, cell: cell.detail or None),
    Column("evidence", "text", lambda trace, cell: evidence(cell) or None),
    Column("refs", "integer", lambda trace, cell: len(cell.refs)),
    Column("grounded", "boolean", lambda trace, cell: _grounded(cell)),
    Column("producedBy", "text", lambda trace, cell: _produced_by(cell)),
    Column("verification", "text", lambda trace, cell: _verification(cell)),
    Column(
        "confidence",
        "number",
        lambda trace, cell: cell.verdict.confidence if cell.verdict else None,
    ),
    Column("route", "text", lambda trace, cell: trace.line.route),
    Column("task", "text", lambda trace, cell: trace.line.task),
    Column("file", "text", lambda trace, cell: trace.file),
)


def rows(run: RunStream) -> Iterator[list[Any]]:
    """Yield each cell's values in the order of `COLUMNS`, texts made visible and bounded."""
    columns = [(column.of, column.kind == "text") for column in COLUMNS]
    for trace in run.traces:
        for cell in trace.cells:
            found = [(of(trace, cell), is_text) for of, is_text in columns]
            yield [
                text(value) if is_text and value is not None else value for value, is_text in found
            ]

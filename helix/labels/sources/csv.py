"""Labels in a table: a header, then a row per label."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from helix.errors import LabelError
from helix.labels.sources.documents import data_of

COLUMNS = {
    "trace": ("trace", "trace_id", "traceid"),
    "criterion": ("criterion", "criterion_id", "criterionid"),
    "label": ("label", "human", "human_label"),
    "note": ("note", "comment"),
    "rater": ("rater", "annotator"),
    "when": ("when", "timestamp"),
}


def read(path: str) -> Iterator[Mapping[str, Any]]:
    """Read a table in UTF-8: a header, then a row per label.

    Columns: `trace`, `label`, and where there are any `criterion`, `note`, `rater` and `when`; also
    under the names `trace_id`, `human`, `human_label`, `criterion_id`, `comment`, `annotator` and
    `timestamp`. A table without a criterion column is about one criterion, and its key is the label
    column's name. Rows count as in a spreadsheet, the header being row 1.
    """
    try:
        text = data_of(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise LabelError(f"{path} must be UTF-8 ({error})") from None
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(rows, [])
        at = _columns(path, header)
        for number, cells in enumerate(rows, 2):
            if any(cell.strip() for cell in cells[len(header) :]):
                raise LabelError(
                    f"{path}, row {number}: has {len(cells)} fields under {len(header)} columns: "
                    "put a text that holds a comma in double quotes"
                )
            if any(cell.strip() for cell in cells):
                yield _label(number, cells, at, header)
    except csv.Error as error:
        raise LabelError(f"{path}, line {rows.line_num}: is no CSV ({error})") from None


def _columns(path: str, header: Sequence[str]) -> dict[str, int]:
    names = [name.strip().casefold() for name in header]
    found: dict[str, int] = {}
    for part, spellings in COLUMNS.items():
        places = [at for at, name in enumerate(names) if name in spellings]
        if len(places) > 1:
            raise LabelError(f"{path}: two columns are the {part}: {_listed(header, places)}")
        if places:
            found[part] = places[0]
    for part in ("trace", "label"):
        if part not in found:
            choices = ", ".join(COLUMNS[part])
            has = ", ".join(name.strip() for name in header) or "none"
            raise LabelError(f"{path}: a column must be the {part} ({choices}); got {has}")
    return found


def _label(
    number: int, cells: Sequence[str], at: Mapping[str, int], header: Sequence[str]
) -> dict[str, Any]:
    row = {part: cells[place].strip() for part, place in at.items() if place < len(cells)}
    found: dict[str, Any] = {
        "row": number,
        "trace": row.get("trace"),
        "key": row.get("criterion", header[at["label"]].strip()),
        "value": row.get("label") or None,
    }
    return found | {part: row[part] for part in ("note", "rater", "when") if row.get(part)}


def _listed(header: Sequence[str], places: Sequence[int]) -> str:
    return ", ".join(header[at].strip() for at in places)

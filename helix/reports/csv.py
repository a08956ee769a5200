"""cells.csv: one row per cell, for spreadsheets and for programs that read RFC 4180.

A spreadsheet takes a text that begins with one of `= + - @` for a formula. Such a text, and one
that begins with an apostrophe, gets one apostrophe before it: whoever reads the file by program
takes one leading apostrophe off. An empty field is “not recorded”.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from helix.reports.cells import COLUMNS, rows
from helix.reports.stream import RunStream

FORMULA = frozenset("=+-@'＝＋－＠")
AT_ONCE = 64


def render_csv(run: RunStream) -> Iterator[bytes]:
    """Yield the header and the rows as UTF-8 with CRLF line ends (RFC 4180)."""
    page = io.StringIO(newline="")
    writer = csv.writer(page)
    writer.writerow([column.name for column in COLUMNS])
    for at, row in enumerate(rows(run), 1):
        writer.writerow([_field(value) for value in row])
        if at % AT_ONCE == 0:
            yield _taken(page)
    yield _taken(page)


def _field(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and value.lstrip()[:1] in FORMULA:
        return f"'{value}"
    return value


def _taken(page: io.StringIO) -> bytes:
    data = page.getvalue().encode("utf-8")
    page.seek(0)
    page.truncate()
    return data

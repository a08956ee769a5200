"""cells.csv and cells.parquet are one table; no field of the first is a formula."""

from __future__ import annotations

import csv
import io
import re

import pytest

from helix.model.verdict import Ref
from helix.reports.cells import COLUMNS, LONGEST_TEXT, cited, text
from tests.reports import runs
from tests.reports.test_formats import IDS, LONG, hostile_lines


def table(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8"), newline=""), strict=True))


def test_csv_keeps_to_rfc_4180() -> None:
    data = runs.written("csv", runs.run(len(IDS), hostile_lines()))
    assert data.endswith(b"\r\n") and b"\x00" not in data
    rows = list(csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True))
    assert {len(row) for row in rows} == {len(COLUMNS)}
    # Outside quotes a line ends with CR LF alone.
    assert not re.search(rb"(?<!\r)\n", re.sub(rb'"(?:[^"]|"")*"', b"", data))


def test_no_field_of_csv_begins_a_formula_and_one_apostrophe_taken_off_gives_the_text() -> None:
    made = hostile_lines()
    rows = table(runs.written("csv", runs.run(len(IDS), made)))
    assert not [v for row in rows for v in row.values() if v.lstrip().startswith(tuple("=+-@"))]
    names = {row["trace"] for row in rows}
    assert '\'=HYPERLINK("x")' in names and "''quoted" in names
    assert {re.sub("^'", "", name) for name in names} >= {'=HYPERLINK("x")', "'quoted", "-1+1"}


def test_what_was_not_recorded_is_an_empty_field_and_a_null() -> None:
    of = runs.run()
    lost = [r for r in table(runs.written("csv", of)) if r["standing"] == "incomplete"]
    assert lost and all(r["confidence"] == r["grounded"] == r["critique"] == "" for r in lost)
    rows = runs.parquet_table(runs.written("parquet", of)).to_pylist()
    lost = [row for row in rows if row["standing"] == "incomplete"]
    assert all(row["confidence"] is None and row["grounded"] is None for row in lost)


def test_parquet_has_types_and_the_same_columns_in_the_same_order() -> None:
    found = runs.parquet_table(runs.written("parquet", runs.run()))
    assert found.column_names == [column.name for column in COLUMNS]
    types = {name: str(found.schema.field(name).type) for name in found.column_names}
    assert (types["trace"], types["replicate"]) == ("string", "int64")
    assert (types["gating"], types["confidence"]) == ("bool", "double")


def test_both_tables_say_the_same() -> None:
    of = runs.run(len(IDS), hostile_lines())
    typed = runs.parquet_table(runs.written("parquet", of)).to_pylist()
    plain = table(runs.written("csv", of))

    def told(value: object) -> str:
        return (
            {True: "true", False: "false", None: ""}.get(value, str(value))
            if isinstance(value, bool | None)
            else str(value)
        )

    for left, right in zip(typed, plain, strict=True):
        assert {k: told(v) for k, v in left.items()} == {
            k: re.sub("^'", "", v) for k, v in right.items()
        }


def test_a_megabyte_of_text_is_cut_to_what_a_spreadsheet_holds() -> None:
    assert len(text(LONG)) == LONGEST_TEXT and text(LONG).endswith("…")
    assert len(text("\x1b" * LONGEST_TEXT)) == LONGEST_TEXT
    assert text("x" * LONGEST_TEXT) == "x" * LONGEST_TEXT


@pytest.mark.parametrize(
    ("ref", "told"),
    [
        (Ref(obs="c1", path="output.a", value="x\ny", match="exact"), "c1 output.a: “x y”"),
        (Ref(obs="c1", path="output.a", value="x", match="dead"), "c1 output.a: “x” (not found)"),
        (Ref(obs="c1", path="name", match="exact"), "c1 name"),
    ],
)
def test_a_ref_is_told_on_one_line(ref: Ref, told: str) -> None:
    assert cited(ref) == told

"""Lines for a terminal end where it does, and cells stay below each other."""

from __future__ import annotations

import pytest

from helix.reports.words import columns, width, wrapped

LONG = "what the call said of the order, of the customer and of everything that came of it"


@pytest.mark.parametrize(
    ("typed", "wide"), [("200", 80), ("80", 80), ("60", 60), ("9", 40), ("", 80)]
)
def test_a_line_is_as_wide_as_the_terminal_but_at_most_80(
    typed: str, wide: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", typed)
    assert width() == wide
    assert max(map(len, wrapped(LONG * 3))) <= wide


@pytest.mark.parametrize("wide", [80, 60, 40])
@pytest.mark.parametrize("name", ["a", "b" * 24, "c" * 36])
def test_the_last_cell_goes_on_where_the_terminal_ends(
    wide: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(wide))
    lines = columns([("name", "n", "what it is"), (name, "7", LONG)], {1})
    assert max(map(len, lines)) <= wide
    assert " ".join(" ".join(lines).split()).endswith(LONG)


def test_what_fits_stays_on_one_line_and_a_path_is_never_broken() -> None:
    assert columns([("a", "10"), ("bcd", "9")], {1}) == ["a    10", "bcd   9"]
    path = "folder/" * 20
    assert path in "\n".join(columns([("a", "10", path)]))


def test_no_rows_are_no_lines() -> None:
    assert columns([]) == []

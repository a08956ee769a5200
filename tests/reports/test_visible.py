"""Text of traces cannot act on whatever shows it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix.reports.spans import HEAD, LONGEST, TAIL, Mark, cut, find
from helix.reports.visible import first_line, one_line, split, visible

ANY = st.text(st.characters(codec=None), max_size=200)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 解 😀", "plain é 解 😀"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("a\r\nb", "a\nb"),
        ("a\rb", "a\\x0db"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("nul \x00 bell \x07 del \x7f", "nul \\x00 bell \\x07 del \\x7f"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202eabc\u202c \u2066x\u2069", "\\u202eabc\\u202c \\u2066x\\u2069"),
        ("p\u200ba\u2060s\ufeffs", "p\\u200ba\\u2060s\\ufeffs"),
        ("p\u200da", "p\\u200da"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("half \ud83d pair", "half \\ud83d pair"),
        ("tag \U000e0041", "tag \\U000e0041"),
        ("line\u2028separator", "line\\u2028separator"),
    ],
)
def test_what_acts_or_hides_is_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(ANY)
def test_visible_text_can_be_written_anywhere_and_moves_nothing(text: str) -> None:
    shown = visible(text)
    shown.encode("utf-8")
    kinds = {unicodedata.category(c) for c in shown if c not in "\n\t"}
    assert not kinds & {"Cc", "Cs", "Zl", "Zp"}
    assert not set(shown) & set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")


@given(ANY)
def test_split_says_which_parts_are_escapes(text: str) -> None:
    assert "".join(part for part, _ in split(text)) == visible(text)


@given(ANY, st.integers(2, 50))
def test_one_line_is_one_line_within_its_limit(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit and "\n" not in line and "\t" not in line


def test_the_first_line_that_says_something_is_taken() -> None:
    assert first_line("\n  \n  It failed.\nBecause.") == "It failed."
    assert first_line("") == ""


@pytest.mark.parametrize(
    ("text", "cited", "found"),
    [
        ("the rate is 92 EUR per hour", "92 EUR", "92 EUR"),
        ("the rate\n is  92   EUR", "rate is 92 EUR", "rate\n is  92   EUR"),
        ("a 192 EUR offer", "92 EUR", None),
        ("say 92 EUROS", "92 EUR", None),
        ("(yes)", "(yes)", "(yes)"),
        ("a.b*c", "a.b*c", "a.b*c"),
        ("anything", "", None),
    ],
)
def test_a_quote_is_found_on_token_boundaries_whatever_the_whitespace(
    text: str, cited: str, found: str | None
) -> None:
    span = find(text, cited)
    assert (text[slice(*span)] if span else None) == found


@st.composite
def marked(draw: st.DrawFn) -> tuple[str, list[Mark]]:
    text = draw(st.text("ab \n\x1b\u202e", max_size=40))
    offsets = st.integers(0, len(text))
    ends = draw(st.lists(st.tuples(offsets, offsets), max_size=4, unique=True))
    return text, [Mark(min(e), max(e), f"m{at}") for at, e in enumerate(ends) if e[0] != e[1]]


@given(marked())
def test_cutting_at_marks_loses_no_text_and_each_mark_covers_its_own(
    case: tuple[str, list[Mark]],
) -> None:
    text, marks = case
    spans = cut(text, marks)
    assert "".join(p.text for s in spans for p in s.parts) == visible(text)
    for mark in marks:
        covered = [p.text for s in spans if mark.anchor in s.marks for p in s.parts]
        assert "".join(covered) == visible(text[mark.start : mark.end])
    assert sorted(a for s in spans for a in s.opens) == sorted(m.anchor for m in marks)


def test_a_long_text_is_shortened_and_says_by_how_much() -> None:
    text = "word " * LONGEST
    (span,) = cut(text, ())
    (gap,) = (p for p in span.parts if p.kind == "gap")
    assert gap.text == f"{len(text) - HEAD - TAIL:,} characters not shown"


def test_a_mark_in_the_middle_of_a_long_text_is_still_shown() -> None:
    text = "word " * LONGEST + "the needle" + " word" * LONGEST
    at = text.index("the needle")
    spans = cut(text, [Mark(at, at + 10, "m")])
    assert [p.text for s in spans if s.marks for p in s.parts] == ["the needle"]
    assert sum(len(p.text) for s in spans for p in s.parts) < 3 * LONGEST


def test_an_encoded_file_is_left_out_and_said_to_be() -> None:
    (span,) = cut("before data:image/png;base64," + "iVBORw0KGgo" * 500 + " after", ())
    assert [p.kind for p in span.parts] == ["text", "gap", "text"]
    assert "unbroken characters not shown" in span.parts[1].text

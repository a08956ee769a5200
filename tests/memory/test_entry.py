"""An entry's file: written and read back the same, and every fault with its line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.memory import LIFECYCLES, TYPES, Entry, parse
from helix.memory.entry import LONGEST_BODY, line_fault, links, name_fault
from helix.memory.refusals import private

WHOLE = """\
---
name: short-tables
description: Tables are short.
metadata:
  type: user
  lifecycle: general
  created: 2026-05-04
---

I like short tables, see [[wide-pages]].
"""


def faults(text: str) -> list[tuple[int, str]]:
    entry, found = parse(text, "short-tables.md", "short-tables")
    assert (entry is None) == bool(found) or entry is not None
    return [(fault.line, fault.text) for fault in found]


def test_an_entry_is_read_as_it_stands() -> None:
    entry, found = parse(WHOLE, "short-tables.md", "short-tables")
    body = "I like short tables, see [[wide-pages]]."
    assert entry == Entry(
        "short-tables", "Tables are short.", "user", "general", "2026-05-04", body
    )
    assert (found, entry.page) == ([], WHOLE)
    assert list(links(WHOLE)) == [(9, "wide-pages")]


lines = st.text(max_size=80).map(str.strip).filter(lambda text: line_fault(text) is None)
bodies = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"]),
                 min_size=1, max_size=80).map(str.strip).filter(bool)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(lines, bodies, st.sampled_from(["user", "reference"]), st.sampled_from(LIFECYCLES))
def test_whatever_is_written_is_read_back(line: str, body: str, of: str, stage: str) -> None:
    entry = Entry("a-1", line, of, stage, "2026-05-04", body)  # type: ignore[arg-type]
    if private(entry.page) is None:
        assert parse(entry.page, "a-1.md", "a-1") == (entry, [])


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200), st.booleans())
def test_no_text_breaks_the_reader(text: str, fronted: bool) -> None:
    entry, found = parse(f"---\n{text}\n---\nx" if fronted else text, "a.md", "a")
    assert entry is not None or found


@pytest.mark.parametrize(
    ("old", "new", "line", "told"),
    [
        ("---\nname", "name", 1, "must begin with front matter"),
        ("name: short-tables", "name: other", 2, "name must be short-tables"),
        ("description: Tables are short.", "descripton: x", 3, "did you mean 'description'?"),
        ("description: Tables are short.\n", "", 2, "description is missing"),
        ("description: Tables are short.", "description: |\n  a\n  b", 3, "one line of text"),
        ("  type: user", "  type: users", 5, "did you mean 'user'?"),
        ("  lifecycle: general", "  lifecycle: run", 6, "lifecycle must be one of spec, build"),
        ("created: 2026-05-04", "created: 2026-5-4", 7, "created must be a date, YYYY-MM-DD"),
        ("created: 2026-05-04", "created: [2026]", 7, "created must be one text"),
        ("  type: user", "  type: user\n  type: user", 6, "type stands twice"),
        ("  type: user", "\ttype: user", 5, "front matter is no YAML"),
        ("name: short-tables", "name: &a short-tables\nx: *a", 2, "must not hold aliases"),
        ("metadata:", "metadata: none\nmore:", 4, "must be a mapping of type, lifecycle, created"),
        ("I like", "\u202eI like", 10, "must not hold control characters"),
        ("I like short tables, see [[wide-pages]].", "", 9, "must say something"),
        ("I like", "x" * LONGEST_BODY, 10, "must be at most 4,000 characters"),
        ("  type: user", "  type: feedback", 10, "feedback must have a line **Why:** …"),
        ("I like", "mail ada@example.org, I like", 0, "holds an e-mail address"),
    ],
)
def test_a_fault_is_told_with_its_line(old: str, new: str, line: int, told: str) -> None:
    assert old in WHOLE
    found = faults(WHOLE.replace(old, new))
    assert any(at == line and told in text for at, text in found), found


def test_an_entry_whose_reason_is_missing_is_still_read() -> None:
    entry, found = parse(WHOLE.replace("type: user", "type: project"), "s.md", "short-tables")
    assert entry is not None
    assert [f.text for f in found] == ["project must have a line **Why:** …",
                                       "project must have a line **How to apply:** …"]  # fmt: skip


def test_a_tag_constructs_nothing_and_a_deep_file_is_refused() -> None:
    tagged = WHOLE.replace("Tables are short.", "!!python/object/apply:os.getcwd []")
    assert faults(tagged) == [(3, "description must be one text")]
    deep = WHOLE.replace("Tables are short.", "[" * 1_800)
    assert faults(deep) == [
        (2, "front matter must not hold more than keys and the keys of metadata")
    ]
    long = WHOLE.replace("Tables are short.", "[" * 60_000)
    assert faults(long) == [(1, "front matter must be at most 2,000 characters")]


@pytest.mark.parametrize(
    "name", ["", "a b", "A", "../a", "a/b", "a--b", "-a", "a.b", "ä", "memory", "con", "x" * 65]
)
def test_a_name_that_could_be_another_file_is_refused(name: str) -> None:
    assert name_fault(name) is not None


def test_the_types_and_stages_are_those_of_the_method() -> None:
    assert TYPES == ("user", "feedback", "project", "reference")
    assert LIFECYCLES == ("spec", "build", "evaluate", "diagnose", "improve", "general")

"""The folder: adding, updating, listing, what check finds, and files that must not be read."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.errors import ArtifactError, SelectionError, UsageError
from helix.memory import Entry, Memory, entries_for, preferences
from helix.memory.store import LARGEST, Draft, slug

MAY, JUNE = datetime.date(2026, 5, 4), datetime.date(2026, 6, 1)
TABLES = Draft("I like short tables. They fit the page.", name="short-tables")
ROUTES = Draft("Reports should list by route.", why="we triage so", how="order the findings")


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path / "state")


def index(memory: Memory) -> list[str]:
    return (memory.folder / "MEMORY.md").read_text(encoding="utf-8").splitlines()


def told(memory: Memory) -> list[str]:
    return [str(fault) for fault in memory.check()]


def test_a_fact_is_one_file_and_one_line_of_the_index(memory: Memory) -> None:
    done = memory.add(TABLES, MAY)
    assert done.entry == Entry("short-tables", "I like short tables.", "user", "general",
                               "2026-05-04", TABLES.text)  # fmt: skip
    assert not done.updated
    assert index(memory) == ["- [Short tables](short-tables.md) — I like short tables."]
    assert memory.get("short-tables") == done.entry
    assert memory.check() == []


def test_the_same_name_is_updated_and_dated_anew(memory: Memory) -> None:
    memory.add(Draft(TABLES.text, name="short-tables", title="Tables", lifecycle="improve"), MAY)
    memory.add(ROUTES, MAY)
    done = memory.add(Draft("I like wide tables.", name="short-tables"), JUNE)
    assert done.updated
    assert (done.entry.created, done.entry.lifecycle) == ("2026-06-01", "improve")
    assert index(memory)[0] == "- [Tables](short-tables.md) — I like wide tables."
    assert len(index(memory)) == len(memory.read()[0]) == 2
    assert memory.check() == []


def test_why_and_how_become_lines_of_the_fact(memory: Memory) -> None:
    body = memory.add(ROUTES, MAY).entry.body
    assert body.endswith("\n\n**Why:** we triage so\n\n**How to apply:** order the findings")
    given = Draft(body.replace("\n", "\r\n"), name="again")
    assert memory.add(given, MAY).entry.body == body


@pytest.mark.parametrize(
    ("draft", "text"),
    [
        (Draft("The report is too long."), "add --why TEXT and --how TEXT"),
        (Draft("The report is too long.", why="x"), "apply it: add --how TEXT"),
        (Draft("Rain falls."), "add --type, one of user"),
        (Draft(" "), "must say something"),
        (Draft("I am " + "x" * 5000), "at most 4,000 characters"),
        (Draft("I am \x1b[2J"), "must not hold control characters"),
        (Draft("I am she", name="../../a"), "did you mean 'a'?"),
        (Draft("I am she", name="memory"), "is taken"),
        (Draft("我是", type="user"), "add --name lower-case-words"),
        (Draft("I am she", title="a](b"), "must hold no brackets"),
        (Draft("I am she", description="a\nb"), "description must be one line"),
        (Draft("I am at ada@example.org"), "not remembered: it holds an e-mail address"),
        (Draft("I am she", name="t", title="the password is abcd1"), "a password or a secret"),
        (Draft("I am of desk-4"), "a finding about the subject (desk-4)"),
    ],
)
def test_what_cannot_be_kept_is_refused_and_nothing_is_written(
    memory: Memory, draft: Draft, text: str
) -> None:
    with pytest.raises(UsageError) as raised:
        memory.add(draft, MAY, known=["desk-4"])
    assert text in str(raised.value)
    assert list(memory.folder.glob("*")) == []


def test_lines_that_a_person_wrote_into_the_index_stay(memory: Memory) -> None:
    memory.add(TABLES, MAY)
    path = memory.folder / "MEMORY.md"
    path.write_text(f"# What we know\n\n{path.read_text('utf-8')}\nthe end\n\n", encoding="utf-8")
    memory.add(Draft("I am the lead.", name="lead"), MAY)
    memory.add(Draft("I like tables.", name="short-tables"), JUNE)
    assert index(memory) == ["# What we know", "",
                             "- [Short tables](short-tables.md) — I like tables.", "", "the end",
                             "- [Lead](lead.md) — I am the lead."]  # fmt: skip


def test_check_finds_what_drifted_with_file_and_line(memory: Memory) -> None:
    memory.add(TABLES, MAY)
    memory.add(Draft("I am the lead, see [[leed]].", name="lead", description="The lead."), MAY)
    (memory.folder / "notes.txt").write_text("x", encoding="utf-8")
    (memory.folder / "Odd Name.md").write_text("x", encoding="utf-8")
    (memory.folder / "lead.md").rename(memory.folder / "leed.md")
    page = (memory.folder / "short-tables.md").read_text("utf-8").replace("I like", "I love", 1)
    (memory.folder / "short-tables.md").write_text(page, encoding="utf-8")
    lines = [*index(memory), index(memory)[0], "- [x] to do"]
    (memory.folder / "MEMORY.md").write_text("\n".join(lines), encoding="utf-8")
    found = told(memory)
    for line in (
        "MEMORY.md: leed.md is not listed",
        "MEMORY.md:1: short-tables is described otherwise in its file",
        "MEMORY.md:2: lead.md does not exist; did you mean 'leed'?",
        "MEMORY.md:3: short-tables is listed in line 1 already",
        "MEMORY.md:4: must read - [Title](name.md) — what it says",
        "leed.md:2: name must be leed, as the file's name is",
        "notes.txt: is no entry: one fact per file, NAME.md",
    ):
        assert line in found, found
    assert any(line.startswith("Odd Name.md: the file's name must be") for line in found)


def test_a_link_to_no_entry_is_found_on_its_line(memory: Memory) -> None:
    memory.add(Draft("I am she.\n\nSee [[short-tabels]].", name="me"), MAY)
    memory.add(TABLES, MAY)
    assert told(memory) == [
        "me.md:12: [[short-tabels]] leads to no entry; did you mean 'short-tables'?"
    ]


def test_no_memory_is_a_sound_one(memory: Memory) -> None:
    assert (memory.check(), memory.read()) == ([], ((), ()))
    with pytest.raises(SelectionError, match="no entry has the name 'x'"):
        memory.get("x")


def test_a_link_out_of_the_folder_is_never_followed(memory: Memory, tmp_path: Path) -> None:
    memory.add(TABLES, MAY)
    outside = tmp_path / "outside.md"
    outside.write_bytes((memory.folder / "short-tables.md").read_bytes())
    (memory.folder / "short-tables.md").unlink()
    (memory.folder / "short-tables.md").symlink_to(outside)
    assert memory.read()[0] == ()
    assert "short-tables.md: must be a plain file (got a link)" in told(memory)
    before = outside.read_bytes()
    memory.add(Draft("I like none.", name="short-tables"), MAY)
    assert outside.read_bytes() == before
    assert not (memory.folder / "short-tables.md").is_symlink()


def test_large_odd_and_undecodable_files_are_faults(memory: Memory) -> None:
    memory.folder.mkdir(parents=True)
    (memory.folder / "big.md").write_bytes(b"x" * (LARGEST + 1))
    (memory.folder / "latin.md").write_bytes(b"---\n\xe9\n---\n")
    (memory.folder / "folder.md").mkdir()
    os.mkfifo(memory.folder / "pipe.md")
    found = told(memory)
    assert "big.md: must be at most 64,000 bytes" in found
    assert "latin.md:2: must be UTF-8" in found
    assert "pipe.md: must be a plain file" in found
    assert "folder.md: must be a plain file" in found
    with pytest.raises(ArtifactError, match=r"big\.md: must be at most"):
        memory.get("big")


def test_a_stage_gets_its_own_entries_and_the_general_ones(memory: Memory) -> None:
    for stage in ("general", "evaluate", "improve"):
        memory.add(Draft(f"I am of {stage}.", name=stage, lifecycle=stage), MAY)
    found, faults = entries_for(memory.folder.parent, "evaluate")
    assert ([entry.name for entry in found], faults) == (["evaluate", "general"], ())
    (first, _) = preferences(found)
    assert (first.name, first.text, first.digest) == (
        "evaluate", "I am of evaluate.", found[0].digest)  # fmt: skip


def test_an_entry_with_a_secret_written_by_hand_is_not_loaded(memory: Memory) -> None:
    memory.add(TABLES, MAY)
    path = memory.folder / "short-tables.md"
    path.write_text(path.read_text("utf-8") + "\nThe password is hunter22\n", encoding="utf-8")
    found, faults = entries_for(memory.folder.parent, "evaluate")
    assert found == ()
    assert "private data" in str(faults[0])


def test_an_index_that_leads_elsewhere_is_not_written_through(
    memory: Memory, tmp_path: Path
) -> None:
    memory.folder.mkdir(parents=True)
    (memory.folder / "MEMORY.md").symlink_to(tmp_path / "elsewhere.md")
    with pytest.raises(ArtifactError, match="must be a plain file"):
        memory.add(TABLES, MAY)
    assert not (memory.folder / "short-tables.md").exists()


facts = st.tuples(st.sampled_from(["a", "b", "c"]), st.sampled_from(["I am she.", "I like it."]),
                  st.sampled_from([None, "Title one", "Title two"]))  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(st.lists(facts, min_size=1, max_size=8))
def test_no_sequence_of_adds_makes_the_index_drift(
    tmp_path_factory: pytest.TempPathFactory, told: list[tuple[str, str, str | None]]
) -> None:
    memory = Memory(tmp_path_factory.mktemp("memory"))
    for name, text, title in told:
        memory.add(Draft(text, name=name, title=title), MAY)
    assert memory.check() == []
    last = {name: text for name, text, _ in told}
    assert {entry.name: entry.body for entry in memory.read()[0]} == last
    assert len(index(memory)) == len(last)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=120))
def test_a_made_name_is_plain_and_makes_itself(text: str) -> None:
    name = slug(text)
    assert slug(name) == name
    assert len(name) <= 48
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")

"""The store: on disk before it returns, whole after a crash, one process per file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.errors import LabelError
from helix.labels import Cell, Label, load, write
from helix.labels.record import WORDS, Word
from helix.labels.store import Store, holding


def label(trace: str, word: Word = "pass", rater: str = "ada") -> Label:
    return Label(trace=trace, criterion="c", label=word, rater=rater)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ada.jsonl"


def test_a_label_is_on_disk_when_it_was_put(file: Path) -> None:
    store = Store(file, "ada")
    store.put(label("t1"))
    store.put(label("t2", "fail"))
    assert load(file) == (label("t1"), label("t2", "fail"))


def test_another_label_for_a_cell_takes_the_place_of_the_first(file: Path) -> None:
    store = Store(file, "ada")
    for word in WORDS:
        store.put(label("t1", word))
    assert load(file) == (label("t1", "cannot-decide"),)
    store.remove(Cell("t1", "c"))
    assert load(file) == () and dict(store.labels) == {}


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.none() | st.sampled_from(WORDS)), max_size=12)
)
def test_the_file_always_holds_what_the_store_says(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, Word | None]]
) -> None:
    file = tmp_path_factory.mktemp("store") / "ada.jsonl"
    store = Store(file, "ada")
    wanted: dict[str, Word] = {}
    for name, word in steps:
        if word is None:
            store.remove(Cell(name, "c"))
            wanted.pop(name, None)
        else:
            store.put(label(name, word))
            wanted[name] = word
        assert {found.trace: found.label for found in load(file)} == wanted
    store.close()
    again = Store(file, "ada")
    assert {cell.trace: found.label for cell, found in again.labels.items()} == wanted
    again.close()


@pytest.mark.parametrize("left", [1, 10, 40])
def test_a_line_that_a_crash_cut_off_is_dropped_and_said_to_be(file: Path, left: int) -> None:
    write(file, [label("t1"), label("t2")])
    whole = file.read_bytes()
    file.write_bytes(whole + whole.splitlines()[0][:left])
    store = Store(file, "ada")
    assert store.healed and file.read_bytes() == whole
    store.put(label("t3"))
    assert [found.trace for found in load(file)] == ["t1", "t2", "t3"]


def test_a_whole_last_line_without_its_end_is_kept(file: Path) -> None:
    write(file, [label("t1"), label("t2")])
    file.write_bytes(file.read_bytes()[:-1])
    store = Store(file, "ada")
    assert not store.healed and len(store.labels) == 2
    store.put(label("t3"))
    assert [found.trace for found in load(file)] == ["t1", "t2", "t3"]


def test_damage_anywhere_else_stops_it_and_changes_nothing(file: Path) -> None:
    write(file, [label("t1"), label("t2")])
    damaged = file.read_bytes().replace(b'"t1"', b'"t1', 1)
    file.write_bytes(damaged)
    with pytest.raises(LabelError, match="row 1: is no JSON"):
        Store(file, "ada")
    assert file.read_bytes() == damaged


@pytest.mark.parametrize(
    "last",
    [
        '{"trace": "t3", "criterion": "c", "label": "maybe", "rater": "ada"}',
        '{"trace": "t3", "criterion": "c", "label": "pass", "rater": "ada"',
        "trace,label",
        "\ufeffnotes",
    ],
)
@pytest.mark.parametrize("before", [0, 1])
def test_a_last_line_that_no_crash_of_helix_left_stops_it_and_stays(
    file: Path, last: str, before: int
) -> None:
    write(file, [label("t1")] * before)
    file.write_bytes(file.read_bytes() + last.encode())
    kept = file.read_bytes()
    with pytest.raises(LabelError, match=f"row {before + 1}: "):
        Store(file, "ada")
    assert file.read_bytes() == kept


@pytest.mark.parametrize("word", ["pass", "fail"])
@pytest.mark.parametrize("anew", [True, False])
def test_what_another_program_wrote_meanwhile_is_neither_lost_nor_written_over(
    file: Path, anew: bool, word: Word
) -> None:
    write(file, [label("t1")])
    store = Store(file, "ada")
    theirs = file.read_bytes() + b'{"trace":"t9","criterion":"c","label":"pass","rater":"ben"}\n'
    if anew:
        file.unlink()
    file.write_bytes(theirs)
    for mine in (label("t1", word), label("t2", word)):
        with pytest.raises(LabelError, match="was changed by another program"):
            store.put(mine)
    assert file.read_bytes() == theirs and set(store.labels) == {Cell("t1", "c")}


def test_what_a_crash_left_of_a_file_that_was_made_anew_is_removed(file: Path) -> None:
    for name in (".ada.jsonl.0123456789ab.tmp", ".other.jsonl.0123456789ab.tmp"):
        (file.parent / name).write_bytes(b"half")
    Store(file, "ada").close()
    assert {path.name for path in file.parent.iterdir()} == {
        "ada.jsonl",
        ".other.jsonl.0123456789ab.tmp",
    }


def test_a_file_is_not_made_anew_while_somebody_labels_in_it(file: Path) -> None:
    with holding(file):
        assert not file.exists()
    store = Store(file, "ada")
    with pytest.raises(LabelError, match="is being labelled in by another process"), holding(file):
        raise AssertionError("held twice")
    store.close()
    with holding(file), pytest.raises(LabelError, match="is being labelled in"):
        Store(file, "ada")
    Store(file, "ada").close()


def test_a_file_that_others_may_not_read_stays_so(file: Path) -> None:
    write(file, [label("t1")])
    file.chmod(0o600)
    Store(file, "ada").put(label("t1", "fail"))
    assert file.stat().st_mode & 0o777 == 0o600


def test_labels_of_other_raters_stay_as_they_are(file: Path) -> None:
    write(file, [label("t1", "fail", "ben")])
    store = Store(file, "ada")
    assert dict(store.labels) == {}
    store.put(label("t1"))
    store.put(label("t1", "cannot-decide"))
    assert load(file) == (label("t1", "cannot-decide"), label("t1", "fail", "ben"))


def test_a_file_is_held_by_one_process_also_after_it_was_made_anew(file: Path) -> None:
    pytest.importorskip("fcntl", reason="this platform has no locks")
    store = Store(file, "ada")
    for word in WORDS:
        with pytest.raises(LabelError, match="is being labelled in by another process"):
            Store(file, "ada")
        store.put(label("t1", word))
    store.close()
    Store(file, "ada").close()


def test_a_write_that_breaks_off_leaves_the_file_as_it_was(file: Path) -> None:
    resource = pytest.importorskip("resource", reason="this platform has no limit to reach")
    write(file, [label("t1")])
    before = file.read_bytes()
    store = Store(file, "ada")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, limits[1]))
    try:
        with pytest.raises(LabelError, match="cannot be written: File too large"):
            store.put(label("t2"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert file.read_bytes() == before and list(store.labels) == [Cell("t1", "c")]
    store.put(label("t2"))
    assert len(load(file)) == 2


def test_a_link_to_the_file_stays_a_link(file: Path) -> None:
    link = file.with_name("link.jsonl")
    write(file, [])
    link.symlink_to(file)
    store = Store(link, "ada")
    store.put(label("t1"))
    store.put(label("t1", "fail"))
    assert link.is_symlink() and load(file) == (label("t1", "fail"),)


def test_a_file_in_no_folder_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(LabelError, match="cannot be opened: No such file"):
        Store(tmp_path / "none" / "ada.jsonl", "ada")

"""Files: written whole, under their root, by names that no id can choose."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix.errors import UsageError
from helix.files import (
    atomic_folder,
    atomic_write,
    atomic_writer,
    beside,
    clear_folder,
    clear_parts,
    file_name,
    is_file,
    keep_out_of_git,
)


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    atomic_write(tmp_path / "a.json", b"one")
    atomic_write(tmp_path / "a.json", b"two")
    assert (tmp_path / "a.json").read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["a.json"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    atomic_write(tmp_path / "a.json", b"old")
    with pytest.raises(ZeroDivisionError), atomic_writer(tmp_path / "a.json") as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert (tmp_path / "a.json").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.json"]


def test_a_link_is_replaced_and_what_it_leads_to_is_not(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"theirs")
    (tmp_path / "a").symlink_to(tmp_path / "other")
    atomic_write(tmp_path / "a", b"ours")
    assert (tmp_path / "other").read_bytes() == b"theirs"


@pytest.mark.parametrize("text", ["", ".", "a\0b", "x" * 5000, "none", "a/" * 3000])
def test_a_text_that_can_be_no_path_names_no_file(text: str) -> None:
    assert not is_file(text)
    assert is_file(__file__)


@pytest.mark.parametrize(
    "identifier",
    ["", "..", "/", "a/b", "CON", "x" * 5000, "\ud800", "ünï", ".hidden", "-rf", "a\nb", "a\0b"],
)
def test_any_id_has_a_harmless_name(identifier: str) -> None:
    assert re.fullmatch(r"([a-z0-9]([a-z0-9-]*[a-z0-9])?-)?[0-9a-f]{16}", file_name(identifier))
    assert len(file_name(identifier)) <= 65


@given(one=st.text(), other=st.text())
def test_names_are_equal_only_where_ids_are(one: str, other: str) -> None:
    assert (file_name(one).lower() == file_name(other).lower()) is (one == other)


def put(report: Path, **files: bytes) -> None:
    with atomic_folder(report) as leaf:
        for name, data in files.items():
            leaf(name, data)


def pages(report: Path) -> dict[str, bytes]:
    found = {file.name: file.read_bytes() for file in beside(report).iterdir()}
    assert found.pop("made-by-helix.txt")
    return found


def test_a_folder_takes_the_place_of_the_one_before_as_a_whole(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    put(report, a=b"1", b=b"2")
    assert pages(report) == {"a": b"1", "b": b"2"}
    put(report, b=b"3")
    assert pages(report) == {"b": b"3"}
    with pytest.raises(OSError, match="full"), atomic_folder(report) as leaf:
        leaf("c", b"4")
        assert pages(report) == {"b": b"3"}
        raise OSError("the disk is full")
    assert pages(report) == {"b": b"3"}
    assert os.listdir(tmp_path) == ["report"]


def test_a_report_of_one_file_takes_its_old_pages_away_and_nobody_elses(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    put(report, a=b"1")
    put(tmp_path / "report.json")
    clear_folder(tmp_path / "report.md")
    assert pages(report) == {"a": b"1"}
    put(report)
    assert not os.listdir(tmp_path)
    put(report, a=b"1")
    clear_folder(report)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("kind", ["folder", "file", "link", "another report's"])
def test_what_is_not_the_reports_own_is_neither_replaced_nor_removed(
    kind: str, tmp_path: Path
) -> None:
    report, place, own = tmp_path / "a.html", tmp_path / "a", tmp_path / "own"
    put(tmp_path / "own.html", kept=b"1")
    if kind == "folder":
        place.mkdir()
    elif kind == "file":
        place.write_bytes(b"1")
    elif kind == "link":
        place.symlink_to(own, target_is_directory=True)
    else:
        put(tmp_path / "a.htm", kept=b"1")
    with pytest.raises(UsageError, match="must be free for the pages of a report"):
        put(report, a=b"1")
    put(report)
    clear_folder(report)
    assert os.path.lexists(place) and pages(tmp_path / "own.html") == {"kept": b"1"}
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


@pytest.mark.parametrize("name", ["../up", "a/b", "..", ""])
def test_a_file_of_a_folder_has_a_plain_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="plain name"), atomic_folder(tmp_path / "r.html") as leaf:
        leaf(name, b"1")
    assert not os.listdir(tmp_path)


def test_a_folder_that_a_killed_writer_left_half_made_is_cleared(tmp_path: Path) -> None:
    left = tmp_path / f".report.{'0' * 12}.tmp"
    left.mkdir()
    (left / "a").write_bytes(b"1")
    clear_parts(tmp_path)
    assert not left.exists()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_passes_over_a_folder_that_is_kept_out_of_it(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "reply").write_bytes(b"1")
    (tmp_path / "kept").write_bytes(b"1")
    keep_out_of_git(tmp_path / "cache")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    told = ["git", "status", "--porcelain", "--untracked-files=all"]
    seen = subprocess.run(told, cwd=tmp_path, check=True, capture_output=True, encoding="utf-8")
    assert seen.stdout == "?? kept\n"


def test_what_a_person_says_to_git_of_a_folder_stays(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_bytes(b"!*")
    keep_out_of_git(tmp_path)
    assert (tmp_path / ".gitignore").read_bytes() == b"!*"
    keep_out_of_git(tmp_path / "nowhere")
    assert os.listdir(tmp_path) == [".gitignore"]

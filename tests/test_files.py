"""Files: written whole, under their root, by names that no id can choose."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix.files import atomic_write, atomic_writer, file_name, is_file


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

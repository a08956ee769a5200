"""Spooling: any order in, plan order out, whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.engine.spool import Spool

LINES = st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"")), max_size=3)


@settings(max_examples=30)
@given(blocks=st.lists(LINES, max_size=8), data=st.data())
def test_lines_come_out_in_the_plans_order(
    blocks: list[list[bytes]], data: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with Spool(tmp_path_factory.mktemp("run")) as spool:
        for ordinal in data.draw(st.permutations(range(len(blocks)))):
            spool.append(ordinal, *blocks[ordinal])
        path = spool.finish()
    assert path.read_bytes() == b"".join(line + b"\n" for block in blocks for line in block)
    assert [file.name for file in path.parent.iterdir()] == ["verdicts.jsonl"]


def test_a_line_is_on_disk_as_soon_as_it_is_appended(tmp_path: Path) -> None:
    with Spool(tmp_path, "decisions.jsonl") as spool:
        spool.append(3, b"three")
        assert (tmp_path / "decisions.part").read_bytes() == b"three\n"
    assert not (tmp_path / "decisions.jsonl").exists()


def test_what_a_killed_run_left_behind_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "verdicts.part").write_bytes(b"old\nhalf a li")
    (tmp_path / "verdicts.jsonl").write_bytes(b"older\n")
    spool = Spool(tmp_path)
    spool.append(0, b"new")
    assert (tmp_path / "verdicts.jsonl").read_bytes() == b"older\n"
    assert spool.finish().read_bytes() == b"new\n"


def test_an_ordinal_that_comes_twice_is_an_error_and_nothing_is_written(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        spool.append(1, b"a")
        spool.append(1, b"b")
        with pytest.raises(ValueError, match=r"ordinal 1 was appended twice to verdicts\.jsonl"):
            spool.finish()
    assert [file.name for file in tmp_path.iterdir()] == ["verdicts.part"]


def test_a_line_with_a_newline_is_refused(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool, pytest.raises(ValueError, match="no newline"):
        spool.append(0, b"a\nb")

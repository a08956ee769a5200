"""Programs in a session of their own are killed with all they started; how they ended is told."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from helix.children import how_ended, keep_end, kill_group
from tests.families import FAMILY, gone, until, watched


@watched
@pytest.mark.parametrize("then", ["time.sleep(60)", ""])
def test_a_program_is_killed_with_its_children_even_when_it_has_ended_itself(
    tmp_path: Path, then: str
) -> None:
    note = tmp_path / "child"
    words = [sys.executable, "-c", FAMILY + then, str(note)]
    with subprocess.Popen(words, start_new_session=True) as program:
        until(note)
        if not then:
            assert program.wait() == 0
        kill_group(program)
        assert program.wait() == (-signal.SIGKILL if then else 0)
    assert gone(note)


@watched
def test_so_is_one_that_is_awaited(tmp_path: Path) -> None:
    note = tmp_path / "child"

    async def main() -> int:
        program = await asyncio.create_subprocess_exec(
            sys.executable, "-c", f"{FAMILY}time.sleep(60)", str(note), start_new_session=True
        )
        while not note.exists():
            await asyncio.sleep(0.02)
        kill_group(program)
        return await program.wait()

    assert asyncio.run(main()) == -signal.SIGKILL
    assert gone(note)


def test_where_nothing_is_left_nothing_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", ""], start_new_session=True) as program:
        assert program.wait() == 0
        kill_group(program)


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (1, "exited with status 1"),
        (0, "exited with status 0"),
        (-9, "was ended by SIGKILL"),
        (-15, "was ended by SIGTERM"),
        (-999, "was ended by signal 999"),
    ],
)
def test_an_end_is_told_by_its_status_or_its_signal(status: int, told: str) -> None:
    assert how_ended(status) == told


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (b"short", b"short"),
        (b"key=hunter22 is wrong", b"is wrong"),
        (b"key=hunter22\n   no", b"no"),
        (b"a" * 40, b""),
    ],
)
def test_what_is_kept_of_an_end_begins_behind_white_space(said: bytes, kept: bytes) -> None:
    end = bytearray(said)
    keep_end(end, 12)
    assert bytes(end) == kept

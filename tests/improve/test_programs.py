"""Programs of the user's: no shell, bounded time and output, ended with what they started."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from helix.improve import programs
from helix.improve.programs import ProgramError, Programs
from tests.families import FAMILY, RUNAWAY, alive, end, gone, until, watched


def python(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def test_a_program_gets_its_input_and_its_output_is_returned() -> None:
    echo = python("import sys; sys.stdout.write(sys.stdin.read()[::-1])")
    assert Programs().run(echo, "día".encode(), 30) == "aíd".encode()


def test_words_reach_the_program_as_they_are() -> None:
    words = [*python("import sys; print(sys.argv[1:])"), "a b", "$HOME; ls", "*"]
    assert Programs().run(words, b"", 30).decode().strip() == "['a b', '$HOME; ls', '*']"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import sys; sys.exit('no such order')", "exited with status 1: no such order"),
        ("import os; os.abort()", "was ended by SIGABRT"),
    ],
)
def test_a_program_that_fails_says_how(text: str, told: str) -> None:
    with pytest.raises(ProgramError, match=told):
        Programs().run(python(text), b"", 30)


def test_a_program_that_is_not_there_is_told() -> None:
    with pytest.raises(ProgramError, match="could not be started"):
        Programs().run(["no-such-program-anywhere"], b"", 30)


def test_no_part_of_a_secret_is_told_where_what_was_said_is_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOY_API_KEY", "a-long-secret-value")
    cut = programs.TOLD_BYTES - len("long-secret-value") - len("end")
    says = f"import os, sys; sys.stderr.write(os.environ['TOY_API_KEY'] + ' ' * {cut} + 'end')"
    with pytest.raises(ProgramError) as caught:
        Programs().run(python(f"{says}; sys.exit(1)"), b"", 30)
    assert str(caught.value).endswith("exited with status 1: end")


def test_a_secret_of_the_environment_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_API_KEY", "a-long-secret-value")
    with pytest.raises(ProgramError) as caught:
        Programs().run(python("import os, sys; sys.exit(os.environ['TOY_API_KEY'])"), b"", 30)
    assert "a-long-secret-value" not in str(caught.value)


def test_a_program_that_takes_too_long_is_ended() -> None:
    with pytest.raises(ProgramError, match=r"did not end within 0\.5 seconds"):
        Programs().run(python("import time; time.sleep(600)"), b"", 0.5)


@watched
def test_a_program_is_ended_with_its_children(tmp_path: Path) -> None:
    note = tmp_path / "child"
    several = Programs()

    def stop() -> None:
        until(note)
        several.stop()

    threading.Thread(target=stop, daemon=True).start()
    with pytest.raises(ProgramError, match="interrupted"):
        several.run([*python(f"{FAMILY}time.sleep(60)"), str(note)], b"", 120)
    assert gone(note)


@watched
def test_a_child_that_left_the_group_is_not_waited_for(tmp_path: Path) -> None:
    note = tmp_path / "child"
    words = [*python(RUNAWAY + "print('done')"), str(note)]
    try:
        assert Programs().run(words, b"", 30) == b"done\n"
        assert alive(note)
    finally:
        end(note)


def test_output_without_end_is_cut_and_the_program_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(programs, "MOST_BYTES", 100_000)
    with pytest.raises(ProgramError, match="printed more than 100,000 bytes"):
        Programs().run(python("while True: print('x' * 1000)"), b"", 60)


def test_a_complaint_without_end_is_no_burden_and_its_end_is_told() -> None:
    text = "import sys; sys.stderr.write('x ' * 2_000_000); sys.exit('the end')"
    with pytest.raises(ProgramError, match=r"the end$"):
        Programs().run(python(text), b"", 60)


def test_a_program_that_reads_nothing_is_not_waited_for() -> None:
    assert Programs().run(python("print('done')"), b"x" * 5_000_000, 60).strip() == b"done"


def test_no_program_starts_after_the_stop() -> None:
    several = Programs()
    several.stop()
    with pytest.raises(ProgramError, match="was not started"):
        several.run(python("print(1)"), b"", 30)


def test_nothing_is_left_open(tmp_path: Path) -> None:
    folder = Path("/proc/self/fd")
    if not folder.is_dir():
        pytest.skip("open files are counted by /proc/self/fd")
    Programs().run(python("print(1)"), b"", 30)
    before = len(os.listdir(folder))
    for _ in range(5):
        Programs().run(python("print(1)"), b"", 30)
    assert len(os.listdir(folder)) <= before

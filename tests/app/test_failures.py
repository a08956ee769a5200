from __future__ import annotations

import errno
import os

import pytest

from helix.app.failures import told
from helix.errors import ExitCode, UsageError


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS])
def test_a_full_disk_is_no_fault_in_helix(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(OSError(number, os.strerror(number))) == ExitCode.INTERNAL
    said = capsys.readouterr().err
    assert f"not everything could be written: {os.strerror(number)}" in said
    assert "make room" in said and "fault in Helix" not in said


def test_a_crash_says_what_it_was_and_how_to_see_where(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(KeyError("row")) == ExitCode.INTERNAL
    said = capsys.readouterr().err
    assert "internal error: KeyError: 'row'" in said and "HELIX_DEBUG=1" in said


@pytest.mark.parametrize(
    "error", [UsageError("got '\x1b[2J\u202ea\r'"), KeyError("\x1b[2J\u202ea\r")]
)
def test_what_would_act_on_the_terminal_is_spelled_out(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    told(error)
    said = capsys.readouterr().err
    assert "\\x1b[2J" in said
    assert not {"\x1b", "\u202e", "\r"} & set(said)


def test_a_path_that_is_too_long_is_told_and_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    path = "n" * 10_000
    assert told(OSError(errno.ENAMETOOLONG, "File name too long", path)) == ExitCode.USAGE
    said = capsys.readouterr().err
    assert said.startswith("helix: a path must be shorter") and len(said) < 200

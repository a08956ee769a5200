from __future__ import annotations

import errno
import os

import pytest

from helix.app.failures import told
from helix.errors import ExitCode


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

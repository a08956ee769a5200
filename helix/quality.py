"""Whether a code change's own tests are green: its test command is run, and reported apart.

What the tests say is no verdict of a judge and changes none; a run of the code-quality axis has
converged when the tests are green and its rows hold as well (METHOD 38).
"""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import IO

from helix.children import how_ended, kill_group
from helix.files import atomic_write
from helix.model.config import Config, QualityConfig
from helix.model.scorecard import ChangeTests
from helix.redaction import redacted

AXIS = "code-quality"
OUTPUT = "tests.log"
KEPT_BYTES = 1_000_000
NOT_FOUND = (126, 127)
PYTEST_UNTESTED = (2, 3, 4, 5)
KILL_WAIT_S = 5.0


def run_tests(config: Config, folder: Path) -> ChangeTests | None:
    """Run the tests of a code change, their output kept in `folder`; None on another axis.

    Nothing is raised: a command that cannot be run, takes too long, is ended by a signal or exits
    with a code that says that nothing was tested leaves the tests unknown, which is not failed.
    """
    if config.judge.axis != AXIS:
        return None
    section = config.quality
    (folder / OUTPUT).unlink(missing_ok=True)
    if not section.tests_command:
        return ChangeTests(state="not run", reason="quality.tests_command is not set")
    if section.tests_dir is not None and not Path(section.tests_dir).is_dir():
        reason = f"quality.tests_dir must be a folder (got {section.tests_dir})"
        return ChangeTests(state="could not run", reason=reason)
    try:
        code, said = _run(section)
    except (OSError, ValueError) as error:
        told = getattr(error, "strerror", None) or str(error)
        reason = f"{section.tests_command[0]} could not be started: {told}"
        return ChangeTests(state="could not run", reason=reason)
    # Ids, paths and escapes in it are the subject's: it is kept as a file, and shown nowhere.
    text = redacted(said.decode("utf-8", "replace"))
    atomic_write(folder / OUTPUT, text.encode("utf-8", "backslashreplace"))
    return _judged(code, section)


def _judged(code: int | None, section: QualityConfig) -> ChangeTests:
    if code is None:
        return _unknown(
            f"not done within quality.tests_timeout_s={section.tests_timeout_s:g}", None
        )
    if code < 0:
        return _unknown(how_ended(code), None)
    if code in _untested(section):
        return _unknown(f"exit code {code} says that nothing was tested", code)
    state = "fail" if code else "pass"
    return ChangeTests(state=state, exit_code=code, output=OUTPUT)  # type: ignore[arg-type]


def _unknown(reason: str, code: int | None) -> ChangeTests:
    return ChangeTests(state="could not run", exit_code=code, reason=reason, output=OUTPUT)


def _untested(section: QualityConfig) -> Sequence[int]:
    """Return the exit codes that say neither green nor red: pytest's own, and a shell's."""
    if section.tests_untested is not None:
        return section.tests_untested
    named = (PurePath(word).name for word in section.tests_command)
    by_pytest = any(name in ("pytest", "py.test", "pytest.exe") for name in named)
    return (*NOT_FOUND, *PYTEST_UNTESTED) if by_pytest else NOT_FOUND


def _run(section: QualityConfig) -> tuple[int | None, bytes]:
    """Return the exit code, None where the time was up, and the end of what was printed."""
    end = bytearray()
    process = subprocess.Popen(
        section.tests_command,
        cwd=section.tests_dir,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    reader = threading.Thread(target=_read, args=(process.stdout, end), daemon=True)
    reader.start()
    code = None
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = process.wait(section.tests_timeout_s)
    finally:
        # Whatever it left running goes too. What left the group holds the pipe open as long as it
        # lives, and is not waited for.
        kill_group(process)
        process.wait()
        reader.join(KILL_WAIT_S)
    return code, bytes(end)


def _read(stream: IO[bytes], end: bytearray) -> None:
    """Keep the end of a stream, up to a line, so that no part of a secret stands at the cut."""
    with contextlib.suppress(ValueError, OSError), stream:
        while part := stream.read1(65_536):  # type: ignore[attr-defined]
            end += part
            if len(end) > 2 * KEPT_BYTES:
                end[:] = end[-KEPT_BYTES:].partition(b"\n")[2]

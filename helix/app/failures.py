"""How an exception becomes a message on standard error and an exit code."""

from __future__ import annotations

import errno
import os
import traceback

from helix.app import console
from helix.errors import ExitCode, HelixError, UsageError
from helix.redaction import redacted
from helix.reports.visible import one_line, visible

DEBUG_VARIABLE = "HELIX_DEBUG"
_LONGEST = 100
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


def told(error: BaseException, what: str = "internal error") -> ExitCode:
    """Say what went wrong and return the exit code: the error's own, or INTERNAL for a crash.

    `what` says what crashed.
    """
    if os.environ.get(DEBUG_VARIABLE) == "1":
        console.tell(redacted("".join(traceback.format_exception(error))))
    if isinstance(error, HelixError):
        console.tell(f"helix: {visible(redacted(str(error)))}")
        return error.exit_code
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        path = one_line(str(error.filename), _LONGEST)
        console.tell(f"helix: a path must be shorter, as the system takes none like this: {path}")
        return ExitCode.USAGE
    if isinstance(error, OSError) and error.errno in _FULL:
        console.tell(f"helix: not everything could be written: {error.strerror}")
        console.tell("  make room, or name other folders by paths.state and hydra.run.dir; then")
        console.tell("  the same command goes on, and replies that were kept are not asked again")
        return ExitCode.INTERNAL
    name = type(error).__name__
    text = visible(redacted(str(error))).strip()
    console.tell(f"helix: {what}: {name}{f': {text}' if text else ''}")
    console.tell(f"  this is a fault in Helix or around it; {DEBUG_VARIABLE}=1 shows where")
    return ExitCode.INTERNAL


def lacking(error: ModuleNotFoundError, command: str) -> UsageError:
    """Return what to install for a command that needs the extra `serve`; a fault of ours is one."""
    if (error.name or "").startswith("helix."):
        raise error
    return UsageError(
        f"{command} needs {error.name}: pip install 'helix-evals[serve]', "
        "or in a checkout .venv/bin/pip install '.[serve]'"
    )

"""Every error that Helix raises on purpose, and the exit codes they end in.

    HelixError                      4  something inside or around Helix broke
    ├── UsageError                  2  what was typed or configured cannot be run
    │   ├── ConfigError                a key, a value or a combination of the configuration
    │   ├── SuiteError                 a criteria file: its YAML, a row, a path, a primitive
    │   ├── PathError                  a field path that does not parse
    │   ├── TraceError                 a traces input that names no readable trace
    │   ├── FormatError                a file in no known trace format
    │   ├── LabelError                 a label file: a row, an id, two labels for one cell
    │   ├── SelectionError             a selector that matches nothing
    │   ├── UnknownNameError           a plugin item that is not registered
    │   ├── ArtifactError              a Helix file that is damaged or of another version
    │   └── PinError                   a judge pin that cannot be honoured
    ├── PluginError                 4  a plugin that the plan needs failed to load
    ├── CacheError                  4  the reply cache cannot be read or written
    ├── ExecutorError               4  an executor that cannot carry the work out
    └── BackendError                4  a judge backend broke in a way that no unit can absorb

Exit codes: DESIGN “Commands and keys”.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import ClassVar, Final

MOST_LISTED: Final = 12
"""As many names as a message lists."""


class ExitCode(IntEnum):
    """How a command ends, as the process's exit status."""

    PASS = 0
    FAIL = 1
    USAGE = 2
    INCOMPLETE = 3
    INTERNAL = 4
    WAITING = 5
    INTERRUPTED = 130


MEANINGS: Final = {
    ExitCode.PASS: "the gate passes, or the work was done",
    ExitCode.FAIL: "the gate fails, or something differs that should not",
    ExitCode.USAGE: "the command, configuration, suite or traces cannot be used as they are",
    ExitCode.INCOMPLETE: "incomplete: something that gates is not decided",
    ExitCode.INTERNAL: "something inside or around Helix broke",
    ExitCode.WAITING: "waiting for verdicts, traces or a response that were asked for elsewhere",
    ExitCode.INTERRUPTED: "interrupted; the same command goes on",
}
"""What a command says by its exit code."""

WORST_FIRST = (
    ExitCode.INTERRUPTED,
    ExitCode.INTERNAL,
    ExitCode.USAGE,
    ExitCode.FAIL,
    ExitCode.WAITING,
    ExitCode.INCOMPLETE,
    ExitCode.PASS,
)


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the code that several runs end in together; no run at all is INTERNAL."""
    found = set(codes)
    return next((code for code in WORST_FIRST if code in found), ExitCode.INTERNAL)


class HelixError(Exception):
    """An error whose text says what is wrong, where, and what to type."""

    exit_code: ClassVar[ExitCode] = ExitCode.INTERNAL


class UsageError(HelixError):
    """What was typed or configured cannot be run; nothing was spent."""

    exit_code: ClassVar[ExitCode] = ExitCode.USAGE


class ConfigError(UsageError):
    """A key, a value or a combination of the configuration is wrong."""


class SuiteError(UsageError):
    """A criteria file or one of its rows is wrong."""


class PathError(UsageError):
    """A field path does not parse."""


class TraceError(UsageError):
    """The traces input names nothing that can be read, or ids that collide."""


class FormatError(TraceError):
    """A file is in no known trace format."""


class LabelError(UsageError):
    """A label file or one of its rows is wrong (METHOD 60)."""


class SelectionError(UsageError):
    """A selector matches nothing."""


class UnknownNameError(UsageError):
    """A named plugin item is not registered."""


class ArtifactError(UsageError):
    """A file that Helix wrote, or should have written, is damaged or of another version."""


class PinError(UsageError):
    """A judge pin is missing, or cannot be honoured as it stands (METHOD 41, 42)."""


class PluginError(HelixError):
    """A plugin that the plan needs could not be loaded."""


class CacheError(HelixError):
    """The reply cache cannot be read or written."""


class ExecutorError(HelixError):
    """An executor cannot carry the work out, or a process that worked for it ended."""


class BackendError(HelixError):
    """A judge backend broke in a way that no single unit can absorb."""


def did_you_mean(word: str, choices: Iterable[str], most: int = 1) -> str:
    """Return `; did you mean 'x'?` for the nearest choices, or an empty string."""
    near = difflib.get_close_matches(word, list(choices), n=most, cutoff=0.6)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def unknown(kind: str, word: str, choices: Iterable[str], listing: str = "") -> str:
    """Return the one sentence that Helix says about a name it does not know.

    `listing` is the command that lists the choices, for where they are too many for a sentence.
    """
    names = sorted(choices)
    hint = did_you_mean(word, names, most=1 if len(names) <= MOST_LISTED else 3)
    return f"unknown {kind} '{word}'{hint} ({known(names, listing)})"


def known(names: Sequence[str], listing: str = "") -> str:
    """Return the names in a few words: all of them, or how many there are and what lists them."""
    if len(names) <= MOST_LISTED:
        return f"known: {', '.join(names) or 'none'}"
    if listing:
        return f"{len(names):,} are known: {listing} lists them"
    return f"{len(names):,} are known, such as {', '.join(names[:3])}"

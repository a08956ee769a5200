"""Standard output for results, standard error for everything else."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import sys
from collections.abc import Callable
from typing import IO, Any

from helix.reports.words import in_ascii


def _plainly(error: UnicodeError) -> tuple[str | bytes, int]:
    assert isinstance(error, UnicodeEncodeError)
    return in_ascii(error.object[error.start : error.end]), error.end


def prepare() -> None:
    """Make both streams take any text: UTF-8 unless told otherwise, ASCII for what does not fit."""
    codecs.register_error("helix-ascii", _plainly)
    told = bool(os.environ.get("PYTHONIOENCODING"))
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is None:
            continue
        if told or stream.isatty():
            reconfigure(errors="helix-ascii")
        else:
            reconfigure(encoding="utf-8", errors="helix-ascii")


def say(text: str) -> None:
    """Write a result to standard output; a reader that went away is no error."""
    _write(sys.stdout, _line(text))


def say_json(value: Any, default: Callable[[Any], Any] | None = None) -> None:
    """Write a result as JSON: the same value in every encoding, what does not fit one escaped.

    `default` makes JSON of what is none; ValueError for a number that is not finite.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False, default=default)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        # What `prepare` makes of a sign would end a string, or be another text.
        text = json.dumps(value, indent=2, allow_nan=False, default=default)
    say(text)


def say_bytes(data: bytes) -> None:
    """Write what a renderer encoded for standard output."""
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:
        say(data.decode(sys.stdout.encoding or "utf-8", "replace"))
        return
    sys.stdout.flush()
    _write(binary, data)


def tell(text: str) -> None:
    """Write a message to standard error."""
    _write(sys.stderr, _line(text))


def _line(text: str) -> str:
    return text if text.endswith("\n") or not text else text + "\n"


def _write(stream: IO[Any], data: str | bytes) -> None:
    try:
        stream.write(data)
        stream.flush()
    except BrokenPipeError:
        # The interpreter flushes once more when it ends.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())

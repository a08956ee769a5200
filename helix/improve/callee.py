"""Calling a Python function in a process of its own: `python -B -m helix.improve.callee FILE:NAME`.

What it gets is JSON on standard input, what it returns JSON on standard output. A fresh process
runs the code as it stands now, and no bytecode is left beside it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from helix.errors import ConfigError


def named(target: str) -> tuple[Path, str]:
    """Return the file and the function of `FILE.py:FUNCTION`; ConfigError where it is neither."""
    file, _, name = target.rpartition(":")
    if not file or not name.isidentifier():
        raise ConfigError(f"a Python function must be written FILE.py:FUNCTION (got '{target}')")
    if not Path(file).is_file():
        raise ConfigError(f"{file} must be a Python file (it is not there)")
    return Path(file), name


def function(target: str) -> Callable[[Any], Any]:
    """Return the function; its file's folder is where it imports from first."""
    file, name = named(target)
    sys.path.insert(0, str(file.parent))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    found = getattr(module, name, None)
    if not callable(found):
        raise ConfigError(f"{file} has no function '{name}'")
    call: Callable[[Any], Any] = found
    return call


def main() -> None:
    """Call the function that the last word names."""
    given = json.load(sys.stdin)
    # What the function prints is no part of its answer.
    with contextlib.redirect_stdout(sys.stderr):
        answer = function(sys.argv[-1])(given)
    json.dump(answer, sys.stdout, ensure_ascii=True, allow_nan=False)


if __name__ == "__main__":
    main()

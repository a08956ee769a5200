"""Calling a Python function in a process of its own, as `python -B -P callee.py FILE.py:FUNCTION`.

What it gets is JSON on standard input, what it returns JSON on standard output. A fresh process
runs the code as it stands now, and no bytecode is left beside it. Nothing of Helix is imported.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def function(target: str) -> Callable[[Any], Any]:
    """Return the function; its file's folder is where it imports from first."""
    file, _, name = target.rpartition(":")
    path = Path(file).resolve()
    sys.path.insert(0, str(path.parent))
    # Bytecode that an earlier version left would pass for this one's within the same second.
    sys.pycache_prefix = os.devnull
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    found: Callable[[Any], Any] = getattr(module, name)
    return found


def main() -> None:
    """Call the function that the last word names."""
    given = json.loads(sys.stdin.buffer.read())
    # What the function prints is no part of its answer.
    with contextlib.redirect_stdout(sys.stderr):
        answer = function(sys.argv[-1])(given)
    json.dump(answer, sys.stdout, ensure_ascii=True, allow_nan=False)


if __name__ == "__main__":
    main()

"""Lists folders backwards, for an interpreter that finds this file on PYTHONPATH.

No file system promises an order, and few can be made to show another one: what depends on the
order in which a folder is listed differs under this, as it would on the next machine. A
`sitecustomize` that stands further down the path still runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

_listdir, _scandir = os.listdir, os.scandir


class _Backwards:
    """What `os.scandir` returns, the last entry first."""

    def __init__(self, entries: list[os.DirEntry[Any]]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[os.DirEntry[Any]]:
        return self._entries

    def __next__(self) -> os.DirEntry[Any]:
        return next(self._entries)

    def __enter__(self) -> _Backwards:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._entries = iter(())


def _list_backwards(*given: Any, **named: Any) -> list[Any]:
    return list(_listdir(*given, **named))[::-1]


def _scan_backwards(*given: Any, **named: Any) -> _Backwards:
    with _scandir(*given, **named) as entries:
        return _Backwards(list(entries)[::-1])


def _next_one() -> None:
    # Not before: some modules keep the `os.scandir` that they find when they are imported.
    import importlib.util
    from importlib.machinery import PathFinder

    here = os.path.dirname(os.path.realpath(__file__))
    path = [entry for entry in sys.path if os.path.realpath(entry) != here]
    spec = PathFinder.find_spec("sitecustomize", path)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


os.listdir = _list_backwards
os.scandir = _scan_backwards  # type: ignore[assignment]
_next_one()

"""The label file of one rater at work: every label is on disk before anybody is told so.

A new label is appended and synced; a changed or removed one makes the file anew, whole. A line
that a crash cut off was never acknowledged, and is dropped when the file is opened again.
"""

from __future__ import annotations

import contextlib
import glob
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from helix.errors import LabelError
from helix.files import atomic_writer
from helix.labels.checking import check
from helix.labels.files import Problem, encode, ordered, raise_problems, read
from helix.labels.record import Cell, Label

try:
    import fcntl
except ImportError:  # a platform without locks: nothing is held
    fcntl = None  # type: ignore[assignment]


class Store:
    """The labels of one rater in one file, which is held until the store is closed.

    Labels of other raters in the file stay as they are. LabelError where the file cannot be
    read or written, holds a problem, or is held by another process.
    """

    def __init__(self, path: str | os.PathLike[str], rater: str) -> None:
        # Where a link leads to, or making the file anew would put it in the place of the link.
        self._path, self._rater = Path(os.path.realpath(path)), rater
        self._handle = _opened(self._path, os.O_RDWR | os.O_CREAT)
        self._size = os.fstat(self._handle).st_size
        self._others: list[Label] = []
        self._own: dict[Cell, Label] = {}
        self.healed = False
        try:
            self._read()
        except BaseException:
            self.close()
            raise

    @property
    def labels(self) -> Mapping[Cell, Label]:
        """The rater's labels."""
        return self._own

    def put(self, label: Label) -> None:
        """Keep a label, in the place of the one that its cell had; durable when this returns."""
        if label.cell in self._own:
            self._rewrite({**self._own, label.cell: label})
        else:
            self._append(encode(label))
        self._own[label.cell] = label

    def remove(self, cell: Cell) -> None:
        """Take a label away; durable when this returns."""
        self._rewrite({at: label for at, label in self._own.items() if at != cell})
        self._own.pop(cell, None)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._handle)

    def _read(self) -> None:
        # What a crash left of making the file anew; while it is held, nobody else does.
        for left in self._path.parent.glob(f".{glob.escape(self._path.name[:100])}.*.tmp"):
            left.unlink(missing_ok=True)
        data = self._path.read_bytes()
        found = read(self._path)
        problems: list[Problem] = list(found.problems)
        whole = not data or data.endswith(b"\n")
        if problems and problems[-1].torn:
            problems, self.healed = problems[:-1], True
        raise_problems([*problems, *check(found.rows)])
        for row in found.rows:
            if row.label.rater == self._rater:
                self._own[row.label.cell] = row.label
            else:
                self._others.append(row.label)
        if not whole:
            self._rewrite(self._own)

    def _append(self, line: bytes) -> None:
        with self._writing():
            end = os.lseek(self._handle, 0, os.SEEK_END)
            try:
                left = memoryview(line)
                while left:
                    left = left[os.write(self._handle, left) :]
                os.fsync(self._handle)
            except OSError:
                os.ftruncate(self._handle, end)
                raise
            self._size = end + len(line)

    def _rewrite(self, own: Mapping[Cell, Label]) -> None:
        with self._writing(), atomic_writer(self._path) as file:
            file.writelines(map(encode, ordered([*self._others, *own.values()])))
            file.flush()
            os.fchmod(file.fileno(), stat.S_IMODE(os.fstat(self._handle).st_mode))
            handle = os.dup(file.fileno())
            # Held before it takes the place of the file that is held, so that one always is.
            _hold(handle)
        os.close(self._handle)
        self._handle, self._size = handle, os.fstat(handle).st_size

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Let write where the file still is what was read; another one is nobody's to overwrite."""
        try:
            mine, there = os.fstat(self._handle), os.stat(self._path)
            if not os.path.samestat(mine, there) or there.st_size != self._size:
                raise LabelError(
                    f"{self._path} was changed by another program: start helix labels serve again"
                )
            yield
        except OSError as error:
            raise LabelError(f"{self._path} cannot be written: {error.strerror}") from None


@contextlib.contextmanager
def holding(path: str | os.PathLike[str]) -> Iterator[None]:
    """Keep stores off a label file while it is made anew; LabelError where one is at work in it."""
    file = Path(os.path.realpath(path))
    handle = _opened(file, os.O_RDONLY) if file.exists() else None
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _opened(path: Path, flags: int) -> int:
    """Return a label file that is open and held; LabelError where it cannot be either."""
    try:
        handle = os.open(path, flags, 0o644)
    except OSError as error:
        raise LabelError(f"{path} cannot be opened: {error.strerror}") from None
    try:
        _hold(handle)
        same = os.path.samestat(os.fstat(handle), os.stat(path))
    except OSError:
        same = False
    if not same:
        os.close(handle)
        raise LabelError(
            f"{path} is being labelled in by another process: two raters need a file each"
        )
    return handle


def _hold(handle: int) -> None:
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

"""Where the parts of a page wait while it is composed: packed, in a file without a name."""

from __future__ import annotations

import base64
import contextlib
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO

LEVEL = 6
_PIECE = 30_000
GZIP = 31
"""The window that makes zlib write gzip, with no time in it: the same text, the same bytes."""


def packed(text: str) -> bytes:
    """Return a text as gzip, as a browser's DecompressionStream unpacks it."""
    press = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
    return press.compress(text.encode("utf-8")) + press.flush()


def in_page(data: bytes) -> str:
    """Return bytes as a page can hold them."""
    return base64.b64encode(data).decode("ascii")


def pieces(texts: Iterable[str]) -> Iterator[str]:
    """Yield `in_page(packed(…))` of the texts together, in pieces, while they come."""
    press, held = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP), b""
    for data in (press.compress(text.encode("utf-8")) for text in texts):
        held += data
        whole = len(held) - len(held) % 3 if len(held) > _PIECE else 0
        if whole:
            yield in_page(held[:whole])
            held = held[whole:]
    yield in_page(held + press.flush())


class Shelf:
    """Texts by number, each packed by itself; `size` is how much of a page they would take."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._places: dict[int, tuple[int, int]] = {}

    def __contains__(self, at: int) -> bool:
        return at in self._places

    def put(self, at: int, text: str) -> None:
        """Keep a text under a number."""
        start = self._file.seek(0, 2)
        self._places[at] = start, self._file.write(packed(text))

    def data(self, at: int) -> bytes:
        """Return a text as it is kept."""
        start, length = self._places[at]
        self._file.seek(start)
        return self._file.read(length)

    def text(self, at: int) -> str:
        """Return a text as it was."""
        return zlib.decompress(self.data(at), GZIP).decode("utf-8")

    @property
    def size(self) -> int:
        """How many characters all of it takes in a page."""
        return sum(-(-length // 3) * 4 for _, length in self._places.values())


@contextlib.contextmanager
def shelf() -> Iterator[Shelf]:
    """Give an empty shelf, which is gone when the block ends."""
    with tempfile.TemporaryFile() as file:
        yield Shelf(file)

"""Where JSON values end in a stream of bytes, so that memory follows the largest record.

Brackets and quotes alone decide; whether a value is sound is found out when it is decoded. So a
bad record ends where it ends, and the next one is read.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

from helix.model.jsontext import decode
from helix.model.manifest import LoadFailure

CHUNK: Final = 1 << 20
RECORD_LIMIT: Final = 256 << 20
DEPTH_LIMIT: Final = 1 << 20
BOM: Final = b"\xef\xbb\xbf"
SEEN_OF_A_LIST: Final = 3

_SPACE = re.compile(rb"[ \t\r\n]*")
_SCALAR = re.compile(rb'"(?:[^"\\]|\\.)*"|[^\s,\[\]{}"]+', re.DOTALL)
_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+(["\[\]{}])', re.DOTALL)
_DEPTH = {b"[": 1, b"{": 1, b"]": -1, b"}": -1}
_OPEN, _CLOSE, _OPEN_OBJECT, _COMMA, _QUOTE = b'[]{,"'


def told(size: int) -> str:
    """Return a size in words."""
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size} bytes"


class Fault(Exception):
    """A place in the stream from which reading cannot go on."""

    def __init__(self, failure: LoadFailure) -> None:
        super().__init__(failure.reason)
        self.failure = failure


@dataclass(frozen=True, slots=True)
class Piece:
    """The bytes of one JSON value, the 1-based line and the byte of that line it starts at.

    `document` says that the file begins with it, outside any list.
    """

    data: bytes
    line: int
    byte: int = 0
    document: bool = False


class Scanner:
    """Cuts a stream into JSON values; with `line`, it stands in that line of a file of lines."""

    def __init__(self, stream: BinaryIO, file: str, *, line: int = 0) -> None:
        self._stream, self._file = stream, file
        self._buffer, self._at = bytearray(), 0
        self._line, self._byte, self._fresh = line or 1, 0, not line
        while len(self._buffer) < len(BOM) and self._more():
            pass
        if self._buffer.startswith(BOM):
            self._advance(len(BOM))

    def next_byte(self) -> int | None:
        """Skip white space; return the byte that follows, or None at the end."""
        while True:
            space = _SPACE.match(self._buffer, self._at)
            self._advance(space.end() if space else self._at)
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._more():
                return None

    def value(self) -> Piece:
        """Take the value that starts here; raise Fault where there is none or it does not end."""
        opens = self.next_byte() in (_OPEN, _OPEN_OBJECT)
        size = self._container_size() if opens else self._scalar_size()
        if size > RECORD_LIMIT:
            raise self._too_large()
        line, byte = self._line, self._byte
        data = bytes(memoryview(self._buffer)[self._at : self._at + size])
        self._advance(self._at + size)
        document, self._fresh = self._fresh, False
        return Piece(data, line, byte, document)

    def elements(self) -> Iterator[Piece | LoadFailure]:
        """Take the list that starts here, value by value."""
        self.next_byte()
        self._advance(self._at + 1)
        self._fresh, before = False, "["
        while (head := self.next_byte()) != _CLOSE:
            if head is None:
                yield self.fault("the list is not closed (cut off?)").failure
                return
            if (head == _COMMA) != (before == "value"):
                wanted = "comma" if before == "value" else "value"
                yield self.fault(f"a {wanted} is missing here").failure
            if head == _COMMA:
                self._advance(self._at + 1)
                before = ","
                continue
            yield self.value()
            before = "value"
        if before == ",":
            yield self.fault("a value is missing before the end of the list").failure
        self._advance(self._at + 1)

    def ahead(self) -> list[Any]:
        """Return the first few sound values of the list that starts here, without taking them."""
        while True:
            found = list(itertools.islice(_sound(self._of_what_is_held()), SEEN_OF_A_LIST))
            if found or self._over_limit() or not self._more():
                return found

    def fault(self, reason: str) -> Fault:
        """Return a fault at the place reached."""
        return Fault(LoadFailure(file=self._file, line=self._line, byte=self._byte, reason=reason))

    def _of_what_is_held(self) -> Scanner:
        """Return a scanner of the bytes held from here; it changes none, having no more to add."""
        scanner = Scanner(io.BytesIO(), self._file)
        scanner._buffer, scanner._at = self._buffer, self._at
        return scanner

    def _container_size(self) -> int:
        depth = size = 0
        while True:
            for bracket in _BRACKET.finditer(self._buffer, self._at + size):
                step = _DEPTH.get(bracket[1])
                if step is None:
                    break
                depth += step
                size = bracket.end() - self._at
                if not depth:
                    return size
                if depth > DEPTH_LIMIT:
                    raise self.fault("the record that starts here is nested too deeply to be read")
            self._grow()

    def _scalar_size(self) -> int:
        while True:
            found = _SCALAR.match(self._buffer, self._at)
            if found and found.end() < len(self._buffer):
                return found.end() - self._at
            at_end = not self._more()
            if at_end and found:
                return found.end() - self._at
            if at_end or (not found and self._buffer[self._at] != _QUOTE):
                raise self.fault("this is not JSON")
            if self._over_limit():
                raise self._too_large()

    def _grow(self) -> None:
        if self._over_limit():
            raise self._too_large()
        if not self._more():
            raise self.fault("the record that starts here does not end (cut off?)")

    def _over_limit(self) -> bool:
        return len(self._buffer) - self._at > RECORD_LIMIT

    def _too_large(self) -> Fault:
        return self.fault(f"the record that starts here is larger than {told(RECORD_LIMIT)}")

    def _more(self) -> bool:
        # Reading as much as is held keeps the work linear however large one value is; a value
        # that may be too large is read to where that is known, and no further.
        held = len(self._buffer) - self._at
        wanted = held if 2 * held < RECORD_LIMIT else RECORD_LIMIT + 1 - held
        size = held + max(CHUNK, wanted)
        while chunk := self._stream.read(min(CHUNK, size - len(self._buffer) + self._at)):
            del self._buffer[: self._at]
            self._at = 0
            self._buffer += chunk
        return len(self._buffer) - self._at > held

    def _advance(self, to: int) -> None:
        newlines = self._buffer.count(b"\n", self._at, to)
        if newlines:
            self._line += newlines
            self._byte = to - self._buffer.rfind(b"\n", self._at, to) - 1
        else:
            self._byte += to - self._at
        self._at = to


def _sound(scanner: Scanner) -> Iterator[Any]:
    try:
        for piece in scanner.elements():
            if isinstance(piece, Piece):
                try:
                    yield decode(piece.data)[0]
                except ValueError:
                    continue
    except Fault:
        return


def decode_piece(piece: Piece, file: str) -> tuple[Any, bool] | LoadFailure:
    """Decode a value; what is wrong with it becomes a failure that names line and byte."""
    try:
        return decode(piece.data)
    except UnicodeDecodeError as error:
        at = error.start
        reason = f"not UTF-8 (byte 0x{piece.data[at]:02X})"
    except ValueError as error:
        position = getattr(error, "pos", 0)
        at = len(piece.data.decode("utf-8", "replace")[:position].encode("utf-8"))
        reason = f"not JSON: {getattr(error, 'msg', error)}"
        if not piece.data[at:].strip() or "Unterminated" in reason:
            reason += " (cut off?)"
    before = piece.data[:at]
    newlines = before.count(b"\n")
    byte = at - before.rfind(b"\n") - 1 if newlines else piece.byte + at
    return LoadFailure(file=file, line=piece.line + newlines, byte=byte, reason=reason)

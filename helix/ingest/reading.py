"""One file's bytes become traces: values, detection, the format's reader, failures counted."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, BinaryIO, Final

from helix.errors import FormatError, HelixError
from helix.ingest import flags, jsonstream
from helix.ingest.detection import detect
from helix.ingest.jsonstream import Fault, Piece, Scanner, decode_piece
from helix.ingest.streams import DAMAGE, EMPTY_LIST, Found, by_line, open_bytes, pieces
from helix.model.jsontext import decoded_again
from helix.model.manifest import LoadFailure
from helix.model.trace import Trace
from helix.registry import Format, Match, Record

TRIES: Final = 8
MAX_FAILURES: Final = 10_000


class FileReader:
    """Reads one file; the first record that a format recognises decides the format of all.

    `match` says why, once such a record was read.
    """

    def __init__(self, found: Found, formats: Sequence[Format], forced: Format | None) -> None:
        self._found, self._formats, self._format = found, formats, forced
        self.match: Match | None = None
        self._again = decoded_again()
        self._unknown: list[LoadFailure] = []
        self._held: list[Record] = []

    @property
    def name(self) -> str:
        """The file's name, as typed or found."""
        return self._found.name

    @property
    def format(self) -> Format | None:
        """The format forced or recognised so far."""
        return self._format

    def settle(self) -> None:
        """Read no further than the format needs; raise what iterating would raise."""
        with open_bytes(self._found.path) as stream:
            try:
                for piece in pieces(stream, self._found):
                    if any(self.match is not None for _ in self._records(piece)):
                        return
                    if len(self._unknown) >= TRIES:
                        break
            except Fault as fault:
                self._unknown.append(fault.failure)
            except DAMAGE as error:
                self._unknown.append(self._failure(0, f"damaged or cut off: {error}"))
        if self._unknown:
            raise FormatError(f"{self.name}: {self._unknown[0].reason}")

    def __iter__(self) -> Iterator[Trace | LoadFailure]:
        """Yield traces and failures in order.

        Raises OSError for a file that cannot be opened, FormatError for one in no known format.
        """
        failed = 0
        with open_bytes(self._found.path) as stream:
            for item in self._items(stream):
                yield item
                failed += isinstance(item, LoadFailure)
                if failed >= MAX_FAILURES:
                    yield self._failure(0, f"{failed} records are bad; the rest was not tried")
                    return

    def lines(self, offset: int, size: int, before: int) -> Iterator[Trace | LoadFailure]:
        """Yield what stands in some whole lines of a file of plain JSON Lines.

        They begin at `offset`, are `size` bytes long, and `before` lines stand before them. No
        more is read than one record may have. The format must be given, and be one whose traces
        each come from one record.
        """
        with open(self._found.path, "rb") as stream:
            stream.seek(offset)
            data = io.BytesIO(stream.read(min(size, jsonstream.RECORD_LIMIT + 1)))
        try:
            for piece in by_line(data, self._found.name, before):
                for record in self._records(piece):
                    if isinstance(record, LoadFailure):
                        yield record
                    else:
                        yield from self._read([record])
        except Fault as fault:
            yield fault.failure

    def _items(self, stream: BinaryIO) -> Iterator[Trace | LoadFailure]:
        try:
            yield from self._streamed(stream)
        except Fault as fault:
            yield fault.failure
        except DAMAGE as error:
            yield self._failure(0, f"damaged or cut off: {error or type(error).__name__}")
        if self._unknown:
            raise FormatError(f"{self._found.name}: {self._unknown[0].reason}")
        if self._held:
            yield from self._read(self._held)

    def _streamed(self, stream: BinaryIO) -> Iterator[Trace | LoadFailure]:
        records = self._all(stream)
        for record in records:
            if isinstance(record, LoadFailure):
                yield record
                continue
            yield from self._unknown
            self._unknown = []
            if self._format is not None and self._format.stream is not None:
                rest = chain([record], self._rest(records))
                yield from self._guarded(self._format.stream(rest, self._lines), 0)
            elif self._format is not None and self._format.whole_file:
                self._held.append(record)
            else:
                yield from self._read([record])

    def _all(self, stream: BinaryIO) -> Iterator[Record | LoadFailure]:
        for piece in pieces(stream, self._found):
            yield from self._records(piece)
            if len(self._unknown) >= TRIES:
                return

    def _rest(self, records: Iterator[Record | LoadFailure]) -> Iterator[Record | LoadFailure]:
        """Yield records to their end, so that what was read before a fault still becomes traces."""
        try:
            yield from records
        except Fault as fault:
            yield fault.failure
        except DAMAGE as error:
            yield self._failure(0, f"damaged or cut off: {error or type(error).__name__}")

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the bytes of all values anew, each with its line; a document is no line."""
        with open_bytes(self._found.path) as stream, suppress(Fault, *DAMAGE):
            for piece in pieces(stream, self._found):
                inside = piece.elements() if isinstance(piece, Scanner) else [piece]
                for item in inside:
                    if isinstance(item, Piece) and not item.document:
                        yield item.line, item.data

    def _records(self, piece: Piece | Scanner | LoadFailure) -> Iterator[Record | LoadFailure]:
        if isinstance(piece, LoadFailure):
            yield piece
        elif isinstance(piece, Piece):
            yield from self._decoded(piece)
        else:
            yield from self._listed(piece)

    def _listed(self, scanner: Scanner) -> Iterator[Record | LoadFailure]:
        first = scanner.ahead()
        match = self._recognise([first[at:] for at in range(len(first))]) if first else None
        if match is not None and match.list_is_one_trace:
            yield from self._decoded(scanner.value())
            return
        empty = True
        for piece in scanner.elements():
            empty = False
            if isinstance(piece, LoadFailure):
                yield piece
            elif match is not None or not first:
                yield from self._decoded(piece)
        if empty:
            yield self._failure(0, EMPTY_LIST)

    def _decoded(self, piece: Piece) -> Iterator[Record | LoadFailure]:
        line = 0 if piece.document else piece.line
        if self._format is not None and self._format.decode is not None:
            own = self._format.decode(piece.data)
            if own is not None:
                yield Record(own, piece.data, self._found.name, line)
                return
        decoded = decode_piece(piece, self._found.name)
        if isinstance(decoded, LoadFailure):
            yield decoded
            return
        value, strict = decoded
        if self._format is not None or self._recognise([value], line) is not None:
            yield Record(value, piece.data, self._found.name, line, strict)

    def _recognise(self, views: Sequence[Any], line: int = 0) -> Match | None:
        """Settle the file's format by the first of the views that one recognises.

        With the format settled, tell whether a list is one trace. A value in no known format is
        remembered, and becomes a failure once another value settles the format.
        """
        settled = self._format
        unknown = ""
        for view in views:
            try:
                self._format, match = detect(view, [settled] if settled else self._formats)
            except FormatError as error:
                unknown = unknown or str(error)
                continue
            self.match = self.match or match
            return match
        if settled is not None:
            # What the format does not recognise goes to it as a whole, to be told what is wrong.
            return Match("named", list_is_one_trace=True)
        self._unknown.append(self._failure(line, unknown))
        return None

    def _read(self, records: Sequence[Record]) -> Iterator[Trace | LoadFailure]:
        yield from self._guarded(self._flagged(records), records[0].line)

    def _flagged(self, records: Sequence[Record]) -> Iterator[Trace | LoadFailure]:
        for item in self._format.read(records) if self._format else ():
            if isinstance(item, Trace):
                flags.flag(item, records, plain=decoded_again() == self._again)
            yield item

    def _guarded(
        self, items: Iterable[Trace | LoadFailure], line: int
    ) -> Iterator[Trace | LoadFailure]:
        name = self._format.name if self._format else ""
        try:
            yield from items
        except HelixError as error:
            yield self._failure(line, f"{name}: {error}")
        except Exception as error:
            yield self._failure(line, f"{name} cannot read it ({type(error).__name__}: {error})")

    def _failure(self, line: int, reason: str) -> LoadFailure:
        return LoadFailure(file=self._found.name, line=line, reason=reason)

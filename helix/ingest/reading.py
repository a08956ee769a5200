"""One file's bytes become traces: values, detection, the format's reader, failures counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from helix.errors import FormatError, HelixError
from helix.ingest import flags
from helix.ingest.detection import detect
from helix.ingest.jsonstream import Piece, Scanner, decode_piece
from helix.ingest.streams import Found, pieces
from helix.model.manifest import LoadFailure
from helix.model.trace import Trace
from helix.registry import Format, Match, Record

TRIES: Final = 8
MAX_FAILURES: Final = 10_000


class FileReader:
    """Reads one file; the first record that a format recognises decides the format of all."""

    def __init__(self, found: Found, formats: Sequence[Format], forced: Format | None) -> None:
        self._found, self._formats, self._forced = found, formats, forced
        self._format: Format | None = None
        self._unknown: list[LoadFailure] = []
        self._held: list[Record] = []

    def __iter__(self) -> Iterator[Trace | LoadFailure]:
        """Yield traces and failures in order; raises FormatError for a file in no known format."""
        failed = 0
        for item in self._items():
            yield item
            failed += isinstance(item, LoadFailure)
            if failed >= MAX_FAILURES:
                yield self._failure(0, f"{failed} records cannot be read; the rest was not tried")
                return

    def _items(self) -> Iterator[Trace | LoadFailure]:
        for piece in pieces(self._found):
            for record in self._records(piece):
                if isinstance(record, LoadFailure):
                    yield record
                    continue
                yield from self._unknown
                self._unknown = []
                if self._format is not None and self._format.whole_file:
                    self._held.append(record)
                else:
                    yield from self._read([record])
            if len(self._unknown) >= TRIES:
                break
        if self._unknown:
            raise FormatError(f"{self._found.name}: {self._unknown[0].reason}")
        if self._held:
            yield from self._read(self._held)

    def _records(self, piece: Piece | Scanner | LoadFailure) -> Iterator[Record | LoadFailure]:
        if isinstance(piece, LoadFailure):
            yield piece
        elif isinstance(piece, Piece):
            yield from self._decoded(piece)
        else:
            yield from self._listed(piece)

    def _listed(self, scanner: Scanner) -> Iterator[Record | LoadFailure]:
        first = scanner.ahead()
        match = self._recognise(first) if first else None
        if match is not None and match.list_is_one_trace:
            yield from self._decoded(scanner.value(), known=True)
            return
        empty = True
        for piece in scanner.elements():
            empty = False
            if isinstance(piece, LoadFailure):
                yield piece
            elif match is not None or self._format is not None:
                yield from self._decoded(piece, known=True)
            elif not first and isinstance(
                bad := decode_piece(piece, self._found.name), LoadFailure
            ):
                yield bad
        if empty:
            yield self._failure(0, "an empty list holds no trace")

    def _decoded(self, piece: Piece, *, known: bool = False) -> Iterator[Record | LoadFailure]:
        decoded = decode_piece(piece, self._found.name)
        if isinstance(decoded, LoadFailure):
            yield decoded
            return
        value, strict = decoded
        line = 0 if piece.document else piece.line
        if known or self._format is not None or self._recognise(value, line) is not None:
            yield Record(value, piece.data, self._found.name, line, strict)

    def _recognise(self, value: Any, line: int = 0) -> Match | None:
        """Settle the file's format by a value; a value in none is remembered as a failure."""
        formats = [self._forced or self._format] if self._forced or self._format else self._formats
        try:
            self._format, match = detect(value, [f for f in formats if f is not None])
        except FormatError as error:
            if self._forced is None and self._format is None:
                self._unknown.append(self._failure(line, str(error)))
                return None
            self._format = self._forced or self._format
            return Match("named")
        return match

    def _read(self, records: Sequence[Record]) -> Iterator[Trace | LoadFailure]:
        line = records[0].line
        name = self._format.name if self._format else ""
        try:
            for item in self._format.read(records) if self._format else ():
                if isinstance(item, Trace):
                    flags.flag(item, records)
                yield item
        except HelixError as error:
            yield self._failure(line, f"{name}: {error}")
        except Exception as error:
            yield self._failure(line, f"{name} cannot read it ({type(error).__name__}: {error})")

    def _failure(self, line: int, reason: str) -> LoadFailure:
        return LoadFailure(file=self._found.name, line=line, reason=reason)

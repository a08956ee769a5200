"""Inspect's .eval archives: a zip of header.json and one entry per sample and epoch.

Each sample is handed on as a log of its own: the header with `samples: [the sample]`. Entries are
read from the raw bytes, stored, deflated or Zstandard (method 93), never more than one at a time
and never more of one than a record may have. Names in the archive are never file names here. A
directory that is itself a bomb is refused, and so are entries that share bytes, which would be
inflated as often as they are listed.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from typing import IO, BinaryIO, Final, Protocol, cast

import zstandard

from helix.ingest import jsonstream
from helix.ingest.jsonstream import CHUNK, Piece, told
from helix.model.jsontext import decode
from helix.model.manifest import LoadFailure

ZIP_MAGIC: Final = b"PK\x03\x04"
EMPTY_ZIP_MAGIC: Final = b"PK\x05\x06"
HEADERS: Final = ("header.json", "_journal/start.json")
SAMPLES: Final = "samples/"
STORED: Final = 0
DEFLATED: Final = 8
ZSTANDARD: Final = 93
ENCRYPTED: Final = 1
DIRECTORY_LIMIT: Final = 16 << 20
"""Over 150,000 samples; what lists them is held ten times as large."""
_LOCAL_HEADER: Final = 30
_FAULTS = (zipfile.BadZipFile, zlib.error, zstandard.ZstdError, EOFError, struct.error)


class _Bad(Exception):
    """An entry that cannot be read, and why."""


class _Source(Protocol):
    def read(self, size: int) -> bytes: ...


def is_archive(head: bytes) -> bool:
    """Whether a file that begins like this is a zip."""
    return head.startswith((ZIP_MAGIC, EMPTY_ZIP_MAGIC))


def entries(stream: BinaryIO, file: str) -> Iterator[Piece | LoadFailure]:
    """Yield each sample as a log with that one sample; a bad entry fails alone.

    The line of a piece is the place of the sample among the samples, from 1.
    """
    try:
        infos = _listed(stream)
    except _Bad as error:
        yield LoadFailure(file=file, line=0, reason=str(error))
        return
    except (*_FAULTS, ValueError, NotImplementedError) as error:
        yield LoadFailure(file=file, line=0, reason=f"damaged or cut off: {error}")
        return
    header = next((name for name in HEADERS if name in infos), None)
    samples = [i for n, i in infos.items() if n.startswith(SAMPLES) and n.endswith(".json")]
    if header is None:
        reason = f"a zip without {' or '.join(HEADERS)} is no Inspect log"
        yield LoadFailure(file=file, line=0, reason=reason)
        return
    try:
        opening = _opening(_content(stream, infos[header]))
    except (*_FAULTS, _Bad, ValueError) as error:
        yield LoadFailure(file=file, line=0, reason=f"{header}: {error}")
        return
    if not samples:
        yield Piece(opening + b"]}", 0)
    shared = _shared(infos.values())
    for number, info in enumerate(samples, start=1):
        try:
            if info.filename in shared:
                raise _Bad("the entry shares its bytes with another")
            data = _content(stream, info)
        except (*_FAULTS, _Bad) as error:
            reason = f"{_shown(info.filename)}: {error or type(error).__name__}"
            yield LoadFailure(file=file, line=number, reason=reason)
            continue
        yield Piece(opening + data + b"]}", number, -len(opening))


def _listed(stream: BinaryIO) -> dict[str, zipfile.ZipInfo]:
    """Return the entries by name; of several with one name, the last one counts."""
    archive = zipfile.ZipFile(cast(IO[bytes], _Directory(stream)))
    return {info.filename: info for info in archive.infolist()}


def _shared(infos: Iterable[zipfile.ZipInfo]) -> set[str]:
    """Return the names of the entries that begin before one in front of them ends."""
    found, end = set(), 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        if info.header_offset < end:
            found.add(info.filename)
        end = max(end, info.header_offset + _LOCAL_HEADER + info.compress_size)
    return found


def _opening(header: bytes) -> bytes:
    """Return the header as the beginning of a log, up to the first sample."""
    value, _ = decode(header)
    if not isinstance(value, dict):
        raise ValueError("not an object")
    inside = header.strip()[:-1].replace(b"\n", b" ").replace(b"\r", b" ")
    return inside + (b"," if value else b"") + b'"samples":['


def _content(stream: BinaryIO, info: zipfile.ZipInfo) -> bytes:
    if info.flag_bits & ENCRYPTED:
        raise _Bad("the entry is encrypted")
    stream.seek(info.header_offset)
    head = stream.read(_LOCAL_HEADER)
    if not head.startswith(ZIP_MAGIC):
        raise _Bad("the entry is not where the archive says")
    name_size, extra_size = struct.unpack("<HH", head[26:30])
    stream.seek(name_size + extra_size, 1)
    data = _inflated(_Part(stream, info.compress_size), info.compress_type)
    if zlib.crc32(data) != info.CRC:
        raise _Bad("the entry is damaged (its checksum differs)")
    return data


def _inflated(part: _Part, method: int) -> bytes:
    if method == STORED:
        return _bounded(part)
    if method == DEFLATED:
        return _bounded(_Deflated(part))
    if method == ZSTANDARD:
        decompressor = zstandard.ZstdDecompressor()
        return _bounded(decompressor.stream_reader(cast(IO[bytes], part), read_across_frames=True))
    raise _Bad(f"compression method {method} is not read (stored, deflated and Zstandard are)")


def _bounded(source: _Source) -> bytes:
    chunks: list[bytes] = []
    size, limit = 0, jsonstream.RECORD_LIMIT
    while chunk := source.read(CHUNK):
        size += len(chunk)
        if size > limit:
            raise _Bad(f"the sample is larger than {told(limit)}")
        chunks.append(chunk)
    return b"".join(chunks)


class _Directory:
    """A stream of which an archive's directory is read, at once, and no more than is bounded."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.seek, self.tell = stream.seek, stream.tell

    def read(self, size: int = -1) -> bytes:
        if size > DIRECTORY_LIMIT:
            raise _Bad(f"the archive's directory is larger than {told(DIRECTORY_LIMIT)}")
        return self._stream.read(size)


class _Part:
    """The next bytes of a stream, as many as an entry has."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream, self._left = stream, size

    def read(self, size: int = -1) -> bytes:
        wanted = self._left if size < 0 else min(size, self._left)
        data = self._stream.read(min(wanted, CHUNK))
        self._left -= len(data)
        return data


class _Deflated:
    """Deflated bytes, inflated as they are asked for."""

    def __init__(self, part: _Part) -> None:
        self._part, self._inflater = part, zlib.decompressobj(-zlib.MAX_WBITS)

    def read(self, size: int) -> bytes:
        while not self._inflater.eof:
            waiting = self._inflater.unconsumed_tail or self._part.read(CHUNK)
            data = self._inflater.decompress(waiting, size)
            if data:
                return data
            if not waiting:
                raise EOFError("the entry is cut off")
        return b""


def _shown(name: str) -> str:
    return ascii(name)[1:-1][:80]

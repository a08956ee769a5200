"""Files of traces: which ones a PATH, a folder, a GLOB or `-` names, and their bytes.

The content says what a file is: gzip and Zstandard by their first bytes, one JSON document, a
list or JSON Lines by how it begins. Names matter only inside a folder, where files that end like
trace files are taken.
"""

from __future__ import annotations

import glob
import gzip
import io
import itertools
import os
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, BinaryIO, Final, cast

import zstandard

from helix.errors import TraceError, did_you_mean
from helix.ingest import jsonstream
from helix.ingest.archive import ZIP_MAGIC, entries, is_archive
from helix.ingest.jsonstream import BOM, CHUNK, Piece, Scanner, told
from helix.model.jsontext import decode
from helix.model.manifest import LoadFailure

STDIN: Final = "-"
EMPTY_FILE = "the file is empty"
EMPTY_LIST = "an empty list holds no trace"
SUFFIXES: Final = (".json", ".jsonl", ".ndjson", ".gz", ".zst", ".traj", ".eval")
GZIP_MAGIC: Final = b"\x1f\x8b"
ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
DAMAGE = (OSError, EOFError, zlib.error, zstandard.ZstdError)


Spool = Callable[[str | None], str]


@dataclass(frozen=True, slots=True)
class Found:
    """A file to read: its name as typed, where its bytes are, whether it was named alone."""

    name: str
    path: str
    alone: bool

    @classmethod
    def at(cls, path: str) -> Found:
        """Return a file that was found, its name the same text under every locale."""
        return cls(named(path), path, alone=False)


def find(traces: str | Sequence[str], spool: Spool) -> tuple[list[Found], list[LoadFailure]]:
    """Return the files that the input names, each once and in order, and what was not followed.

    `spool` copies what can be read only once (a pipe by its path, standard input by None) and
    returns the copy's path. What names no file raises TraceError.
    """
    wanted = [traces] if isinstance(traces, str) else list(traces)
    if not wanted:
        raise TraceError("subject.traces must name a file, a folder, a glob or - (got none)")
    found: dict[str, Found] = {}
    astray: list[LoadFailure] = []
    for word in wanted:
        for item in _one(word, spool, astray):
            found.setdefault(os.path.realpath(item.path), item)
    return list(found.values()), astray


def named(path: str) -> str:
    """Return a path as the text that its bytes are in UTF-8, whatever the locale takes them for."""
    return os.fsencode(path).decode("utf-8", "surrogateescape")


def _one(word: str, spool: Spool, astray: list[LoadFailure]) -> list[Found]:
    if word == STDIN:
        return [Found(STDIN, spool(None), alone=True)]
    path = os.path.expanduser(word)
    if os.path.isdir(path):
        inside = list(_walk(path, astray))
        if not inside:
            raise TraceError(
                f"subject.traces: the folder '{word}' holds no file that ends in "
                f"{', '.join(SUFFIXES)}"
            )
        return inside
    if os.path.lexists(path):
        regular = not os.path.exists(path) or stat.S_ISREG(os.stat(path).st_mode)
        return [Found(named(word), path if regular else spool(path), alone=True)]
    matched = sorted(glob.glob(path, recursive=True)) if glob.has_magic(path) else []
    files = [Found.at(name) for name in matched if os.path.isfile(name)]
    if not files:
        raise TraceError(_nothing(word, path, folders=bool(matched)))
    return files


def _walk(folder: str, astray: list[LoadFailure]) -> Iterator[Found]:
    root = os.path.realpath(folder)

    def unlisted(error: OSError) -> None:
        reason = f"the folder cannot be listed: {error.strerror or error}"
        astray.append(LoadFailure(file=str(error.filename), line=0, reason=reason))

    for at, folders, names in os.walk(folder, onerror=unlisted):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted([*names, *(f for f in folders if os.path.islink(os.path.join(at, f)))]):
            path = os.path.join(at, name)
            target = os.path.realpath(path)
            if os.path.islink(path) and os.path.commonpath([root, target]) != root:
                reason = "a link that leads out of the folder is not followed; name its target"
                astray.append(LoadFailure(file=named(path), line=0, reason=reason))
            elif _is_trace_name(name) and os.path.isfile(path):
                yield Found.at(path)


def _is_trace_name(name: str) -> bool:
    return name.lower().endswith(SUFFIXES) and not name.startswith(".")


def _nothing(word: str, path: str, *, folders: bool) -> str:
    if folders:
        return f"subject.traces: the glob '{word}' matches only folders; add /*.json or name one"
    parent, name = os.path.split(path)
    while parent and not glob.has_magic(parent) and not os.path.isdir(parent):
        parent, name = os.path.split(parent)
    near = os.listdir(parent or ".") if not glob.has_magic(parent) else []
    kind = "glob" if glob.has_magic(path) else "path"
    return f"subject.traces: the {kind} '{word}' matches no file{did_you_mean(name, near)}"


def spool(source: IO[bytes]) -> IO[bytes]:
    """Copy a stream that can be read only once to a temporary file, gone when that is closed."""
    copy = tempfile.NamedTemporaryFile(prefix="helix-")  # noqa: SIM115
    while chunk := source.read(CHUNK):
        copy.write(chunk)
    copy.flush()
    return cast(IO[bytes], copy)


def open_bytes(path: str) -> BinaryIO:
    """Open a file and decompress it as its first bytes say."""
    stream = io.BufferedReader(io.FileIO(path), CHUNK)
    magic = stream.peek(4)
    if magic.startswith(GZIP_MAGIC):
        return cast(BinaryIO, io.BufferedReader(_Gzip(stream), CHUNK))
    if magic.startswith(ZSTD_MAGIC):
        reader = zstandard.ZstdDecompressor().stream_reader(
            stream, read_across_frames=True, closefd=True
        )
        return cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, reader), CHUNK))
    return stream


class _Gzip(gzip.GzipFile):
    """A gzip stream that closes the file it reads."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(fileobj=stream, mode="rb")
        self._below = stream

    def close(self) -> None:
        super().close()
        self._below.close()


def pieces(stream: BinaryIO, found: Found) -> Iterator[Piece | Scanner | LoadFailure]:
    """Yield a file's values in order: objects as pieces, lists as scanners that stand before them.

    A zip gives the samples of an Inspect log. A list must be taken (`value` or `elements`) before
    the next item is asked for. Where reading cannot go on, Fault or one of DAMAGE is raised, here
    or by the scanner.
    """
    if is_archive(cast(io.BufferedReader, stream).peek(len(ZIP_MAGIC))):
        yield from entries(stream, found.name)
        return
    lines, empty = _is_lines(found)
    if empty:
        yield LoadFailure(file=found.name, line=0, reason=EMPTY_FILE)
    elif lines:
        yield from by_line(stream, found.name)
    else:
        yield from _by_value(Scanner(stream, found.name))


def _by_value(scanner: Scanner) -> Iterator[Piece | Scanner]:
    while (head := scanner.next_byte()) is not None:
        yield scanner if head == b"["[0] else scanner.value()


def by_line(
    stream: BinaryIO, file: str, number: int = 0
) -> Iterator[Piece | Scanner | LoadFailure]:
    """Yield the values of JSON Lines; `number` lines of the file stand before the stream."""
    limit = jsonstream.RECORD_LIMIT
    while line := _line(stream, limit):
        number += 1
        if len(line) > limit:
            reason = f"the line is longer than {told(limit)}"
            yield LoadFailure(file=file, line=number, reason=reason)
            while line and not line.endswith(b"\n"):
                line = stream.readline(CHUNK)
            continue
        start = len(BOM) if number == 1 and line.startswith(BOM) else 0
        data = bytes(line[start:].strip())
        if data.startswith(b"["):
            yield Scanner(io.BytesIO(data), file, line=number)
        elif data:
            yield Piece(data, number, line.find(data[:1]))


def _line(stream: BinaryIO, limit: int) -> bytes | bytearray:
    """Return the next line, or of one that is longer than the limit a byte more than that."""
    line = stream.readline(min(CHUNK, limit + 1))
    if len(line) < CHUNK or line.endswith(b"\n"):
        return line
    # One that is refused is held once: asked for in one go, a line is held in blocks and joined.
    held = bytearray(line)
    while more := stream.readline(min(CHUNK, limit + 1 - len(held))):
        held += more
        if more.endswith(b"\n"):
            break
    return held if len(held) > limit else bytes(held)


def places(path: str) -> Iterator[tuple[int, int, int]] | None:
    """Return number, offset and size of each line of a file of plain JSON Lines, else None."""
    with open_bytes(path) as stream:
        plain = isinstance(stream, io.BufferedReader) and isinstance(stream.raw, io.FileIO)
        plain = plain and not is_archive(cast(io.BufferedReader, stream).peek(len(ZIP_MAGIC)))
    found = Found.at(path)
    return _places(path) if plain and _is_lines(found) == (True, False) else None


def _places(path: str) -> Iterator[tuple[int, int, int]]:
    offset = 0
    with open(path, "rb") as stream:
        for number in itertools.count(1):
            size = 0
            while line := stream.readline(CHUNK):
                size += len(line)
                if line.endswith(b"\n"):
                    break
            if not size:
                return
            yield number, offset, size
            offset += size


def _is_lines(found: Found) -> tuple[bool, bool]:
    """Tell whether the file is JSON Lines, and whether it is empty.

    It is when two lines stand in it and the first is a whole value, or, should the first one be
    bad, the second is.
    """
    with open_bytes(found.path) as stream:
        more = stream.read(CHUNK).removeprefix(BOM).lstrip()
        text = bytearray(more)
        is_list = text.startswith(b"[")
        # A record is held whole anyway, a list of many traces never is.
        while b"\n" not in more and not is_list and len(text) < jsonstream.RECORD_LIMIT:
            more = stream.read(CHUNK)
            if not more:
                break
            text += more
        end = text.find(b"\n")
        if end < 0:
            return False, not text
        rest = (bytes(text[end + 1 :]) or stream.read(CHUNK)).lstrip()
    if not rest:
        return False, False
    del text[end:]
    second = rest.partition(b"\n")[0]
    return _is_container(bytes(text)) or (not is_list and _is_container(second)), False


def _is_container(line: bytes) -> bool:
    try:
        return isinstance(decode(line)[0], dict | list)
    except ValueError:
        return False

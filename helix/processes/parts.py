"""What is given out, and in which order: records of lines to anyone, another file to one worker.

A record of plain JSON Lines is found by its bytes. What is compressed, an archive, one document, a
list, or in a format whose traces span records can only be read from its start: such a file belongs
to the worker that begins it.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from helix.errors import TraceError
from helix.ingest.streams import places
from helix.model.lines import encode_line
from helix.model.manifest import Manifest, ManifestEntry
from helix.processes.wire import Part
from helix.registry import Assignment, Format
from helix.survey import changed

TRACES: Final = 8
BYTES: Final = 512 << 10
SMALL: Final = 64 << 10


class Parts:
    """The chosen records of a run, handed out chunk by chunk; memory is what is out."""

    def __init__(self, assignment: Assignment, formats: dict[str, Format]) -> None:
        self._files, self._formats = assignment.files, formats
        entries = assignment.survey.entries
        self._left = groupby(entries, key=lambda entry: entry.file)
        self._shared: deque[Iterator[Part]] = deque()
        self._own: dict[int, Iterator[Part]] = {}

    def take(self, worker: int) -> tuple[Part, ...]:
        """Return the next chunk for a worker; an empty one says that nothing is left for it."""
        own = self._own.get(worker)
        if own is not None:
            if chunk := _chunk(own):
                return chunk
            del self._own[worker]
        while True:
            if self._shared:
                if chunk := _chunk(self._shared[0]):
                    return chunk
                self._shared.popleft()
            if not self._next_file(worker):
                return ()
            if worker in self._own:
                return self.take(worker)

    def _next_file(self, worker: int) -> bool:
        """Open the next file that holds a chosen trace."""
        for name, group in self._left:
            entries = Manifest(group)
            if not entries.chosen():
                continue
            path = self._files.get(name)
            if path is None:
                raise TraceError(
                    f"{name} is not among the files of subject.traces; use executor=local"
                )
            by_line = self._by_line(path, entries)
            if by_line is not None:
                self._shared.append(by_line)
            else:
                parts = _in_turn(path, entries)
                if os.path.getsize(path) <= SMALL:
                    self._shared.append(parts)
                else:
                    self._own[worker] = parts
            return True
        return False

    def _by_line(self, path: str, entries: Sequence[ManifestEntry]) -> Iterator[Part] | None:
        format = self._formats.get(entries[0].format)
        if format is None or format.whole_file or format.stream is not None:
            return None
        lines = [entry.line for entry in entries]
        if lines[0] == 0 or lines != sorted(lines):
            return None
        found = places(path)
        return None if found is None else _lines(path, entries, found)


def _lines(
    path: str, entries: Sequence[ManifestEntry], found: Iterator[tuple[int, int, int]]
) -> Iterator[Part]:
    for line, group in groupby(entries, key=lambda entry: entry.line):
        here = tuple(group)
        if not any(entry.selected for entry in here):
            continue
        place = next((place for place in found if place[0] == line), None)
        if place is None:
            raise changed(here[0].file)
        yield _part(path, here, here[0].format, place[1], place[2], line - 1)


def _in_turn(path: str, entries: Iterable[ManifestEntry]) -> Iterator[Part]:
    for at, entry in enumerate(entries):
        if entry.selected:
            yield _part(path, (entry,), skip=at)


def _part(
    path: str,
    entries: tuple[ManifestEntry, ...],
    format: str | None = None,
    offset: int = 0,
    size: int = 0,
    skip: int = 0,
) -> Part:
    return Part(
        name=encode_line(entries[0].file),
        path=os.path.abspath(path),
        entries=tuple(map(encode_line, entries)),
        ordinals=tuple(entry.ordinal for entry in entries if entry.selected),
        format=format,
        offset=offset,
        size=size,
        skip=skip,
    )


def _chunk(parts: Iterator[Part]) -> tuple[Part, ...]:
    taken: list[Part] = []
    size = 0
    while len(taken) < TRACES and size < BYTES and (part := next(parts, None)) is not None:
        taken.append(part)
        size += part.size
    return tuple(taken)

"""What the survey knows of every trace before anything is spent (DESIGN “look, then ask”)."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Annotated, overload

import msgspec

from helix.model.verdict import Fidelity, Shape

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


def located(file: str, line: int) -> str:
    """Return where a record is read, as FILE:LINE; the file alone for line 0, its whole."""
    return f"{file}:{line}" if line else file


class LoadFailure(Shape, frozen=True, kw_only=True):
    """A file or record that could not be read."""

    file: str
    """Its path, as it was found."""
    line: int
    """From 1; 0 for the whole file."""
    reason: str
    """What is wrong with it."""
    byte: int | None = None
    """The offset inside the line, or the file; null where it is not known."""


class ManifestEntry(Shape, frozen=True, kw_only=True):
    """One trace as the survey found it, before anything is spent."""

    ordinal: _Count
    """Its place in the order of the run, from 0."""
    id: str
    """Its id."""
    digest: str
    """SHA-256 of the bytes that it was read from."""
    file: str
    """The file that it was read from."""
    line: _Count
    """Its line there, from 1; 0 for the whole file."""
    format: str
    """The name of the format that it was read as."""
    route: str | None
    task: str | None
    flags: tuple[str, ...]
    """What is odd about the recording, such as missing-result."""
    fidelity: Fidelity
    """Whether it can carry a judgement."""
    observations: _Count
    """How many things were done in it."""
    selected: bool
    """Whether it was chosen to be evaluated."""
    failures: _Count = 0
    """Steps that declare an error."""
    latency_ms: int | float | None = None
    """Milliseconds that the run took; null where the trace does not record it."""


class _Own(msgspec.Struct, frozen=True, array_like=True):
    """What an entry has for itself; ids may hold half a surrogate pair, which is no UTF-8."""

    ordinal: int
    id: bytes
    digest: bytes
    line: int
    task: bytes | None
    observations: int
    failures: int
    latency_ms: int | float | None


_Shared = tuple[str, str, str | None, tuple[str, ...], Fidelity]
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Own).decode


class Manifest(Sequence[ManifestEntry]):
    """Entries in less than 100 bytes each: their own fields packed, what they share held once.

    An entry is made when it is looked at, so that who reads them all holds none (DESIGN “Scale”).
    """

    def __init__(self, entries: Iterable[ManifestEntry] = ()) -> None:
        self._packed, self._ends = bytearray(), array("Q", [0])
        self._kinds, self._shared = array("I"), list[_Shared]()
        self._numbers: dict[_Shared, int] = {}
        self._selected = bytearray()
        self._positions: array[int] | None = None
        self._hashes = array("q")
        for entry in entries:
            self.append(entry)

    @classmethod
    def of(cls, entries: Iterable[ManifestEntry]) -> Manifest:
        """Return entries as a manifest: themselves where they are one."""
        return entries if isinstance(entries, Manifest) else cls(entries)

    def append(self, entry: ManifestEntry) -> None:
        """Add an entry at the end."""
        shared = (entry.file, entry.format, entry.route, entry.flags, entry.fidelity)
        number = self._numbers.setdefault(shared, len(self._shared))
        if number == len(self._shared):
            self._shared.append(shared)
        own = _Own(
            entry.ordinal,
            _bytes(entry.id),
            _digest(entry.digest),
            entry.line,
            None if entry.task is None else _bytes(entry.task),
            entry.observations,
            entry.failures,
            entry.latency_ms,
        )
        self._positions = None
        self._packed += _encode(own)
        self._ends.append(len(self._packed))
        self._kinds.append(number)
        self._selected.append(entry.selected)

    def choosing(self, positions: Iterable[int]) -> Manifest:
        """Return the same entries of which those at these positions, and no other, are selected.

        The two share what they hold: neither is appended to afterwards.
        """
        chosen = Manifest()
        chosen.__dict__ |= self.__dict__
        chosen._selected = bytearray(len(self))
        for position in positions:
            chosen._selected[position] = True
        return chosen

    def chosen(self) -> int:
        """Return how many are selected."""
        return sum(self._selected)

    def find(self, trace: str) -> ManifestEntry | None:
        """Return the entry of a trace."""
        position = self.position(trace)
        return None if position is None else self[position]

    def position(self, trace: str) -> int | None:
        """Return where a trace's entry is, by an index of twelve bytes each, made when needed."""
        if self._positions is None:
            hashes = [hash(entry.id) for entry in self]
            self._positions = array("I", sorted(range(len(hashes)), key=hashes.__getitem__))
            self._hashes = array("q", (hashes[position] for position in self._positions))
        wanted = hash(trace)
        for at in range(bisect_left(self._hashes, wanted), len(self)):
            if self._hashes[at] != wanted:
                return None
            if self[self._positions[at]].id == trace:
                return self._positions[at]
        return None

    def __len__(self) -> int:
        return len(self._kinds)

    @overload
    def __getitem__(self, at: int) -> ManifestEntry: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[ManifestEntry, ...]: ...

    def __getitem__(self, at: int | slice) -> ManifestEntry | tuple[ManifestEntry, ...]:
        if isinstance(at, slice):
            return tuple(self[position] for position in range(*at.indices(len(self))))
        position = range(len(self))[at]
        file, format, route, flags, fidelity = self._shared[self._kinds[position]]
        own = _decode(self._packed[self._ends[position] : self._ends[position + 1]])
        return ManifestEntry(
            ordinal=own.ordinal,
            id=_text(own.id),
            digest=_undigested(own.digest),
            file=file,
            line=own.line,
            format=format,
            route=route,
            task=None if own.task is None else _text(own.task),
            flags=flags,
            fidelity=fidelity,
            observations=own.observations,
            selected=bool(self._selected[position]),
            failures=own.failures,
            latency_ms=own.latency_ms,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Manifest) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _digest(text: str) -> bytes:
    """Return a digest in half its length; what is none, as in a file that was changed, as it is."""
    try:
        half = bytes.fromhex(text)
    except ValueError:
        half = b""
    return b"x" + half if half.hex() == text else b"t" + _bytes(text)


def _undigested(data: bytes) -> str:
    return data[1:].hex() if data[:1] == b"x" else _text(data[1:])


class Load(Shape, omit_defaults=False, frozen=True, kw_only=True):
    """What was found on disk, counted before sharding."""

    files: int
    """Files that were read."""
    traces: int
    """Traces that were found in them."""
    failures: tuple[LoadFailure, ...] = ()
    """What could not be read."""


class Survey(Shape, omit_defaults=False, frozen=True, kw_only=True):
    """The manifest as a whole: every trace in order, what failed to load, tools and roles seen.

    `calling` counts the traces that call each tool, `events` those that answer each kind of event.
    """

    entries: Manifest
    load: Load
    tools: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    calling: dict[str, int] = msgspec.field(default_factory=dict)
    events: dict[str, int] = msgspec.field(default_factory=dict)

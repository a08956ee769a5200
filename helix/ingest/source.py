"""The traces input of a run: its files, listed once, read as often as needed."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator, Sequence
from typing import IO, BinaryIO

from helix.errors import TraceError
from helix.ingest.reading import FileReader
from helix.ingest.streams import EMPTY_FILE, EMPTY_LIST, STDIN, Found, find, spool
from helix.model.manifest import LoadFailure
from helix.model.trace import Trace
from helix.registry import Format, Registry

AUTO = "auto"


class Input:
    """The traces that `subject.traces` names, in a stable order; iterating reads them anew.

    A file named alone must yield a trace, else iterating raises TraceError (FormatError where no
    format recognises it); one that is empty holds no traces, which is for the gate (METHOD 41).
    In a folder or glob the same is a LoadFailure, and reading goes on.
    """

    def __init__(
        self,
        found: Sequence[Found],
        astray: Sequence[LoadFailure],
        formats: Sequence[Format],
        forced: Format | None,
    ) -> None:
        self._found, self._astray = tuple(found), tuple(astray)
        self._formats, self._forced = tuple(formats), forced

    @classmethod
    def open(
        cls,
        traces: str | Sequence[str],
        format: str,
        registry: Registry,
        *,
        stdin: BinaryIO | None = None,
    ) -> Input:
        """Find the files of PATH, folder, GLOB, a list of them, or `-` for standard input.

        `format` is a registered name, or `auto`. What can be read only once is copied to a
        temporary file, which goes when the input does.
        """
        forced = None if format == AUTO else registry.get("formats", format)
        formats = [entry.item for entry in registry.items("formats").values()]
        copies: list[IO[bytes]] = []

        def keep(path: str | None) -> str:
            if path is None:
                copies.append(spool(stdin or sys.stdin.buffer))
            else:
                with open(path, "rb") as source:
                    copies.append(spool(source))
            return copies[-1].name

        found, astray = find(traces, keep)
        opened = cls(found, astray, formats, forced)
        weakref.finalize(opened, _close, copies)
        return opened

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the files, as typed or as found below what was typed."""
        return tuple(found.name for found in self._found)

    @property
    def paths(self) -> dict[str, str]:
        """Where the bytes of each file are, by its name; what can be read only once has a copy."""
        return {found.name: found.path for found in self._found}

    @property
    def astray(self) -> tuple[LoadFailure, ...]:
        """What was found and not followed: folders that cannot be listed, links that lead out."""
        return self._astray

    def readers(self) -> Iterator[FileReader]:
        """Yield a fresh reader for each file, for those who ask about files one by one."""
        for found in self._found:
            yield FileReader(found, self._formats, self._forced)

    def __iter__(self) -> Iterator[Trace | LoadFailure]:
        """Read everything, file by file, record by record."""
        yield from self._astray
        for found in self._found:
            yield from self._read_alone(found) if found.alone else self._read_listed(found)

    def _read_listed(self, found: Found) -> Iterator[Trace | LoadFailure]:
        try:
            yield from FileReader(found, self._formats, self._forced)
        except TraceError as error:
            reason = str(error).removeprefix(f"{found.name}: ")
            yield LoadFailure(file=found.name, line=0, reason=reason)
        except OSError as error:
            reason = f"cannot be read: {error.strerror or error}"
            yield LoadFailure(file=found.name, line=0, reason=reason)

    def _read_alone(self, found: Found) -> Iterator[Trace | LoadFailure]:
        traces = 0
        first: LoadFailure | None = None
        try:
            for item in FileReader(found, self._formats, self._forced):
                if isinstance(item, Trace):
                    traces += 1
                elif first is None:
                    first = item
                yield item
        except OSError as error:
            raise TraceError(f"{found.name} cannot be read: {error.strerror or error}") from error
        nothing = first is not None and first.reason in (EMPTY_FILE, EMPTY_LIST)
        if not traces and not nothing:
            where = "" if first is None or not first.line else f" line {first.line}"
            at = "" if first is None or first.byte is None else f" byte {first.byte}"
            reason = "no record" if first is None else first.reason
            name = "standard input" if found.name == STDIN else found.name
            raise TraceError(f"{name} holds no readable trace:{where}{at} {reason}")


def read(
    traces: str | Sequence[str],
    format: str,
    registry: Registry,
    *,
    stdin: BinaryIO | None = None,
) -> Iterator[Trace | LoadFailure]:
    """Yield every trace and every failure of the input, once."""
    yield from Input.open(traces, format, registry, stdin=stdin)


def _close(copies: list[IO[bytes]]) -> None:
    for copy in copies:
        copy.close()

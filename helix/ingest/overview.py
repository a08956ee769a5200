"""What files hold, one by one: format and reason, and how much of everything.

A file in no known format is told of like the others: its `format` is None, `reason` says what was
seen. Nothing here raises for what a file holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from helix.errors import TraceError
from helix.ingest.reading import FileReader
from helix.ingest.source import Input
from helix.model.manifest import LoadFailure
from helix.model.trace import Trace


@dataclass(frozen=True, slots=True)
class Detected:
    """Which format a file is in (None for none that is known), and why."""

    file: str
    format: str | None
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON shape."""
        return {"file": self.file, "format": self.format, "reason": self.reason}


@dataclass(slots=True)
class FileCount:
    """How much a file holds; `errors` are the declared ones, `flags` counts each flag."""

    file: str
    format: str | None = None
    traces: int = 0
    observations: int = 0
    tool_calls: int = 0
    errors: int = 0
    flags: Counter[str] = field(default_factory=Counter)
    failures: list[LoadFailure] = field(default_factory=list)

    def add(self, trace: Trace) -> None:
        """Count one trace; a flag counts where it stands, at the trace or an observation."""
        self.traces += 1
        self.observations += len(trace.observations)
        self.tool_calls += len(trace.tools())
        self.errors += sum(o.error is not None for o in trace.observations)
        self.flags.update(trace.flags)
        for observation in trace.observations:
            self.flags.update(observation.flags)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON shape, failures as their number."""
        return {
            "file": self.file,
            "format": self.format,
            "traces": self.traces,
            "observations": self.observations,
            "toolCalls": self.tool_calls,
            "errors": self.errors,
            "flags": dict(sorted(self.flags.items())),
            "failures": len(self.failures),
        }


def detected(source: Input) -> Iterator[Detected]:
    """Yield each file's format and the reason for it; reads no further than that needs."""
    for reader in source.readers():
        failure = _settled(reader)
        if failure is not None or reader.format is None:
            yield Detected(reader.name, None, failure or "the file holds no record")
        elif reader.match is None:
            yield Detected(reader.name, reader.format.name, "named; the file shows no sign of it")
        else:
            yield Detected(reader.name, reader.format.name, reader.match.reason)


def counts(source: Input) -> Iterator[FileCount]:
    """Yield what each file holds; what cannot be read of it is among its failures."""
    for reader in source.readers():
        count = FileCount(reader.name)
        for item in contents(reader):
            if isinstance(item, Trace):
                count.add(item)
            else:
                count.failures.append(item)
        count.format = reader.format.name if reader.format else None
        yield count


def contents(reader: FileReader) -> Iterator[Trace | LoadFailure]:
    """Yield what a file holds; a file that cannot be read or recognised is a failure as well."""
    try:
        yield from reader
    except (TraceError, OSError) as error:
        yield LoadFailure(file=reader.name, line=0, reason=_reason(reader, error))


def total(found: list[FileCount]) -> dict[str, Any]:
    """Return the sums over files, in the shape of one of them, and how many files there are."""
    names = ("traces", "observations", "tool_calls", "errors")
    together = FileCount("")
    for count in found:
        for name in names:
            setattr(together, name, getattr(together, name) + getattr(count, name))
        together.flags.update(count.flags)
        together.failures += count.failures
    told = together.to_dict()
    del told["file"], told["format"]
    return {"files": len(found), **told}


def _settled(reader: FileReader) -> str | None:
    try:
        reader.settle()
    except (TraceError, OSError) as error:
        return _reason(reader, error)
    return None


def _reason(reader: FileReader, error: Exception) -> str:
    if isinstance(error, OSError):
        return f"cannot be read: {error.strerror or error}"
    return str(error).removeprefix(f"{reader.name}: ")

"""Lines that finish in any order and are read in the order of the plan.

A finished block is appended to `<name>.part` at once, so that a slow trace holds nobody up; at the
end the blocks are copied into plan order. Memory is 24 bytes a block (DESIGN “A run directory”);
a unit without a line has none.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from types import TracebackType

from helix.files import atomic_writer


class Spool:
    """The growing form of one JSONL artifact of a run directory.

    `Spool(run_dir, "verdicts.jsonl")` grows as `verdicts.part`. A part that a killed run left
    behind is replaced: what it cost to make is in the reply cache.
    """

    def __init__(self, run_dir: str | Path, name: str = "verdicts.jsonl") -> None:
        self.path = Path(run_dir) / name
        self.part = self.path.with_suffix(".part")
        self._ordinals, self._starts, self._sizes = array("q"), array("q"), array("q")
        self._end = 0
        # Unbuffered, so that a killed run leaves whole lines.
        self._file = open(self.part, "w+b", buffering=0)  # noqa: SIM115

    def append(self, ordinal: int, *lines: bytes) -> None:
        """Add the lines of one unit of the plan; a line has no newline in it."""
        for line in lines:
            if b"\n" in line:
                raise ValueError(f"a line must hold no newline (ordinal {ordinal}: {line[:80]!r})")
        if not lines:
            return
        block = b"".join(line + b"\n" for line in lines)
        view = memoryview(block)
        while view:
            view = view[self._file.write(view) :]
        self._ordinals.append(ordinal)
        self._starts.append(self._end)
        self._sizes.append(len(block))
        self._end += len(block)

    def blocks(self) -> Iterator[bytes]:
        """Yield the blocks in plan order; an ordinal that came twice raises ValueError."""
        previous = None
        for at in self._in_order():
            if self._ordinals[at] == previous:
                raise ValueError(f"ordinal {previous} was appended twice to {self.path.name}")
            previous = self._ordinals[at]
            self._file.seek(self._starts[at])
            yield self._file.read(self._sizes[at])

    def _in_order(self) -> Sequence[int]:
        """Return which block comes when, sorted only where they came otherwise."""
        came = range(len(self._ordinals))
        if all(before < after for before, after in pairwise(self._ordinals)):
            return came
        return sorted(came, key=self._ordinals.__getitem__)

    def finish(self) -> Path:
        """Write the artifact in plan order by rename, drop the part, return the path."""
        with atomic_writer(self.path) as target:
            for block in self.blocks():
                target.write(block)
        self.close()
        self.part.unlink(missing_ok=True)
        return self.path

    def close(self) -> None:
        """Close the part and leave it where it is."""
        self._file.close()

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

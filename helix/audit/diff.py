"""Two runs, artifact by artifact: what differs after masking, in how many places, where first."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from helix.audit.masking import COMPARED, MASKING_VERSION, masked_value
from helix.audit.parting import Parted, Raw, parted, told
from helix.errors import ArtifactError
from helix.fieldpath import MISSING
from helix.model.audit import ArtifactDiff, ArtifactStatus, Diff, Spot

Piece = tuple[int | None, bytes]


def diff_runs(a: Path, b: Path) -> Diff:
    """Compare every artifact that is compared (DESIGN “A run directory”), after masking.

    Lines are held against lines of the same number, one pair at a time. ArtifactError for a folder
    without any of them, a file that cannot be read, and one that cannot be masked, not being JSON.
    """
    for folder in (a, b):
        if not any((folder / name).exists() for name in COMPARED):
            raise ArtifactError(
                f"{folder} must be the folder of a run (it holds none of {', '.join(COMPARED)})"
            )
    found = tuple(_compared(name, a / name, b / name) for name in COMPARED)
    return Diff(masking=MASKING_VERSION, artifacts=found)


def _compared(artifact: str, a: Path, b: Path) -> ArtifactDiff:
    there = (a.exists(), b.exists())
    if not any(there):
        return ArtifactDiff(artifact=artifact, status="missing")
    if not all(there):
        return ArtifactDiff(artifact=artifact, status="missingInB" if there[0] else "missingInA")
    places, first = 0, None
    with contextlib.closing(pieces(a)) as ones, contextlib.closing(pieces(b)) as twos:
        for one, two in zip_longest(ones, twos):
            found = [] if one == two else _places(artifact, (a, one), (b, two))
            if found and first is None:
                first = _spot((one or two)[0], found[0])
            places += len(found)
    status: ArtifactStatus = "different" if places else "equal"
    return ArtifactDiff(artifact=artifact, status=status, places=places, first=first)


def _places(artifact: str, *sides: tuple[Path, Piece | None]) -> list[Parted]:
    """Return where two lines, or two documents, part; one that only one run has is one place."""
    a, b = (None if piece is None else _masked(artifact, path, piece) for path, piece in sides)
    if a is None or b is None:
        return [("", _line(a), _line(b))]
    return [] if a == b else parted(a, b)


def _line(text: str | None) -> Any:
    return MISSING if text is None else Raw(text)


def _spot(line: int | None, place: Parted) -> Spot:
    path, *values = place
    a, b = told(*values)
    return Spot(line=line, path=path, a=a, b=b)


def _masked(artifact: str, path: Path, piece: Piece) -> str:
    line, data = piece
    where = f"{path}, line {line}" if line else str(path)
    return masked_value(artifact, data, where).decode("utf-8", "surrogateescape")


def pieces(path: Path) -> Generator[Piece, None, None]:
    """Yield the lines of a file with their numbers and ends, or a document as one piece.

    ArtifactError where it cannot be read, or is no file; a pipe would be waited for.
    """
    if not path.is_file():
        raise ArtifactError(f"{path} cannot be read: it is no file")
    try:
        with open(path, "rb") as file:
            if path.suffix == ".jsonl":
                yield from enumerate(file, 1)
            else:
                yield None, file.read()
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror}") from None

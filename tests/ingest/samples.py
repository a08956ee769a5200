"""The samples that EXPECTED.tsv lists: their paths below ../shared/traces, and their formats."""

from __future__ import annotations

import functools
from pathlib import Path

from reading_of import registry

from helix.ingest import Input
from helix.model.manifest import LoadFailure
from helix.model.trace import Trace

SHARED = Path(__file__).resolve().parents[3] / "shared"
TRACES = SHARED / "traces"
REFUSED = "not-a-trace"


def expected() -> dict[str, tuple[str, ...]]:
    """Each file's formats (any of them is right); empty where ../shared is absent."""
    table = TRACES / "EXPECTED.tsv"
    if not table.is_file():
        return {}
    rows = table.read_text(encoding="utf-8").splitlines()[1:]
    pairs = (row.split("\t") for row in rows if row.strip())
    return {path: tuple(formats.split(",")) for path, formats in pairs}


EXPECTED = expected()
SAMPLES = {path: formats for path, formats in EXPECTED.items() if REFUSED not in formats}
NO_TRACES = [path for path, formats in EXPECTED.items() if REFUSED in formats]


@functools.cache
def _registry() -> object:
    return registry()


def opened(path: str) -> Input:
    """The input of one sample."""
    return Input.open(str(TRACES / path), "auto", _registry())  # type: ignore[arg-type]


@functools.cache
def loaded(path: str) -> tuple[tuple[Trace, ...], tuple[LoadFailure, ...]]:
    """The traces and failures of one sample, read once for all tests of a process."""
    items = list(opened(path))
    return (
        tuple(item for item in items if isinstance(item, Trace)),
        tuple(item for item in items if isinstance(item, LoadFailure)),
    )

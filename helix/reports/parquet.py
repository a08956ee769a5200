"""cells.parquet: the table of cells.csv with types, for pandas, DuckDB, Polars and Spark.

It needs the extra `parquet`; texts stand as they are, no apostrophe before them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from helix.errors import ConfigError
from helix.reports.cells import COLUMNS, rows
from helix.reports.stream import RunStream

AT_ONCE = 8192
TYPES = {"text": "string", "integer": "int64", "number": "float64", "boolean": "bool"}


def render_parquet(run: RunStream) -> Iterator[bytes]:
    """Yield a Parquet file part by part; ConfigError where pyarrow is not installed."""
    pyarrow, parquet = _pyarrow()
    fields = [pyarrow.field(c.name, pyarrow.type_for_alias(TYPES[c.kind])) for c in COLUMNS]
    schema = pyarrow.schema(fields)
    sink = _Sink()
    found = rows(run)
    with parquet.ParquetWriter(pyarrow.PythonFile(sink, "w"), schema, compression="zstd") as writer:
        while batch := list(islice(found, AT_ONCE)):
            columns = [
                pyarrow.array([row[at] for row in batch], kept.type)
                for at, kept in enumerate(schema)
            ]
            writer.write_table(pyarrow.Table.from_arrays(columns, schema=schema))
            yield sink.taken()
    yield sink.taken()


def require() -> None:
    """Raise ConfigError where pyarrow is not installed, before a run begins."""
    _pyarrow()


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ConfigError(
            "report.out: parquet needs the package pyarrow: pip install 'helix-evals[parquet]', "
            "or in a checkout .venv/bin/pip install '.[parquet]'"
        ) from None
    return pyarrow, parquet


class _Sink:
    """A file to write to, whose bytes are taken away as they come."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._at = 0

    def write(self, data: bytes) -> int:
        self._parts.append(bytes(data))
        self._at += len(data)
        return len(data)

    def tell(self) -> int:
        return self._at

    def flush(self) -> None:
        """Keep what was written until it is taken."""

    def close(self) -> None:
        """Keep what was written until it is taken."""

    def taken(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)

"""Ground truth that trace files carry: whatever their importer kept as labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from helix.errors import LabelError, TraceError
from helix.ingest import Input
from helix.model.trace import Trace
from helix.registry import load


def read(path: str) -> Iterator[Mapping[str, Any]]:
    """Read what trace files carry as ground truth; PATH is a file, a folder, a glob or `-`.

    A key is the path of a value among what the trace's importer kept as labels (`is_correct`,
    `label.faulty`, `expected.reply-present`); a list is no label. No rater is recorded: whose
    judgement it was is for the user to say.
    """
    try:
        source = Input.open(path, "auto", load())
    except TraceError as error:
        raise LabelError(str(error).replace("subject.traces: ", "")) from None
    for item in source:
        if isinstance(item, Trace):
            where = {"file": item.source.file, "row": item.source.line, "trace": item.id}
            for key, value in _values(item.labels, ""):
                yield {**where, "key": key, "value": value}
        else:
            yield {"file": item.file, "row": item.line, "unread": item.reason}


def _values(value: Any, at: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _values(item, f"{at}.{key}" if at else str(key))
    elif not isinstance(value, list):
        yield at, value

"""Label files of Helix itself, to bring several together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from helix.labels.files import raise_problems
from helix.labels.files import read as read_labels


def read(path: str) -> Iterator[Mapping[str, Any]]:
    """Read a label file of Helix; LabelError tells what is wrong with any of its rows."""
    found = read_labels(path)
    raise_problems(found.problems)
    for row in found.rows:
        label = row.label
        yield {
            "row": row.row,
            "trace": label.trace,
            "key": label.criterion,
            "value": label.label,
            "refs": label.refs,
            "note": label.note,
            "rater": label.rater,
            "when": label.when,
        }

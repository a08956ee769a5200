"""The conformance suite of label sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from helix.errors import HelixError
from helix.registry import LabelSource
from helix.testing import sample
from helix.testing.contract import require, require_item

_KEYS = {"trace", "key", "value", "file", "row", "note", "rater", "when", "refs", "by", "human"}
_DAMAGED = (b"", b"{", b"\xff\xfe\x00", b"[1, 2]", b'{"trace": 1}')


def label_source_conforms(
    item: LabelSource, file: bytes, labels: Iterable[tuple[str, str, Any]], *, name: str = "labels"
) -> None:
    """Require that a source reads a file's labels, each with its trace, its key and its value.

    `file` is the content of a file called `name`, `labels` what is recorded there, in that order.
    """
    who = require_item("labels", item)
    for rule in item.maps:
        require("=" in rule, f"{who}: a rule of maps must be KEY=CRITERION (got {rule!r})")
    with sample.folder() as scratch:
        path = scratch / name
        path.write_bytes(file)
        read, again = _read(who, item, path), _read(who, item, path)
        require(read == again, f"{who} reads other labels the second time")
        found = [(one["trace"], one["key"], one["value"]) for one in read]
        wanted = list(labels)
        require(found == wanted, f"{who} must read {wanted} (got {found})")
        for data in _DAMAGED:
            path.write_bytes(data)
            _survives(who, item, path, f"a file of {data!r}")
        _survives(who, item, scratch / "absent", "a file that is not there")


def _read(who: str, item: LabelSource, path: Path) -> list[Mapping[str, Any]]:
    labels = []
    for one in item.read(str(path)):
        require(isinstance(one, Mapping), f"{who} must yield mappings (got {type(one).__name__})")
        if "unread" in one:
            continue
        lacking = sorted({"trace", "key", "value"} - one.keys())
        require(not lacking, f"{who}: a label lacks {', '.join(lacking)} ({dict(one)})")
        strange = sorted(one.keys() - _KEYS)
        require(not strange, f"{who}: a label has keys that nobody reads: {', '.join(strange)}")
        require(
            isinstance(one["trace"], str) and one["trace"],
            f"{who}: a label must name its trace, as text (got {one['trace']!r})",
        )
        labels.append(one)
    return labels


def _survives(who: str, item: LabelSource, path: Path, which: str) -> None:
    try:
        list(item.read(str(path)))
    except HelixError:
        return
    except Exception as error:
        raise AssertionError(
            f"{who}: {which} must be a HelixError that says so "
            f"(got {type(error).__name__}: {error})"
        ) from error

"""Ground truth leaves a record before anything else is read from it (FORMATS, answer leakage)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

_LABELS = frozenset(
    {
        "groundtruth",
        "finalanswer",
        "reward",
        "rewards",
        "rewardinfo",
        "score",
        "scores",
        "label",
        "labels",
        "expected",
        "expectedoutput",
        "expectedanswer",
        "goldanswer",
        "referenceanswer",
        "iscorrect",
    }
)


def is_label(key: str) -> bool:
    """Whether a key, however it is spelled, names ground truth."""
    return re.sub(r"[^a-z0-9]", "", key.lower()) in _LABELS


def split(
    record: dict[str, Any], *, paths: Collection[str] = (), key: Callable[[str], bool] = is_label
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (rest, labels) of an envelope; both keep the shape that the record has.

    A key is a label by its name, or by its dotted path where the format says so. The record's
    messages must not be in it: what a tool returned is evidence, whatever its keys are called.
    """
    return _split(record, "", frozenset(paths), key)


def _split(
    record: dict[str, Any], at: str, paths: frozenset[str], key: Callable[[str], bool]
) -> tuple[dict[str, Any], dict[str, Any]]:
    rest: dict[str, Any] = {}
    labels: dict[str, Any] = {}
    for name, value in record.items():
        path = f"{at}{name}"
        if key(str(name)) or path in paths:
            labels[name] = value
        elif isinstance(value, dict):
            rest[name], inner = _split(value, f"{path}.", paths, key)
            if inner:
                labels[name] = inner
        elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
            pairs = [
                _split(item, f"{path}.", paths, key) if isinstance(item, dict) else (item, {})
                for item in value
            ]
            rest[name] = [pair[0] for pair in pairs]
            if any(pair[1] for pair in pairs):
                labels[name] = [pair[1] for pair in pairs]
        else:
            rest[name] = value
    return rest, labels

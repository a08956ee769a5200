"""Adding up what model calls used, without taking a part for the whole (METHOD 86)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

PARTIAL = "partial"


def summed(
    parts: Sequence[Mapping[str, Any]], names: Mapping[str, str], *, silent: bool = False
) -> dict[str, Any]:
    """Return the sums by name of what the parts hold under each key; none where no part tells.

    `partial` names the sums that some part is missing from, all of them where a call is `silent`.
    """
    total: dict[str, Any] = {}
    partial: list[str] = []
    for name, key in names.items():
        told = [part[key] for part in parts if _is_amount(part.get(key))]
        if told:
            total[name] = sum(told)
            if silent or len(told) < len(parts):
                partial.append(name)
    return total | ({PARTIAL: sorted(partial)} if partial else {})


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

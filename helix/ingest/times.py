"""Times of any spelling as integer nanoseconds since 1970 (UTC)."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final

SECOND: Final = 1_000_000_000
MILLISECOND: Final = 1_000_000
_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d{1,12}))?\s*(Z|[+-]\d\d:?\d\d)?",
    re.ASCII | re.IGNORECASE,
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def nanoseconds(value: Any, unit: int = SECOND) -> int | None:
    """Return a time in nanoseconds: ISO 8601 text (UTC where it names no zone), or a number.

    `unit` is how many nanoseconds a number counts in. What is no time gives None.
    """
    if isinstance(value, str):
        found = _ISO.fullmatch(value.strip())
        return _written(found) if found else _counted(value, unit)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return _counted(repr(value), unit)


def _written(found: re.Match[str]) -> int | None:
    day, clock, fraction, zone = found.groups()
    zone = "+00:00" if zone in (None, "Z", "z") else zone
    try:
        whole = datetime.fromisoformat(f"{day}T{clock}{zone}")
    except ValueError:
        return None
    since = whole - _EPOCH
    part = int((fraction or "")[:9].ljust(9, "0"))
    return (since.days * 86_400 + since.seconds) * SECOND + part


def _counted(text: str, unit: int) -> int | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if not number.is_finite() or number.adjusted() > 30:
        return None
    return int((number * unit).to_integral_value())

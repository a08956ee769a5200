"""Times of any spelling become integer nanoseconds."""

from __future__ import annotations

import calendar
from typing import Any

import pytest

from helix.ingest.times import MILLISECOND, SECOND, nanoseconds

NOON = calendar.timegm((2026, 3, 2, 12, 0, 0)) * SECOND


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        ("2026-03-02T12:00:00Z", SECOND, NOON),
        ("2026-03-02 12:00:00", SECOND, NOON),
        ("2026-03-02T12:00", SECOND, NOON),
        ("2026-03-02T14:00:00+02:00", SECOND, NOON),
        ("2026-03-02T07:00:00-0500", SECOND, NOON),
        ("2026-03-02T12:00:00.5Z", SECOND, NOON + SECOND // 2),
        ("2026-03-02T12:00:00.123456789Z", SECOND, NOON + 123_456_789),
        ("2026-03-02T12:00:00,000001", SECOND, NOON + 1_000),
        ("1969-12-31T23:59:59.250Z", SECOND, -SECOND + SECOND // 4),
        (1_772_452_800, SECOND, NOON),
        (1_772_452_800.25, SECOND, NOON + SECOND // 4),
        (1_772_452_800_001, MILLISECOND, NOON + MILLISECOND),
        (str(NOON + 1), 1, NOON + 1),
        (NOON + 1, 1, NOON + 1),
    ],
)
def test_a_time_is_read_to_the_nanosecond(value: Any, unit: int, expected: int) -> None:
    assert nanoseconds(value, unit) == expected


@pytest.mark.parametrize(
    "value",
    [None, True, "", "soon", "2026-13-02T12:00:00Z", "2026-03-02T25:00:00Z", float("nan"),
     float("inf"), "1e999999999", [], {}, "２０２６-03-02T12:00:00Z\u0000"],
)  # fmt: skip
def test_what_is_no_time_is_not_recorded(value: Any) -> None:
    assert nanoseconds(value) is None

"""Two values say of themselves that they are a clock, a folder, or one number."""

from __future__ import annotations

from typing import Any

import pytest

from helix.audit.evidence import evident
from helix.audit.parting import Number
from helix.fieldpath import MISSING
from helix.model.audited import Execution

A = Execution(name="a", run="a", identity="1", started_at=1_900_000_000.0, ended_at=1_900_000_001.0)
B = Execution(name="b", run="b", identity="2", started_at=1_900_000_009.0, ended_at=1_900_000_010.0)
THEN, LATER = "2030-03-17T17:46:40", "2030-03-17T17:46:49"


@pytest.mark.parametrize(
    ("one", "two", "mechanism"),
    [
        (f"{THEN}Z", f"{LATER}Z", "clock"),
        (f"seen at {THEN}+00:00.", f"seen at {LATER}+00:00.", "clock"),
        ("2030-03-18T07:46:40", "2030-03-18T07:46:49", "clock"),
        (Number("1900000000.25"), Number("1900000009.5"), "clock"),
        (Number("1900000000123"), Number("1900000009123"), "clock"),
        ("2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z", None),
        (f"{THEN}Z one", f"{LATER}Z two", None),
        (Number("0.30000000000000004"), Number("0.3"), "float-text"),
        ("0.1 and 0.7999999999999999", "0.1 and 0.8", "float-text"),
        (Number("1e-05"), Number("0.00001"), "float-text"),
        (Number("5.551115123125783e-17"), Number("0.0"), "float-text"),
        (Number("1e-10"), Number("9e-10"), None),
        (Number("0.3"), Number("0.4"), None),
        (Number("3"), Number("4"), None),
        ("/srv/a/run", "/srv/b/run", "path"),
        ("no reply in /srv/a/run", "no reply in /srv/b/run", "path"),
        ("a/b", "a/c", None),
        ("https://x.example/a", "https://x.example/b", None),
        ("x", "y", None),
        ("x", MISSING, None),
    ],
)
def test_what_two_values_show(one: Any, two: Any, mechanism: str | None) -> None:
    assert evident([(one, two)], A, B) == mechanism


def test_all_samples_have_to_agree() -> None:
    clock = (f"{THEN}Z", f"{LATER}Z")
    assert evident([clock, clock], A, B) == "clock"
    assert evident([clock, ("x", "y")], A, B) is None
    assert evident([], A, B) is None


def test_where_no_time_was_recorded_any_time_is_a_clock() -> None:
    unknown = Execution(name="x", run="x", identity=None)
    pair = ("2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z")
    assert evident([pair], unknown, unknown) == "clock"

"""A value as text, and where a text stands in another."""

from __future__ import annotations

import json
from typing import Any

import pytest

from helix.model.tokens import as_text, occurrences


@pytest.mark.parametrize(
    ("needle", "text", "found"),
    [
        ("12", "12", [0]),
        ("12", "order 12, 12", [6, 10]),
        ("12", "123 012 12_", []),
        ("#12", "a#12", [1]),
        ("é", "café é", [5]),
        ("", "x", []),
    ],
)
def test_a_token_is_found_on_its_boundaries(needle: str, text: str, found: list[int]) -> None:
    assert list(occurrences(needle, text)) == found


@pytest.mark.parametrize(
    "value", [True, False, None, 0, -7, 10**30, 1.5, -0.0, 1e300, [], {"b": 1}]
)
def test_what_is_no_text_is_its_json(value: Any) -> None:
    assert as_text(value) == json.dumps(value, separators=(",", ":"))


def test_a_text_is_itself_and_a_number_that_json_lacks_is_refused() -> None:
    assert as_text('"7"') == '"7"'
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_text(float("inf"))

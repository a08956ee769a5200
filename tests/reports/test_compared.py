"""Two runs side by side: what their plans say, in a few words."""

from __future__ import annotations

from typing import Any

import pytest

from helix.reports.compared import told_value
from helix.reports.comparison import ABSENT

PIN = {"backend": "dispatch", "model": "Ada", "temperature": 0.0}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "none"),
        (ABSENT, "not recorded"),
        (3, "3"),
        ("strict", '"strict"'),
        ("ab" * 32, "abababababab"),
        ({"pin": PIN, "contextTokens": 128000, "aliases": []}, "dispatch, Ada"),
        ({"pin": {**PIN, "model": "\x1b[2J"}}, "dispatch, \\x1b[2J"),
        ({"kind": "all"}, '{"kind": "all"}'),
    ],
)
def test_a_value_of_a_plan_is_told_in_a_few_words(value: Any, told: str) -> None:
    assert told_value(value) == told

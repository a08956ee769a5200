"""What was asked of a judge and did not take effect, or took effect with another value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helix.audit.localizing import localized
from helix.audit.pinned import dropped

ASKED = {"temperature": 0, "seed": 7, "maxTokens": None, "extra": {"top_p": 1}}


@pytest.mark.parametrize(
    ("effective", "found"),
    [
        ({"temperature": 0.0, "seed": 7, "extra": {"top_p": 1.0}}, []),
        (None, []),
        ({"temperature": 0, "extra": {"top_p": 1}}, [("seed", "7", None)]),
        ({"temperature": 1, "seed": 7, "extra": {"top_p": 1}}, [("temperature", "0", "1")]),
        ({"temperature": 0, "seed": 7, "extra": {}}, [("extra.top_p", "1", None)]),
        ({"temperature": 0, "seed": 7, "extra": {"top_p": 0.5}}, [("extra.top_p", "1", "0.5")]),
        (
            [None, {"temperature": 0, "seed": 7}, {"temperature": 0, "seed": 8}],
            [("extra.top_p", "1", None), ("seed", "7", "8")],
        ),
    ],
)
def test_each_parameter_that_took_no_effect_is_one_place(
    tmp_path: Path, effective: Any, found: list[tuple[str, str, str | None]]
) -> None:
    card = {"judge": {"requested": ASKED, "effective": effective}, "verifier": None}
    (tmp_path / "scorecard.json").write_text(json.dumps(card), encoding="utf-8")
    findings = localized((), list(dropped(tmp_path, "first")))
    places = [place for one in findings for place in one.places]
    told = [(place.path.removeprefix("judge.effective."), place.a, place.b) for place in places]
    assert sorted(told) == found
    assert all(one.mechanism == "dropped-parameter" for one in findings)

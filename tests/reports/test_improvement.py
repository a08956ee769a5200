"""The report of a loop in the terminal, as Markdown and as a page; hostile text is inert."""

from __future__ import annotations

import re

import pytest

from helix.model.improvement import Asked, Improvement, Lost, Score, Swing
from helix.model.lines import decode_line, encode_page
from helix.model.scorecard import Ratio
from helix.reports.improvement import (
    ENDINGS,
    improvement_markdown,
    improvement_page,
    improvement_text,
)

HOSTILE = "no\x1b[2J <script>alert(1)</script> `x` [a](http://b)\u202e| c"


def score(**facts: object) -> Score:
    plain = {
        "flapping": 1, "agent": ("mug",), "judge": (), "unclear": (), "under_sampled": (),
        "failing": 2, "accuracy": None, "gap": None,
    }  # fmt: skip
    return Score(**{**plain, **facts})  # type: ignore[arg-type]


def loop(**facts: object) -> Improvement:
    asked = Asked(request="swing-1-request-1", target="impl", cases=1, note=HOSTILE)
    lost = (Lost(case=HOSTILE, repeat=1, reason=HOSTILE),)
    swings = (
        Swing(swing=1, score=score(lost=lost), asked=(asked,), calibrated=(HOSTILE,)),
        Swing(swing=2, score=score(flapping=0, accuracy=Ratio(k=9, n=10), gap=Ratio(k=1, n=10))),
        Swing(swing=3, score=None),
    )
    plain = {
        "id": "desk", "ending": "response", "exit": 5, "elapsed_s": 1.5, "flapping": 0,
        "gap": Ratio(k=1, n=10), "swings": swings,
    }  # fmt: skip
    return Improvement(**{**plain, **facts})  # type: ignore[arg-type]


def test_the_terminal_says_every_swing_and_the_delta_in_80_columns() -> None:
    text = improvement_text(loop(), ["Next: do"], ["x/improve.json"])
    assert max(map(len, text.splitlines())) <= 80
    rows = [line.split() for line in text.splitlines()[1:4]]
    assert rows[0][:8] == ["1", "1", "not", "measured", "not", "measured", "2", "impl,"]
    assert rows[1] == ["2", "0", "9/10", "1/10", "2"]
    assert rows[2] == ["3", "-", "-", "-", "-"]
    assert "convergence delta: flapping 0 cases," in " ".join(text.split())
    assert "accuracy gap 1/10" in " ".join(text.split())
    quiet = improvement_text(loop(), ["Next: do"], ["x/improve.json"], "quiet")
    assert set(quiet.splitlines()) < set(text.splitlines())
    assert "Next: do" in quiet and "Swing 1" in text and "Swing 1" not in quiet


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_ending_is_told_in_all_three(ending: str) -> None:
    found = loop(ending=ending, flapping=None, gap=None)
    told = ENDINGS[found.ending].partition(": ")[0]
    assert f"Improve: {told}" in improvement_text(found, [], [])
    assert improvement_markdown(found).startswith(f"# Improve: {told}")
    page = improvement_page(found).decode("utf-8")
    assert f"{told}</h1>" in page and "not recorded" in page


def test_hostile_text_acts_nowhere() -> None:
    page = improvement_page(loop()).decode("utf-8")
    text, marked = improvement_text(loop(), [], []), improvement_markdown(loop())
    for shown in (page, text, marked):
        assert "\x1b" not in shown and "\u202e" not in shown
    assert "<script" not in page and "&lt;script&gt;" in page
    assert "<script" not in marked and "](http" not in marked
    table = [line for line in marked.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in table} == {8}


def test_the_last_words_of_a_program_that_failed_are_told_whole() -> None:
    reason = f"python3 exited with status 1: {'at work ' * 30}KeyError: 'mug'"
    lost = (Lost(case="mug", repeat=1, reason=reason),)
    text = improvement_text(loop(swings=(Swing(swing=1, score=score(lost=lost)),)), [], [])
    assert "KeyError: 'mug'" in " ".join(text.split())


def test_the_page_asks_for_nothing_and_links_to_the_requests() -> None:
    page = improvement_page(loop()).decode("utf-8")
    assert "default-src 'none'" in page
    assert re.findall(r'<a href="([^"]+)"', page) == ["swing-1/request-1/request.md"]
    assert not re.search(r'(?:src|action)="', page)


def test_the_record_is_read_back_as_it_was_written() -> None:
    assert decode_line(encode_page(loop()), Improvement) == loop()

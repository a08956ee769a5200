"""What every report says of a run in words: who judged and under what, and of itself (42, 81)."""

from __future__ import annotations

import msgspec
import pytest

from helix.model.scorecard import JudgeRecord
from helix.reports import summary
from helix.reports.documents import render_markdown
from helix.reports.run import RunReport, compose
from helix.reports.terminal import render_text
from tests.reports.pages import page_of
from tests.reports.sample import line, scorecard


def report(**fields: object) -> RunReport:
    lines = tuple(line(n) for n in range(3))
    return compose(msgspec.structs.replace(scorecard(lines), **fields), lines)


def pages(shown: RunReport) -> dict[str, str]:
    return {
        "terminal": " ".join(render_text(shown, 80, color=False, ascii=False).split()),
        "markdown": render_markdown(shown).decode("utf-8"),
        "html": page_of(shown),
    }


def test_a_judge_without_temperature_0_is_marked_in_every_report() -> None:
    warm = JudgeRecord(backend="litellm", requested={"model": "m", "temperature": None})
    for text in pages(report(judge=warm)).values():
        assert "litellm, m, without temperature 0" in text
    for text in pages(report()).values():
        assert "without temperature 0" not in text


def test_helix_says_so_where_it_evaluates_itself() -> None:
    for text in pages(report(self_evaluation=True)).values():
        assert "the subject is Helix itself" in text
    for text in pages(report()).values():
        assert "Helix itself" not in text


@pytest.mark.parametrize(
    ("requested", "returned", "told"),
    [
        ({"model": "m", "temperature": 0.0}, "m", "replay, m"),
        ({"model": "m"}, "m-2", "replay, m (answered by m-2)"),
        ({"model": "m", "temperature": None}, None, "replay, m, without temperature 0"),
    ],
)
def test_a_judge_is_told_by_backend_model_and_what_is_odd(
    requested: dict[str, object], returned: str | None, told: str
) -> None:
    judge = JudgeRecord(backend="replay", requested=requested, returned_model=returned)
    assert summary.judge_line(judge) == told

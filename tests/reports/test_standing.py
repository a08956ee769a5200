"""How a judge stands, in the words that every report shares."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from helix.model.scorecard import Ratio, Standing
from helix.reports import summary
from helix.reports.documents import render_markdown
from helix.reports.run import RunReport
from helix.reports.terminal import render_text
from tests.reports.pages import Page, page_of
from tests.reports.sample import report

MEASURED = Standing(
    status="validated",
    reason="TPR and TNR reach 0.90, and 0.80 at 95 %",
    coverage=Ratio(k=90, n=100),
    rate=0.8125,
    interval=(0.7, 0.9),
)
STALE = Standing(status="stale", reason="the judge's pin changed since it was validated")
COUNTS = {"stale": 1, "validated": 2}
WORDS = "judge validated, decided 90 of 100 labelled, passes 81.2% corrected (70.0% to 90.0%)"
FEW = Standing(
    status="unvalidated", reason="fewer than 60 labels were compared", coverage=Ratio(k=3, n=4)
)
NEVER = Standing(status="unvalidated", reason="never measured against labels")


def standing_report(*standings: Standing | None) -> RunReport:
    """Return a report whose first criteria stand so."""
    made = report(2)
    rows = made.scorecard.criteria
    stands = [*standings, *[None] * (len(rows) - len(standings))]
    changed = [
        msgspec.structs.replace(row, standing=s) for row, s in zip(rows, stands, strict=True)
    ]
    card = msgspec.structs.replace(
        made.scorecard,
        criteria=tuple(changed),
        validation={"status": "stale", "criteria": COUNTS},
    )
    views = [replace(view, row=row) for view, row in zip(made.rows, changed, strict=True)]
    return replace(made, scorecard=card, rows=tuple(views))


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (MEASURED, WORDS),
        (STALE, "judge stale"),
        (FEW, "judge unvalidated, decided 3 of 4 labelled"),
        (NEVER, "judge unvalidated"),
        (None, None),
    ],
)
def test_a_rate_is_corrected_or_the_judge_is_marked(found: Standing | None, told: str) -> None:
    row = msgspec.structs.replace(report(1).scorecard.criteria[0], standing=found)
    assert summary.standing(row) == told


@pytest.mark.parametrize(
    ("standings", "told"),
    [
        ((NEVER, NEVER), "No labels were compared, so how often this judge is right is not known."),
        ((FEW, NEVER), "Labels were compared on 1 of 2 judged criteria, and do not show how often"),
        ((FEW, MEASURED), None),
        ((STALE,), None),
    ],
)
def test_what_is_not_known_of_a_judge_is_told_by_whether_labels_were_compared(
    standings: tuple[Standing, ...], told: str | None
) -> None:
    made = standing_report(*standings)
    note = summary.labels_note(made.scorecard)
    assert note is None if told is None else note is not None and note.startswith(told)
    page = page_of(made)
    assert ("<small>Labels were" in page or "<small>No labels were" in page) == (told is not None)


def test_the_whole_is_told_by_standing_or_as_unvalidated() -> None:
    card = standing_report(MEASURED).scorecard
    assert summary.validation_line(card) == "stale on 1, validated on 2 of 3 judged criteria"
    bare = msgspec.structs.replace(card, validation={"status": "unvalidated"})
    assert summary.validation_line(bare) == "unvalidated for this pin"
    none = msgspec.structs.replace(
        card, validation={"status": "unvalidated", "criteria": {"unvalidated": 3}}
    )
    assert summary.validation_line(none) == "unvalidated for this pin"


@pytest.mark.parametrize(
    ("counts", "measured"),
    [
        ({"validated": 3}, True),
        ({"provisional": 1, "rejected": 2}, True),
        ({"unvalidated": 1, "validated": 2}, False),
        ({"stale": 1, "validated": 2}, False),
        ({}, False),
    ],
)
def test_the_box_is_dashed_while_a_judged_row_was_not_measured_under_this_pin(
    counts: dict[str, int], measured: bool
) -> None:
    made = report(2)
    card = msgspec.structs.replace(made.scorecard, validation={"criteria": counts})
    page = Page(page_of(replace(made, scorecard=card)))
    (box,) = page.all("div", "box")
    assert ("measured" in box.classes) is measured


def test_every_report_says_it_beside_the_rate() -> None:
    made = standing_report(MEASURED, STALE)
    page = page_of(made)
    assert WORDS in page and STALE.reason.replace("'", "&#39;") in page
    assert "No labels were compared" not in page
    assert "No labels were compared" in page_of(report(2))
    text = render_markdown(made).decode()
    assert "judge stale" in text and "judge validated" in text
    assert "stale on 1" in render_text(made, 80, color=False, ascii=False)

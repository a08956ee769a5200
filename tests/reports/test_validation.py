"""The text of a validation: eighty columns, undefined stays undefined, and nothing acts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from helix.model.validation import (
    Change,
    CriterionValidation,
    Disagreement,
    Drift,
    LabelCounts,
    Rate,
    Reading,
    Validation,
)
from helix.reports.validation import validation_text
from helix.validate import measure, status_of
from helix.validate.cells import Cell
from helix.validate.compare import compare

HOSTILE = "ask-first\x1b[2J\u202e\nGate: pass " + "x" * 90


def cells(criterion: str, *counts: tuple[str | None, str, int]) -> list[Cell]:
    said = [(human, state) for human, state, count in counts for _ in range(count)]
    return [
        Cell(f"t{at}", criterion, f"t{at}", state, True, human)  # type: ignore[arg-type]
        for at, (human, state) in enumerate(said)
    ]


def validation(found: Sequence[Cell], **fields: Any) -> Validation:
    labelled = [cell for cell in found if cell.human is not None]
    measured = measure(found, labelled, width=0.1)
    status, reason = status_of(measured)
    row = CriterionValidation(
        criterion_id=found[0].criterion, klass="judge", status=status, reason=reason,
        measured=measured,
    )  # fmt: skip
    counts = LabelCounts(
        files={}, cells=9, disputed=1, outside=2, examples=0, splits={}, used=len(labelled)
    )
    plain: dict[str, Any] = {
        "schema_version": "1.0", "run": ".", "suite": "desk", "subject": "desk", "split": "test",
        "seed": 0, "forced": False, "labels": counts, "overall": measured, "criteria": (row,),
    }  # fmt: skip
    return Validation(**{**plain, **fields})


GOOD = cells("polite", ("pass", "pass", 40), ("fail", "fail", 30), ("pass", "fail", 2))


def test_what_is_undefined_is_said_to_be() -> None:
    text = validation_text(validation(cells("polite", ("pass", "pass", 3))), (), ())
    assert "undefined" in text
    assert "corrected: undefined, because no fail label was compared." in " ".join(text.split())
    assert "human fails" not in text
    assert "kappa undefined" in text
    assert "no fail label was compared, so TNR is undefined" in text


def test_names_cannot_act_on_the_terminal_and_lines_fit() -> None:
    found = validation(cells(HOSTILE, ("pass", "fail", 3)), suite=HOSTILE)
    apart = Disagreement(
        kind="false-fail", trace=HOSTILE, criterion_id=HOSTILE, human="pass", said="fail",
        link="report.html#t0-c0",
    )  # fmt: skip
    text = validation_text(found, [apart] * 7, ["out/validation.json"])
    assert "\x1b" not in text and "\u202e" not in text
    assert not any(line.startswith("Gate: pass") for line in text.splitlines())
    assert "false-fail: 7 cells" in text and "and 2 more" in text
    told = [line for line in text.splitlines() if "x" * 40 not in line]
    assert max(map(len, told)) <= 80


def test_quiet_shows_the_standings_alone_and_verbose_every_cell() -> None:
    apart = Disagreement(
        kind="false-fail", trace="t", criterion_id="polite", human="pass", said="fail",
        link="report.html#t0-c0",
    )  # fmt: skip
    shown = [validation_text(validation(GOOD), [apart] * 7, ["out/validation.json"], word)
             for word in ("quiet", "normal", "verbose")]  # fmt: skip
    assert [text.count("t, polite: ") for text in shown] == [0, 5, 7]
    assert all("polite" in text and "Written: out/validation.json" in text for text in shown)
    assert "Helix pass" not in shown[0] and "Helix pass" in shown[1]


@pytest.mark.parametrize(("run", "told"), [(".", True), ("../before", False)])
def test_a_scorecard_that_was_made_before_the_standings_is_said_to_be(run: str, told: bool) -> None:
    text = validation_text(validation(GOOD, run=run), (), ["out/validation.json"])
    assert ("scorecard.json of this one was made before" in " ".join(text.split())) == told


def test_a_link_leads_from_where_one_is_to_the_page() -> None:
    apart = Disagreement(
        kind="false-fail", trace="t1", criterion_id="polite", human="pass", said="fail",
        link="../before/report.html#t0-c0",
    )  # fmt: skip
    text = validation_text(validation(GOOD), [apart], ["out/now/validation.json"])
    assert "  t1, polite: out/before/report.html#t0-c0\n" in text


def test_examples_of_the_prompt_are_left_out_of_every_split_but_their_own() -> None:
    counts = msgspec.structs.replace(validation(GOOD).labels, examples=3)
    for split, told in (("test", True), ("train", False)):
        text = validation_text(validation(GOOD, labels=counts, split=split), (), ())
        assert ("3 of examples in the prompt" in text) == told


def test_labels_that_were_left_out_are_counted() -> None:
    text = validation_text(validation(GOOD), (), ())
    assert "Left out: 2 outside this run, 1 disputed." in text


def rate(k: int, n: int) -> Rate:
    return Rate(k=k, n=n, effective=float(n), wilson=(0.1, 0.9), exact=(0.1, 0.9) if n else None)


def reading(at: str) -> Reading:
    return Reading(
        schema_version="1.0", at=at, replicate=0, tpr=rate(9, 10), tnr=rate(0, 0),
        undecided=rate(0, 20), states=(),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("readings", "changes", "told"),
    [
        (1, {}, "this is their first reading"),
        (2, {"tpr": (0.0, False)}, "Anchors: no drift since 2026-01-01 (2 readings)."),
        (3, {"tpr": (-0.5, True)}, "DRIFT: the true-pass rate changed since 2026-01-01"),
    ],
)
def test_drift_is_told_in_so_many_words(
    readings: int, changes: dict[str, tuple[float, bool]], told: str
) -> None:
    drift = Drift(
        anchors="a",
        readings=readings,
        first=reading("2026-01-01"),
        now=reading("2026-02-01"),
        changes={
            name: Change(difference=by, interval=(by - 0.1, by + 0.1), moved=moved)
            for name, (by, moved) in changes.items()
        },
    )
    text = validation_text(validation(GOOD, drift=drift), (), ())
    assert told in text
    assert max(map(len, text.splitlines())) <= 80


def test_two_runs_are_told_apart_with_how_many_pairs_would_do() -> None:
    other = {(cell.trace, cell.criterion): "fail" for cell in GOOD}
    comparison = compare(GOOD, other, "before")  # type: ignore[arg-type]
    text = validation_text(validation(GOOD, comparison=comparison), (), ())
    assert "Against before:" in text
    assert "72 pairs, right alone 40 and 0" in text
    nothing = compare(GOOD, {}, "before")
    text = validation_text(validation(GOOD, comparison=nothing), (), ())
    assert "no cell that both decided" in text


def test_a_clipped_rate_is_flagged() -> None:
    found = validation(GOOD)
    corrected = msgspec.structs.replace(
        found.overall.corrected, raw=-0.0625, value=0.0, clipped=True
    )
    overall = msgspec.structs.replace(found.overall, corrected=corrected)
    text = validation_text(msgspec.structs.replace(found, overall=overall), (), ())
    assert "clipped; the formula gives -0.062" in " ".join(text.split())


def test_a_correction_by_ppi_that_leaves_0_to_1_is_flagged() -> None:
    row = cells("polite", ("pass", "pass", 30), ("pass", "fail", 2), ("fail", "fail", 31))
    rest = [Cell(f"r{at}", "polite", f"r{at}", "pass", True) for at in range(100)]
    text = validation_text(validation([*row, *rest]), (), ())
    (line,) = [line for line in text.splitlines() if "by PPI" in line]
    assert line.startswith("  by PPI           1.000 [") and "1.000]" in line
    assert line.endswith("(clipped; the formula gives 1.032)") and len(line) <= 80

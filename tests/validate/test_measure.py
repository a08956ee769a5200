"""What labels say of a judge: rates, abstentions, standings, the corrected rate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helix.model.validation import Measured
from helix.validate import measure, status_of
from helix.validate.cells import Cell


def cells(*counts: tuple[str | None, str, int], per_task: int = 1) -> list[Cell]:
    """Build cells from (human, said, how many), `per_task` of them in each cluster."""
    said = [(human, state) for human, state, count in counts for _ in range(count)]
    return [
        Cell(f"t{at}", "C-1", f"task {at // per_task}", state, True, human)  # type: ignore[arg-type]
        for at, (human, state) in enumerate(said)
    ]


def measured(*counts: tuple[str | None, str, int], per_task: int = 1) -> Measured:
    found = cells(*counts, per_task=per_task)
    return measure(found, [cell for cell in found if cell.human], width=0.1)


def test_case_g10_abstentions_stay_out_of_both_rates(shared: Path) -> None:
    path = shared / "cases" / "gate_stats_cache" / "G10-judge-validation-labels.json"
    case: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    said = {"pass": "pass", "fail": "fail", "abstain": "uncertain"}
    rows = [(row["trace_id"], said[row["judge"]], row["human"]) for row in case["input"]["labels"]]
    labelled = [Cell(id, "C-1", id, state, True, human) for id, state, human in rows]  # type: ignore[arg-type]
    found, wanted = measure(labelled, labelled, width=0.1), case["expected"]
    assert found.tpr.n + found.tnr.n == wanted["judged"]
    assert found.abstained.over == wanted["abstained"]
    assert (found.coverage.k, found.coverage.n) == (40, 42)
    assert found.accuracy.k / found.accuracy.n == wanted["accuracy"]
    assert found.tpr.k / found.tpr.n == pytest.approx(wanted["true_pass_rate"], abs=5e-5)
    assert found.tnr.k / found.tnr.n == wanted["true_fail_rate"]
    assert found.tnr.wilson == pytest.approx(wanted["true_fail_rate_95"], abs=5e-5)
    assert found.kappa == pytest.approx(wanted["kappa"], abs=5e-5)
    assert found.corrected.value == pytest.approx(wanted["corrected_pass_rate"])
    assert status_of(found)[0] == "rejected"


@pytest.mark.parametrize("index", [0, 1])
def test_case_g10_what_is_undefined_stays_so_and_validates_nothing(
    shared: Path, index: int
) -> None:
    path = shared / "cases" / "gate_stats_cache" / "G10-judge-validation-labels.json"
    variant = json.loads(path.read_text(encoding="utf-8"))["input"]["variants"][index]
    found = measured(*((*key.split("_"), n) for key, n in variant["counts"].items()))
    wanted = variant["expected"]
    tnr = found.tnr.k / found.tnr.n if found.tnr.n else "undefined"
    assert tnr == wanted["true_fail_rate"]
    assert ("undefined" if found.kappa is None else found.kappa) == wanted["kappa"]
    assert found.corrected.value is None
    assert found.corrected.interval is None
    assert (status_of(found)[0] == "validated") == wanted["may_gate"]


@pytest.mark.parametrize(
    ("passes", "fails", "status"),
    [
        ((60, 60), (60, 60), "validated"),
        ((45, 50), (90, 100), "provisional"),  # a lower bound below 0.80
        ((90, 100), (90, 100), "validated"),
        ((899, 1000), (900, 1000), "provisional"),  # 0.899, which rounds to 0.90
        ((40, 50), (40, 50), "provisional"),
        ((399, 500), (400, 500), "unvalidated"),  # 0.798
        ((30, 30), (29, 29), "unvalidated"),  # 59 labels
        ((30, 30), (30, 30), "validated"),
        ((95, 100), (10, 30), "rejected"),
        ((0, 3), (100, 100), "rejected"),
        ((100, 100), (0, 0), "unvalidated"),
        ((0, 0), (0, 0), "unvalidated"),
    ],
)
def test_a_standing_follows_from_the_counts(
    passes: tuple[int, int], fails: tuple[int, int], status: str
) -> None:
    found = measured(
        ("pass", "pass", passes[0]),
        ("pass", "fail", passes[1] - passes[0]),
        ("fail", "fail", fails[0]),
        ("fail", "pass", fails[1] - fails[0]),
    )
    assert status_of(found)[0] == status


def test_runs_of_one_task_widen_the_intervals_and_move_no_point() -> None:
    counts = [("pass", "pass", 90), ("pass", "fail", 10), ("fail", "fail", 95), ("fail", "pass", 5)]
    alone, together = measured(*counts), measured(*counts, per_task=5)
    assert (together.tpr.k, together.tpr.n) == (alone.tpr.k, alone.tpr.n) == (90, 100)
    assert together.tpr.effective < 100 == alone.tpr.effective
    assert together.tpr.exact and alone.tpr.exact
    assert together.tpr.exact[0] < alone.tpr.exact[0]
    assert together.corrected.raw == alone.corrected.raw
    ends = together.corrected.interval, alone.corrected.interval
    assert ends[0] and ends[1] and ends[0][1] - ends[0][0] > ends[1][1] - ends[1][0]


def test_each_abstention_is_counted_in_its_kind() -> None:
    found = measured(
        ("pass", "pass", 5),
        ("pass", "uncertain", 2),
        ("fail", "na", 1),
        ("cannot-decide", "pass", 3),
        ("cannot-decide", "uncertain", 4),
        (None, "uncertain", 9),
    )
    away = found.abstained
    assert (away.over, away.under, away.agreed, away.not_adjudicated) == (3, 3, 4, 0)
    assert (found.coverage.k, found.coverage.n) == (5, 8)
    assert found.labels == {"pass": 7, "fail": 1, "cannot-decide": 7}


def test_undecided_cells_of_the_run_bound_the_corrected_rate() -> None:
    found = measured(
        ("pass", "pass", 95),
        ("pass", "fail", 5),
        ("fail", "fail", 95),
        ("fail", "pass", 5),
        (None, "pass", 300),
        (None, "fail", 100),
        (None, "uncertain", 100),
        (None, "na", 50),
    ).corrected
    assert (found.seen.k, found.seen.n) == (400, 600)
    assert found.abstentions_fail is not None and found.abstentions_pass is not None
    assert found.value is not None
    assert found.abstentions_fail == pytest.approx((400 / 700 - 0.05) / 0.9)
    assert found.abstentions_pass == pytest.approx((500 / 700 - 0.05) / 0.9)
    assert found.abstentions_fail < found.value < found.abstentions_pass
    assert found.ppi is not None and found.jeffreys is not None


def test_labels_that_are_no_sample_of_the_run_are_told() -> None:
    labels = [("pass", "pass", 36), ("pass", "fail", 4), ("fail", "fail", 28), ("fail", "pass", 12)]
    like = measured(*labels, (None, "pass", 600), (None, "fail", 400)).corrected
    unlike = measured(*labels, (None, "pass", 900), (None, "fail", 100)).corrected
    assert (like.shifted, unlike.shifted) == (False, True)


def test_a_few_cells_without_a_label_accuse_no_sample() -> None:
    labels = [("pass", "pass", 36), ("pass", "fail", 4), ("fail", "fail", 28), ("fail", "pass", 12)]
    for rest, told in ((59, None), (60, True)):
        found = measured(*labels, (None, "pass", rest)).corrected
        assert (found.ppi is None, found.shifted) == (False, told)


def test_no_interval_leaves_0_to_1_though_a_formula_may() -> None:
    labels = [("pass", "pass", 30), ("pass", "fail", 2), ("fail", "fail", 31)]
    found = measured(*labels, (None, "pass", 100)).corrected
    assert found.ppi == pytest.approx(1 + 2 / 63)
    assert found.ppi_interval is not None and 0.9 < found.ppi_interval[0] < 1
    assert found.ppi_interval[1] == 1.0


def test_what_to_label_next_is_told_from_drawn_in_rates() -> None:
    wanted = measured(("pass", "pass", 40), ("fail", "fail", 4), ("fail", "pass", 2)).wanted
    assert (wanted.passes.have, wanted.fails.have) == (40, 6)
    assert wanted.passes.wilson < wanted.fails.wilson
    assert wanted.fails_share is not None and 0 < wanted.fails_share < 1
    assert measured(("pass", "pass", 40)).wanted.fails_share is None

"""Rates of a criterion: an interval beside each, and pass^k where tasks repeat."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from helix.gate.rates import failing_interval, repeats
from helix.model.scorecard import Ratio, Repeats
from helix.reports import summary
from helix.stats import wilson
from tests.gate.test_fold import gate_row, line, result, survey

AIRLINE: dict[str, Any] = {
    f"task {wins}-{at}": ["pass"] * wins + ["fail"] * (4 - wins)
    for wins, tasks in {0: 14, 1: 12, 2: 10, 3: 4, 4: 10}.items()
    for at in range(tasks)
}


def test_pass_hat_k_is_that_of_tau_bench_and_exact() -> None:
    found = repeats(AIRLINE)
    assert found is not None and (found.tasks, found.undecided) == (50, 0)
    assert [r.k / r.n for r in found.pass_hat] == pytest.approx([0.42, 0.273, 0.22, 0.2], abs=5e-4)
    assert found.pass_hat[0] == found.pass_at[0] == Ratio(k=21, n=50)
    assert found.pass_at[3] == Ratio(k=18, n=25)


@pytest.mark.parametrize(
    ("tasks", "found"),
    [
        ({}, None),
        ({"a": ["pass"], "b": ["fail", "na"]}, None),
        (
            {"a": ["pass", "uncertain"], "b": ["pass", "fail"], "c": ["na"]},
            Repeats(
                tasks=1,
                undecided=1,
                pass_hat=(Ratio(k=1, n=2), Ratio(k=0, n=1)),
                pass_at=(Ratio(k=1, n=2), Ratio(k=1, n=1)),
            ),
        ),
        (
            {"a": ["uncertain", "pass"]},
            Repeats(tasks=0, undecided=1, pass_hat=(), pass_at=()),
        ),
    ],
)
def test_only_decided_tasks_are_counted(tasks: Any, found: Repeats | None) -> None:
    assert repeats(tasks) == found


def test_the_failing_share_has_an_interval_that_tasks_widen() -> None:
    alone: Any = {str(i): ["fail" if i < 4 else "pass"] for i in range(40)}
    assert failing_interval(alone) == wilson(4, 40, 0.95)
    together: Any = {str(i): ["fail" if i == 0 else "pass"] * 4 for i in range(10)}
    low, high = failing_interval(together) or (1.0, 0.0)
    narrow = wilson(4, 40, 0.95) or (0.0, 0.0)
    assert low < narrow[0] and high > narrow[1]
    assert failing_interval({"a": ["uncertain", "na"]}) is None


def test_the_scorecard_and_the_reports_say_both() -> None:
    lines = [line(f"t{i}", {"c1": s}) for i, s in enumerate(["pass", "pass", "pass", "fail"])]
    tasks = {"t0": "a", "t1": "a", "t2": "b", "t3": "b"}
    (row,) = result([gate_row()], lines, over=survey(list(tasks), tasks=tasks)).criteria
    assert summary.repeats(row) == "pass^2 50.0%, pass@2 100.0% over 2 tasks"
    assert summary.prevalence(row).startswith("fails 1 of 4 decided (")
    bare = msgspec.structs.replace(row, repeats=None, failing_interval=None)
    assert (summary.repeats(bare), summary.prevalence(bare)) == (None, "fails 1 of 4 decided")

"""Intervals of a rate against published values and scipy's own."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.stats import Share, clustered_error, clustered_share, clustered_size, wilson


@pytest.mark.parametrize(
    ("k", "n", "method", "low", "high"),
    [
        (81, 263, "wilson", 0.2553, 0.3662),
        (81, 263, "exact", 0.2527, 0.3676),
        (15, 148, "wilson", 0.0624, 0.1605),
        (15, 148, "exact", 0.0578, 0.1617),
        (0, 20, "exact", 0.0, 0.1684),
        (1, 29, "wilson", 0.0061, 0.1718),
        (1, 29, "exact", 0.0009, 0.1776),
    ],
)
def test_newcombe_1998(k: int, n: int, method: str, low: float, high: float) -> None:
    found = Share(k, n).interval(0.95, method)  # type: ignore[arg-type]
    assert found == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize("method", ["wilson", "exact", "jeffreys"])
def test_nothing_of_nothing_is_undefined(method: str) -> None:
    assert Share(0, 0).rate is None
    assert Share(0, 0).interval(0.95, method) is None  # type: ignore[arg-type]
    assert wilson(0, 0, 0.95) is None


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_and_exact_are_what_scipy_says(kn: tuple[int, int]) -> None:
    from scipy.stats import binomtest

    k, n = kn
    for method in ("wilson", "exact"):
        theirs = binomtest(k, n).proportion_ci(0.9, method)
        ours = Share(k, n).interval(0.9, method)
        assert ours == pytest.approx((theirs.low, theirs.high), abs=1e-9)


@pytest.mark.parametrize(("k", "n"), [(0, 12), (5, 12), (12, 12)])
def test_jeffreys_is_what_statsmodels_says(k: int, n: int) -> None:
    from statsmodels.stats.proportion import proportion_confint

    assert Share(k, n).interval(0.95, "jeffreys") == pytest.approx(
        proportion_confint(k, n, method="jeffreys")
    )


AIRLINE = {0: 14, 1: 12, 2: 10, 3: 4, 4: 10}


def test_the_error_of_repeated_tasks_is_clustered() -> None:
    tasks = [wins for wins, count in AIRLINE.items() for _ in range(count)]
    clusters = {str(i): [1.0] * wins + [0.0] * (4 - wins) for i, wins in enumerate(tasks)}
    alone = {str(i): [v] for i, v in enumerate(v for c in clusters.values() for v in c)}
    assert clustered_error(clusters) == pytest.approx(0.0517, abs=5e-5)
    assert clustered_error(alone) == pytest.approx(0.0349, abs=5e-5)
    assert clustered_size(clusters) == pytest.approx(200 * (0.0349 / 0.0517) ** 2, rel=5e-3)
    assert clustered_share(clusters).rate == Fraction(42, 100)


def test_no_item_has_no_error_and_no_share() -> None:
    assert clustered_error({}) is None
    assert clustered_share({"a": []}) == Share(0, 0)


def test_many_runs_of_one_task_are_one_item_whatever_they_say() -> None:
    assert clustered_size({"a": [1.0, 0.0] * 50}) == 1
    assert clustered_size({"a": [1.0] * 100}) == 1
    assert clustered_size({"a": [1.0]}) == 1
    assert clustered_size({}) == 0


def test_a_task_without_an_item_does_not_hide_that_others_repeat() -> None:
    alone, beside = {"a": [1.0, 1.0]}, {"a": [1.0, 1.0], "b": []}
    assert clustered_share(beside) == clustered_share(alone) == Share(1, 1)


@pytest.mark.parametrize("n", range(1, 60))
def test_none_and_all_reach_the_end_of_the_scale(n: int) -> None:
    low, high = wilson(0, n, 0.95), wilson(n, n, 0.95)
    assert low is not None and low[0] == 0.0
    assert high is not None and high[1] == 1.0


RUN = """
import sys
from pathlib import Path
from helix import evaluate
from helix.demo import write
folder = Path(sys.argv[1])
write(folder / "traces.jsonl")
evaluate(folder / "traces.jsonl", sys.argv[2], run_dir=folder / "run", gate={"policy": "rate"})
"""


@pytest.mark.parametrize("script", ["import sys, helix, helix.stats", RUN])
def test_neither_importing_nor_evaluating_loads_a_statistics_library(
    script: str, tmp_path: Path, project: Path
) -> None:
    asked = "print(sorted({'numpy', 'scipy', 'statsmodels', 'krippendorff'} & set(sys.modules)))"
    suite = project / "helix" / "demo" / "outreach.suite.yaml"
    done = subprocess.run(
        [sys.executable, "-c", f"{script}\n{asked}", str(tmp_path), str(suite)],
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "[]", done.stderr

"""Two runs on the same items, and repeats of one."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.stats import (
    mcnemar,
    needed_for_flips,
    needed_for_width,
    needed_to_show,
    needed_to_tell,
    paired_difference,
    pass_at_k,
    pass_hat_k,
)

AIRLINE = [
    (wins, 4) for wins, tasks in {0: 14, 1: 12, 2: 10, 3: 4, 4: 10}.items() for _ in range(tasks)
]


def test_mcnemar() -> None:
    found = mcnemar(150, 86)
    assert found is not None
    assert found.chi2 == pytest.approx(17.3559, abs=5e-5)
    assert found.chi2_corrected == pytest.approx(16.8178, abs=5e-5)
    assert found.exact_p == pytest.approx(3.71594e-5, rel=5e-6)


def test_mcnemar_of_few_pairs_is_exact_and_of_none_undefined() -> None:
    found = mcnemar(6, 1)
    assert found is not None and found.exact_p == pytest.approx(0.125)
    assert mcnemar(0, 0) is None


def test_a_tie_is_no_evidence_in_any_of_the_three() -> None:
    found = mcnemar(5, 5)
    assert found is not None
    assert (found.chi2, found.chi2_corrected, found.exact_p) == (0, 0, 1)


def test_the_difference_of_pairs_and_its_clustered_error() -> None:
    pairs = [(True, False)] * 6 + [(False, True)] * 1 + [(True, True)] * 13
    alone = {str(i): [pair] for i, pair in enumerate(pairs)}
    found = paired_difference(alone)
    assert found is not None
    assert found.value == pytest.approx(0.25)
    assert found.error == pytest.approx((((7 / 20) - 0.25**2) / 20) ** 0.5)
    assert found.interval[0] < 0.25 < found.interval[1]
    together = paired_difference({"a": pairs[:10], "b": pairs[10:]})
    assert together is not None and together.error > found.error
    assert together.interval[1] - together.interval[0] > found.interval[1] - found.interval[0]
    assert paired_difference({}) is None


def test_pairs_of_one_task_tell_nothing_of_other_tasks() -> None:
    found = paired_difference({"a": [(True, False)] * 30 + [(True, True)] * 10})
    assert found is not None and found.value == 0.75
    assert found.interval[0] < 0 < found.interval[1]


def test_pairs_that_never_differ_still_have_an_interval() -> None:
    found = paired_difference({str(i): [(True, True)] for i in range(10)})
    assert found is not None and found.value == 0
    assert found.interval[0] < 0 < found.interval[1]


def test_pass_hat_k_of_tau_bench_gpt_4o_airline() -> None:
    found = [pass_hat_k(AIRLINE, k) for k in (1, 2, 3, 4)]
    assert [float(rate or 0) for rate in found] == pytest.approx(
        [0.420, 0.273, 0.220, 0.200], abs=5e-4
    )
    assert pass_hat_k(AIRLINE, 1) == Fraction(42, 100)


def test_pass_at_k_counts_items_that_ever_pass() -> None:
    assert pass_at_k(AIRLINE, 1) == Fraction(42, 100)
    assert pass_at_k(AIRLINE, 4) == Fraction(36, 50)


def test_repeats_that_were_not_drawn_are_undefined() -> None:
    for undefined in (pass_hat_k([], 1), pass_hat_k([(1, 2)], 3), pass_at_k([(0, 1), (2, 4)], 2)):
        assert undefined is None


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=8), st.integers(1, 6))
def test_always_passing_is_never_likelier_than_ever_passing(wins: list[int], k: int) -> None:
    items = [(w, 6) for w in wins]
    always, ever = pass_hat_k(items, k), pass_at_k(items, k)
    assert always is not None and ever is not None and 0 <= always <= ever <= 1


@pytest.mark.parametrize(("half", "low", "high"), [(0.10, 35, 42), (0.05, 139, 155)])
def test_labels_for_a_width(half: float, low: int, high: int) -> None:
    assert low <= needed_for_width(0.9, half) <= high
    assert needed_for_width(0.9, half, method="exact") == high


@pytest.mark.parametrize(("lower", "labels"), [(0.90, 36), (0.95, 72)])
def test_labels_for_a_flawless_judge(lower: float, labels: int) -> None:
    assert needed_to_show(lower) == labels


@pytest.mark.parametrize(
    ("rate", "half", "repeats"),
    [(0.0, 0.05, 69), (0.18, 0.05, 350), (0.18, 0.1, 84), (0.5, 0.05, 16)],
)
def test_repeats_for_a_flip_rate(rate: float, half: float, repeats: int) -> None:
    assert needed_for_flips(rate, half) == repeats
    assert needed_for_flips(rate, half / 2) > repeats


def test_pairs_for_a_difference() -> None:
    assert needed_to_tell(0.2, 0.1) < needed_to_tell(0.4, 0.1) < needed_to_tell(0.4, 0.05)
    assert needed_to_tell(0.4, 0.2) == 77


@pytest.mark.parametrize(
    "call",
    [
        lambda: needed_for_width(1.2, 0.1),
        lambda: needed_for_width(0.9, 0),
        lambda: needed_for_flips(0.6, 0.1),
        lambda: needed_to_show(1.0),
        lambda: needed_to_tell(0.1, 0.2),
    ],
)
def test_a_size_that_cannot_be_is_refused(call: object) -> None:
    with pytest.raises(ValueError, match="must lie"):
        call()  # type: ignore[operator]

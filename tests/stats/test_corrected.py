"""Corrected rates: published values, what is undefined, and whether the intervals cover."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.stats import (
    Share,
    best_split,
    clip,
    cohen_kappa,
    delta_interval,
    jeffreys_interval,
    known_interval,
    lang_reiczigel,
    ppi_mean,
    rogan_gladen,
    shifted,
)

Z = 1.959964


def test_rsurveillance_20_of_120() -> None:
    seen, tpr, tnr = Share(20, 120), Fraction("0.9"), Fraction("0.99")
    found = rogan_gladen(Fraction(20, 120), tpr, tnr)
    assert found is not None and not found.clipped
    assert float(found.value) == pytest.approx(0.17603, abs=5e-6)
    wilson = known_interval(seen, tpr, tnr)
    exact = known_interval(seen, tpr, tnr, method="exact")
    assert wilson == pytest.approx((0.1129887, 0.2623065), abs=5e-8)
    assert exact == pytest.approx((0.1066051, 0.2647191), abs=5e-8)
    many = 10**15
    normal = delta_interval(seen, Share(tpr * many, many), Share(tnr * many, many))
    assert normal == pytest.approx((0.1011094, 0.2509506), abs=5e-8)


def test_epir_23_of_150_is_not_clipped_silently() -> None:
    tpr, tnr = Fraction("0.96"), Fraction("0.89")
    found = rogan_gladen(Fraction(23, 150), tpr, tnr)
    assert found is not None
    assert float(found.raw) == pytest.approx(0.0509804, abs=5e-8)
    exact = known_interval(Share(23, 150), tpr, tnr, method="exact")
    assert exact == pytest.approx((-0.0120565, 0.1307526), abs=5e-8)
    assert exact is not None and clip(exact)[0] == 0.0


def test_a_rate_below_what_errors_explain_is_flagged_and_clipped() -> None:
    found = rogan_gladen(Fraction(4, 80), Fraction("0.9"), Fraction("0.9"))
    assert found is not None
    assert (found.raw, found.value, found.clipped) == (Fraction(-1, 16), 0, True)


def test_lang_reiczigel_and_its_point() -> None:
    found = rogan_gladen(Fraction("0.4"), Fraction("0.9"), Fraction("0.7"))
    assert found is not None and found.value == Fraction(1, 6)
    interval = lang_reiczigel(Share(400, 1000), Share(180, 200), Share(140, 200))
    assert interval == pytest.approx((0.0563507, 0.2627330), abs=5e-8)


@pytest.mark.parametrize(
    ("seen", "tpr", "tnr", "low", "high"),
    [
        (Share(40, 200), Share(17, 20), Share(47.5, 50), 0.0744577, 0.2980460),
        (Share(70, 100), Share(257, 300), Share(100, 100), 0.6990779, 0.9228064),
    ],
)
def test_lang_reiczigel_as_r_computes_it(
    seen: Share, tpr: Share, tnr: Share, low: float, high: float
) -> None:
    assert lang_reiczigel(seen, tpr, tnr) == pytest.approx((low, high), abs=5e-8)


SETTINGS = [
    (0.8, 0.9, 0.8, 100, 100),
    (0.8, 0.9, 0.8, 100, 1000),
    (0.9, 0.9, 0.8, 40, 100),
    (0.95, 0.95, 0.9, 60, 200),
    (0.8, 0.9, 0.8, 1000, 50),
]


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_default_interval_covers_what_it_promises(
    setting: tuple[float, float, float, int, int],
) -> None:
    import numpy as np

    theta, tpr, tnr, m, n = setting
    random, draws = np.random.default_rng(7), 4000
    seen = random.binomial(n, theta * tpr + (1 - theta) * (1 - tnr), draws).tolist()
    passes, fails = random.binomial(m, tpr, draws).tolist(), random.binomial(m, tnr, draws).tolist()
    covered = 0
    for k, k1, k0 in zip(seen, passes, fails, strict=True):
        interval = lang_reiczigel(Share(k, n), Share(k1, m), Share(k0, m))
        covered += interval is not None and clip(interval)[0] <= theta <= clip(interval)[1]
    assert 0.93 <= covered / draws <= 0.98


@pytest.mark.parametrize("setting", SETTINGS)
def test_jeffreys_draws_agree_with_the_default(
    setting: tuple[float, float, float, int, int],
) -> None:
    theta, tpr, tnr, m, n = setting
    p = theta * tpr + (1 - theta) * (1 - tnr)
    shares = Share(p * n, n), Share(tpr * m, m), Share(tnr * m, m)
    default, drawn = lang_reiczigel(*shares), jeffreys_interval(*shares, seed=3)
    assert default is not None and drawn is not None
    assert clip(drawn) == pytest.approx(clip(default), abs=0.05)
    assert drawn == jeffreys_interval(*shares, seed=3)
    assert drawn != jeffreys_interval(*shares, seed=4)


def test_draws_that_tell_nothing_widen_and_are_not_dropped() -> None:
    vague = jeffreys_interval(Share(50, 100), Share(2, 3), Share(2, 3))
    assert vague is None


def test_a_judge_that_tells_nothing_apart_corrects_nothing() -> None:
    assert rogan_gladen(Fraction(1, 2), Fraction("0.7"), Fraction("0.3")) is None
    assert rogan_gladen(Fraction(9, 10), Fraction(1), Fraction(0)) is None
    for interval in (lang_reiczigel, delta_interval, jeffreys_interval):
        assert interval(Share(50, 100), Share(7, 10), Share(3, 10)) is None
        assert interval(Share(0, 0), Share(9, 10), Share(9, 10)) is None
        assert interval(Share(5, 10), Share(0, 0), Share(9, 10)) is None
    assert known_interval(Share(5, 10), 0.5, 0.5) is None
    assert known_interval(Share(0, 0), 0.9, 0.9) is None


@settings(max_examples=100, deadline=None)
@given(
    st.fractions(0, 1, max_denominator=50),
    st.fractions(0, 1, max_denominator=50),
    st.fractions(0, 1, max_denominator=50),
)
def test_the_correction_undoes_the_errors_of_the_judge(
    theta: Fraction, tpr: Fraction, tnr: Fraction
) -> None:
    seen = theta * tpr + (1 - theta) * (1 - tnr)
    found = rogan_gladen(seen, tpr, tnr)
    if tpr + tnr <= 1:
        assert found is None
    else:
        assert found is not None and found.raw == theta and not found.clipped


def test_ppi_and_its_interval() -> None:
    labels = [1.0] * 40 + [0.0] * 10
    judged = [1.0] * 36 + [0.0] * 4 + [1.0] * 4 + [0.0] * 6
    unlabelled = [1.0] * 700 + [0.0] * 300
    found = ppi_mean(labels, judged, unlabelled)
    half = Z * math.sqrt(0.7 * 0.3 / 1000 + 8 / 50 / 50)
    assert found is not None
    assert found.value == pytest.approx(0.70)
    assert found.interval == pytest.approx((0.70 - half, 0.70 + half), abs=1e-7)
    assert ppi_mean([], [], unlabelled) is None
    assert ppi_mean(labels, judged, []) is None


def test_a_labelled_sample_unlike_the_run_is_told() -> None:
    labels, judged = [1.0] * 40 + [0.0] * 40, [1.0] * 36 + [0.0] * 4 + [1.0] * 12 + [0.0] * 28
    tpr, tnr = Share(36, 40), Share(28, 40)

    def disagree(passed: int) -> bool | None:
        seen = Share(passed, 1000)
        unlabelled = [1.0] * passed + [0.0] * (1000 - passed)
        corrected = rogan_gladen(Fraction(passed, 1000), tpr.rate or 0, tnr.rate or 0)
        return shifted(
            corrected, lang_reiczigel(seen, tpr, tnr), ppi_mean(labels, judged, unlabelled)
        )

    assert disagree(600) is False
    assert disagree(880) is True
    assert shifted(None, None, None) is None


def test_labels_go_where_the_judge_is_less_certain() -> None:
    assert best_split(Fraction(1, 2), Fraction("0.9"), Fraction("0.9")) == pytest.approx(0.5)
    assert best_split(Fraction("0.8"), Fraction("0.9"), Fraction("0.8")) == pytest.approx(
        0.2 * 0.4 / (0.2 * 0.4 + 0.8 * 0.3)
    )
    assert best_split(Fraction(1, 2), Fraction(1), Fraction(1)) is None


def test_case_g10_accuracy_hides_a_judge_that_misses_failures(shared: Path) -> None:
    path = shared / "cases" / "gate_stats_cache" / "G10-judge-validation-labels.json"
    case = json.loads(path.read_text(encoding="utf-8"))
    rows = [(row["human"], row["judge"]) for row in case["input"]["labels"]]
    wanted = case["expected"]
    table = [[rows.count((h, j)) for j in ("pass", "fail")] for h in ("pass", "fail")]
    tpr, tnr = Share(table[0][0], sum(table[0])), Share(table[1][1], sum(table[1]))
    k, n = map(int, case["input"]["production_pass_rate_seen_by_judge"].split("/"))
    assert (sum(map(sum, table)), len(rows) - sum(map(sum, table))) == (
        wanted["judged"],
        wanted["abstained"],
    )
    assert tpr.rate is not None and float(tpr.rate) == pytest.approx(
        wanted["true_pass_rate"], abs=5e-5
    )
    assert tnr.rate == Fraction(str(wanted["true_fail_rate"]))
    assert tnr.interval() == pytest.approx(wanted["true_fail_rate_95"], abs=5e-5)
    assert cohen_kappa(table) == pytest.approx(wanted["kappa"], abs=5e-5)
    found = rogan_gladen(Fraction(k, n), tpr.rate, tnr.rate)
    assert found is not None and found.value == Fraction(str(wanted["corrected_pass_rate"]))


def test_case_g10_a_constant_judge_and_a_single_class_are_undefined(shared: Path) -> None:
    path = shared / "cases" / "gate_stats_cache" / "G10-judge-validation-labels.json"
    variants = json.loads(path.read_text(encoding="utf-8"))["input"]["variants"]
    for variant in variants[:2]:
        c, wanted = variant["counts"], variant["expected"]
        table = [[c["pass_pass"], c["pass_fail"]], [c["fail_pass"], c["fail_fail"]]]
        tpr, tnr = (Share(table[i][i], sum(table[i])).rate for i in (0, 1))
        kappa = cohen_kappa(table)
        assert ("undefined" if kappa is None else kappa) == wanted["kappa"]
        assert ("undefined" if tnr is None else float(tnr)) == wanted["true_fail_rate"]
        if tpr is not None and tnr is not None:
            assert rogan_gladen(Fraction(1, 2), tpr, tnr) is None

"""Agreement against textbook values."""

from __future__ import annotations

import pytest

from helix.stats import cohen_kappa, fleiss_kappa, gwet_ac1, krippendorff_alpha

FLEISS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]
_ = None
FOUR_RATERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
    [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
]


def items(table: list[list[int]]) -> list[list[int]]:
    """Return the counts per item of two raters' table of two categories."""
    (both_a, a_b), (b_a, both_b) = table
    return [[2, 0]] * both_a + [[1, 1]] * (a_b + b_a) + [[0, 2]] * both_b


@pytest.mark.parametrize(
    ("table", "kappa"),
    [
        ([[20, 5], [10, 15]], 0.4),
        ([[40, 9], [6, 45]], 0.6995),
        ([[80, 10], [5, 5]], 0.3182),
        ([[9, 0], [1, 0]], 0.0),
    ],
)
def test_cohen(table: list[list[int]], kappa: float) -> None:
    assert cohen_kappa(table) == pytest.approx(kappa, abs=5e-5)


@pytest.mark.parametrize(
    ("table", "ac1"), [([[40, 9], [6, 45]], 0.7007), ([[80, 10], [5, 5]], 0.8080)]
)
def test_ac1_stays_near_the_agreement_where_kappa_falls(table: list[list[int]], ac1: float) -> None:
    assert gwet_ac1(items(table)) == pytest.approx(ac1, abs=5e-5)


def test_fleiss() -> None:
    assert fleiss_kappa(FLEISS) == pytest.approx(0.210, abs=5e-4)


@pytest.mark.parametrize(
    ("level", "alpha"),
    [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)],
)
def test_krippendorff_2011(level: str, alpha: float) -> None:
    found = krippendorff_alpha(FOUR_RATERS, level)  # type: ignore[arg-type]
    assert found == pytest.approx(alpha, abs=5e-4)


def test_one_category_or_no_pair_is_undefined() -> None:
    assert cohen_kappa([[10, 0], [0, 0]]) is None
    assert cohen_kappa([[0, 0], [0, 0]]) is None
    assert fleiss_kappa([[3, 0], [3, 0]]) is None
    assert fleiss_kappa([[1, 0], [0, 1]]) is None
    assert fleiss_kappa([]) is None
    assert krippendorff_alpha([[1, 1], [1, None]]) is None
    assert krippendorff_alpha([[1, 2]]) is None
    assert gwet_ac1([[1, 0], [0, 1]]) is None
    assert gwet_ac1([]) is None


def test_fleiss_refuses_items_with_unequal_raters() -> None:
    with pytest.raises(ValueError, match="as many raters"):
        fleiss_kappa([[2, 0], [1, 2]])

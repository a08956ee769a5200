"""Several raters: agreement by the textbook figures, and which label stands."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from helix.labels import Cell, Label, agreement, settle
from helix.labels.record import Word


def label(trace: str, word: Word, rater: str, criterion: str = "c") -> Label:
    return Label(trace=trace, criterion=criterion, label=word, rater=rater)


def pairs(table: list[list[int]], criterion: str = "c") -> Iterable[Label]:
    """Labels of two raters whose cross table is the given one, over pass and fail."""
    words: tuple[Word, ...] = ("pass", "fail")
    at = 0
    for i, one in enumerate(words):
        for j, other in enumerate(words):
            for _ in range(table[i][j]):
                at += 1
                yield label(f"t{at}", one, "ada", criterion)
                yield label(f"t{at}", other, "ben", criterion)


def test_two_raters_have_the_kappa_of_the_textbook() -> None:
    overall, only = agreement(pairs([[20, 5], [10, 15]]))
    assert (overall.cells, overall.agreed, overall.raters) == (50, 35, ("ada", "ben"))
    assert overall.cohen == pytest.approx(0.4)
    assert only.criterion == "c" and only.cohen == overall.cohen


def test_where_one_class_is_rare_kappa_falls_and_ac1_does_not() -> None:
    even, rare = (agreement(pairs(t))[0] for t in ([[40, 9], [6, 45]], [[80, 10], [5, 5]]))
    assert even.cohen == pytest.approx(0.6995, abs=5e-5)
    assert rare.cohen == pytest.approx(0.3182, abs=5e-5)
    assert even.ac1 == pytest.approx(0.7007, abs=5e-5)
    assert rare.ac1 == pytest.approx(0.8080, abs=5e-5)


def test_raters_of_one_word_have_no_kappa() -> None:
    overall, _ = agreement(pairs([[10, 0], [0, 0]]))
    assert (overall.agreed, overall.cells) == (10, 10)
    assert (overall.cohen, overall.fleiss, overall.krippendorff) == (None, None, None)
    assert overall.ac1 == 1


def test_a_word_that_somebody_used_is_a_category_of_ac1() -> None:
    labels = [*pairs([[40, 9], [6, 45]]), label("t", "pass", "ada"), label("t", "pass", "ben")]
    open_ = [label("u", "cannot-decide", rater) for rater in ("ada", "ben")]
    shares = [97 / 204, 105 / 204, 2 / 204]
    chance = sum(share * (1 - share) for share in shares) / 2
    found = agreement([*labels, *open_])[0].ac1
    assert found == pytest.approx((87 / 102 - chance) / (1 - chance))


def test_cells_of_one_rater_count_for_nothing() -> None:
    (overall,) = agreement([label("t1", "pass", "ada"), label("t2", "fail", "ben")])
    assert (overall.cells, overall.cohen, overall.krippendorff, overall.ac1) == (
        0,
        None,
        None,
        None,
    )


def test_three_raters_have_fleiss_on_the_cells_that_all_labelled() -> None:
    said: list[Label] = []
    for at, words in enumerate(["ppp", "ppf", "fff", "fcf", "ccc", "pp-", "-pf"]):
        for rater, letter in zip(("ada", "ben", "cleo"), words, strict=True):
            spelled: dict[str, Word] = {"p": "pass", "f": "fail", "c": "cannot-decide"}
            if letter != "-":
                said.append(label(f"t{at}", spelled[letter], rater))
    overall = agreement(said)[0]
    assert (overall.cells, overall.agreed, overall.cohen) == (7, 4, None)
    # Five complete rows: P̄ = 11/15 and p = (5, 6, 4)/15, whose squares sum to 77/225.
    assert overall.fleiss == pytest.approx((11 / 15 - 77 / 225) / (148 / 225))
    assert overall.krippendorff is not None and 0 < overall.krippendorff < 1
    assert [cell.trace for cell in overall.disagreements] == ["t1", "t3", "t6"]


def test_each_criterion_has_its_own_figures() -> None:
    said = [*pairs([[9, 1], [1, 9]], "easy"), *pairs([[5, 5], [5, 5]], "hard")]
    overall, easy, hard = agreement(said)
    assert (overall.criterion, easy.criterion, hard.criterion) == (None, "easy", "hard")
    assert easy.cohen == pytest.approx(0.8)
    assert hard.cohen == pytest.approx(0.0)


def test_what_raters_agree_on_stands_and_the_rest_is_disputed() -> None:
    said = [
        label("t1", "pass", "ada"), label("t1", "pass", "ben"),
        label("t2", "pass", "ada"), label("t2", "fail", "ben"),
        label("t3", "cannot-decide", "ada"),
    ]  # fmt: skip
    settled = settle(said)
    assert settled.labels == {Cell("t1", "c"): "pass", Cell("t3", "c"): "cannot-decide"}
    assert settled.disputed == (Cell("t2", "c"),)
    assert settled.adjudicated == 0


def test_an_adjudicated_label_stands_whatever_was_said() -> None:
    said = [
        label("t1", "pass", "ada"), label("t1", "pass", "ben"),
        label("t2", "pass", "ada"), label("t2", "fail", "ben"),
    ]  # fmt: skip
    ruled = [
        label("t1", "fail", "chair"),
        label("t2", "fail", "chair"),
        label("t9", "pass", "chair"),
    ]
    settled = settle(said, ruled)
    assert settled.labels == {
        Cell("t1", "c"): "fail",
        Cell("t2", "c"): "fail",
        Cell("t9", "c"): "pass",
    }
    assert (settled.disputed, settled.adjudicated) == ((), 3)


def test_adjudicators_who_disagree_leave_the_cell_disputed() -> None:
    ruled = [label("t1", "fail", "chair"), label("t1", "pass", "second")]
    settled = settle([label("t1", "pass", "ada")], ruled)
    assert (settled.labels, settled.disputed, settled.adjudicated) == ({}, (Cell("t1", "c"),), 0)

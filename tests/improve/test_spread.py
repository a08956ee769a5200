"""Variance before accuracy, and the agent's variance told from the judge's."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given as drawn_by
from hypothesis import settings
from hypothesis import strategies as st

from helix.improve import Accuracy, Answer, Spread, UnstableError
from helix.improve.request import sort
from helix.model.verdict import CellState, Ref

REF = Ref(obs="o1", path="output.response", value="said", match="contains")


def answers(*rows: tuple[int, str, int, CellState], by_code: bool = False) -> list[Answer]:
    """Return answers of one cell: fresh run, trace, index of the draw, state."""
    return [
        Answer("case", "row", run, trace, index, state, by_code, "as it says", (REF,))
        for run, trace, index, state in rows
    ]


def drawn(states: Sequence[CellState], trace: str = "same") -> list[Answer]:
    return answers(*((run, trace, run, state) for run, state in enumerate(states, 1)))


PASS5: list[CellState] = ["pass"] * 5


@pytest.mark.parametrize(
    ("given", "passed", "source"),
    [
        (drawn(PASS5), True, "steady"),
        (drawn(["fail"] * 5), True, "steady"),
        (drawn(["na"] * 5), True, "steady"),
        (drawn([*PASS5[:4], "fail"]), False, "judge"),
        (drawn([*PASS5[:4], "uncertain"]), False, "judge"),
        (drawn([*PASS5[:4], "na"]), False, "judge"),
        (drawn(PASS5[:4]), False, "steady"),
        (answers(*((r, f"t{r}", r, s) for r, s in enumerate([*PASS5[:4], "fail"]))), False,
         "unclear"),
        (answers(*((r, f"t{r}", r, s) for r, s in enumerate([*PASS5[:4], "fail"])), by_code=True),
         False, "agent"),
    ],
)  # fmt: skip
def test_a_cell_is_stable_if_all_repeats_agree_and_none_is_missing(
    given: list[Answer], passed: bool, source: str
) -> None:
    spread = Spread.of(["case"], given)
    assert spread.passed is passed
    assert spread.cells[0].source == source


def test_no_case_at_all_fails_and_so_does_a_case_without_an_answer() -> None:
    assert not Spread.of([], []).passed
    assert not Spread.of(["case", "other"], drawn(PASS5)).passed
    assert Spread.of(["case", "other"], drawn(PASS5)).under_sampled == ("other",)


def test_a_row_that_one_case_lacks_leaves_it_under_sampled() -> None:
    other = [Answer("case", "further", run, "same", run, "pass") for run in range(4)]
    assert Spread.of(["case"], [*drawn(PASS5), *other]).under_sampled == ("case",)


def test_a_row_that_nobody_answered_in_any_case_is_no_row_less() -> None:
    asked = Spread.of(["case"], drawn(PASS5), rows=["row", "nobody-answered"])
    assert (asked.passed, asked.under_sampled) == (False, ("case",))
    with pytest.raises(UnstableError, match="1 of 1 cases under-sampled"):
        Accuracy(asked)
    assert Spread.of(["case"], drawn(PASS5), rows=["row"]).passed


def test_traces_that_are_judged_again_tell_the_agent_from_the_judge() -> None:
    fresh = [(run, f"t{run}", run, "fail" if run == 2 else "pass") for run in range(1, 6)]
    again: list[tuple[int, str, int, CellState]]
    again = [(r, t, i + 10, s) for r, t, i, s in fresh for i in range(5)]  # type: ignore[misc]
    steady = Spread.of(["case"], answers(*fresh, *again))  # type: ignore[arg-type]
    assert steady.cells[0].source == "agent"
    again[0] = (1, "t1", 99, "fail")
    flipped = Spread.of(["case"], answers(*fresh, *again))  # type: ignore[arg-type]
    assert flipped.cells[0].source == "judge"


def test_a_draw_that_is_read_twice_counts_once() -> None:
    once = Spread.of(["case"], drawn(PASS5))
    assert Spread.of(["case"], [*drawn(PASS5), *drawn(PASS5)]) == once


def test_accuracy_raises_until_the_flips_are_gone() -> None:
    source = random.Random(7)
    for chance, stable in ((0.4, False), (0.2, False), (0.0, True)):
        states: list[CellState] = ["fail" if source.random() < chance else "pass" for _ in range(5)]
        spread = Spread.of(["case"], drawn(states))
        assert spread.passed is stable
        if not stable:
            with pytest.raises(UnstableError, match="must be measured after the spread has passed"):
                Accuracy(spread)
    assert Accuracy(spread).meets(Fraction(1))


@pytest.mark.parametrize(
    ("states", "passes", "cells", "gap"),
    [
        (["pass", "pass"], 10, 10, 0),
        (["pass", "uncertain"], 5, 10, Fraction(1, 2)),
        (["pass", "na"], 5, 5, 0),
        (["na", "na"], 0, 0, 1),
        (["pass", "fail", "fail"], 5, 15, Fraction(2, 3)),
    ],
)
def test_accuracy_is_exact_leaves_na_out_and_counts_no_uncertain_as_a_pass(
    states: list[CellState], passes: int, cells: int, gap: Fraction
) -> None:
    given = [
        Answer("case", f"row-{at}", run, "t", run, state)
        for at, state in enumerate(states)
        for run in range(5)
    ]
    found = Accuracy(Spread.of(["case"], given))
    assert (found.passes, found.cells, found.gap(Fraction(1))) == (passes, cells, gap)
    assert found.meets(Fraction(1)) is (gap == 0)


def test_variance_that_is_allowed_lets_accuracy_be_measured() -> None:
    states: list[CellState] = [*PASS5[:4], "fail"]
    given = answers(*((r, f"t{r}", r, s) for r, s in enumerate(states)), by_code=True)
    assert Spread.of(["case"], given).cells[0].variance == Fraction(2, 5)
    assert not Spread.of(["case"], given, max_variance=Fraction(39, 100)).passed
    assert Accuracy(Spread.of(["case"], given, max_variance=Fraction(2, 5))).passes == 4


def test_a_flapping_judge_is_never_turned_into_a_request_however_much_is_allowed() -> None:
    for allowed in (Fraction(0), Fraction(1)):
        found = sort(Spread.of(["case"], drawn([*PASS5[:4], "fail"]), max_variance=allowed))
        assert found.failing == ()
        assert [(cell.criterion, cell.flaps) for cell in found.calibration] == [("row", True)]


def test_an_agent_that_varies_is_requested_and_an_unclear_cell_is_nobodys() -> None:
    rows = [(r, f"t{r}", r, s) for r, s in enumerate([*PASS5[:4], "fail"])]
    (by_agent,) = sort(Spread.of(["case"], answers(*rows, by_code=True))).failing
    assert by_agent[1].state == "fail"
    unclear = sort(Spread.of(["case"], answers(*rows)))
    assert (unclear.failing, unclear.calibration) == ((), ())


def test_an_uncertain_cell_is_requested_with_refs_and_calibrated_without() -> None:
    with_refs = sort(Spread.of(["case"], drawn(["uncertain"] * 5)))
    assert len(with_refs.failing) == 1
    bare = [Answer("case", "row", run, "t", run, "uncertain", False, "why") for run in range(5)]
    without = sort(Spread.of(["case"], bare))
    assert without.failing == ()
    assert [cell.flaps for cell in without.calibration] == [False]


some_answers = st.lists(
    st.builds(
        Answer,
        case=st.sampled_from(["a", "b"]),
        criterion=st.sampled_from(["row", "other"]),
        run=st.integers(1, 3),
        digest=st.sampled_from(["t1", "t2", "t3"]),
        index=st.integers(0, 3),
        state=st.sampled_from(["pass", "fail", "uncertain", "na"]),
        by_code=st.booleans(),
        critique=st.sampled_from(["", "as it says"]),
        refs=st.sampled_from([(), (REF,)]),
    ),
    max_size=24,
)


@drawn_by(some_answers, st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1)]))
@settings(max_examples=200)
def test_whatever_was_answered_no_engineer_sees_a_doubt_about_the_judge(
    held: list[Answer], allowed: Fraction
) -> None:
    spread = Spread.of(["a", "b"], held, 3, allowed)
    found = sort(spread)
    for cell, answer in found.failing:
        by_trace: dict[str, set[CellState]] = {}
        for each in cell.answers:
            by_trace.setdefault(each.digest, set()).add(each.state)
        assert all(len(states) == 1 for states in by_trace.values())
        assert answer.critique and answer.refs
    asked = {(cell.case, cell.criterion) for cell, _ in found.failing}
    assert asked.isdisjoint({(c.case, c.criterion) for c in found.calibration})
    if spread.passed:
        assert all(cell.variance <= allowed and cell.runs == 3 for cell in spread.cells)
        assert 0 <= Accuracy(spread).passes <= Accuracy(spread).cells
    else:
        with pytest.raises(UnstableError):
            Accuracy(spread)

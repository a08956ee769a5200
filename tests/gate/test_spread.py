"""Repeats in the scorecard: flips, agreement, and who of agent, judge and verifier differs."""

from __future__ import annotations

from typing import Any

import pytest

from helix.gate.spread import said_in
from helix.model.scorecard import Component, CriterionRow, Flips, Ratio, Variance
from helix.model.verdict import MatrixVerdictFile, Verification
from helix.reports import repeated
from helix.stats import wilson
from tests.gate.test_fold import gate_row, line, result, survey

REPEATED = {
    "t0": ("pass", "fail"),
    "t1": ("pass", "pass"),
    "t2": ("fail", "fail"),
    "t3": ("fail", "pass"),
    "t4": ("pass", "uncertain"),
    "t5": ("pass", "lost"),
    "t6": ("na", "na"),
    "t7": ("pass",),
}
TAKEN_BACK = Verification(status="downgraded", entails=False, original_result="pass")
CONFIRMED = Verification(status="confirmed", entails=True)


def judged(trace: str, *states: str) -> list[MatrixVerdictFile]:
    """A line for each repeat; `back` is a pass that the verifier took back."""
    made: dict[str, Any] = {"made": "judge"}
    return [
        line(trace, {"c1": "uncertain"}, replicate=at, verification=TAKEN_BACK, **made)
        if state == "back"
        else line(trace, {"c1": state}, replicate=at, verification=CONFIRMED, **made)
        for at, state in enumerate(states)
    ]


def row_of(
    repeats: dict[str, tuple[str, ...]], tasks: dict[str, str] | None = None, **fields: Any
) -> CriterionRow:
    lines = [one for trace, states in repeats.items() for one in judged(trace, *states)]
    over = survey([*repeats, *fields.pop("absent", ())], tasks=tasks or {})
    settings = {"replicates": 2, "klass": "judge", **fields}
    rows = [gate_row(klass=settings.pop("klass"))]
    (row,) = result(rows, lines, over=over, **settings).criteria
    return row


def test_repeats_of_a_judge_have_a_flip_rate_with_its_interval() -> None:
    row = row_of(REPEATED, absent=["absent"])
    assert row.flips == Flips(
        traces=4, answers=8, undecided=5, rate=Ratio(k=1, n=2), interval=row.flips.interval,
        entropy=0.5, fleiss=row.flips.fleiss,
    )  # fmt: skip
    low, high = row.flips.interval or (1.0, 0.0)
    assert 0 < low < 0.5 < high < 1 and row.flips.fleiss == pytest.approx(0.0)
    said = repeated.flips(row)
    assert said is not None and said.startswith("flip rate 50.0% (")
    assert said.endswith("over 4 traces, 5 undecided repeats")


def test_where_no_repeats_are_decided_the_flip_rate_is_undefined() -> None:
    row = row_of({"t0": ("uncertain", "uncertain")})
    assert row.flips is not None and row.flips.rate == Ratio(k=0, n=0) and row.variance is None
    assert repeated.flips(row) == "flip rate undefined over 0 traces, 2 undecided repeats"


def test_repeats_that_all_agree_flip_in_0_with_an_upper_bound_above_it() -> None:
    row = row_of({f"t{i}": ("pass", "pass") for i in range(8)})
    assert row.flips is not None and row.flips.rate == Ratio(k=0, n=1)
    assert row.flips.interval == wilson(0, 8, 0.95)


@pytest.mark.parametrize(("klass", "replicates"), [("code", 2), ("judge", 1)])
def test_code_and_a_single_answer_have_no_flip_rate(klass: str, replicates: int) -> None:
    row = row_of({"t0": ("pass",) * replicates}, klass=klass, replicates=replicates)
    assert row.flips is None and row.variance is None and repeated.flips(row) is None


def test_one_undecided_repeat_leaves_the_others_of_its_trace() -> None:
    row = row_of({"t0": ("pass", "uncertain", "fail")}, replicates=3)
    assert row.flips is not None and (row.flips.traces, row.flips.undecided) == (1, 1)
    assert row.flips.rate == Ratio(k=1, n=1)


def test_a_pass_taken_back_now_and_then_is_the_verifiers_and_not_the_judges() -> None:
    row = row_of({"t0": ("pass", "back"), "t1": ("pass", "pass")})
    assert row.flips is not None and row.flips.rate == Ratio(k=1, n=2)
    assert row.variance is not None and row.variance.agent is None
    assert row.variance.judge is not None and row.variance.judge.rate == Ratio(k=0, n=1)
    assert row.variance.verifier is not None and row.variance.verifier.rate == Ratio(k=1, n=2)


def test_where_nobody_verifies_the_verifiers_part_is_undefined() -> None:
    lines = [
        line("t0", {"c1": s}, made="judge", replicate=i) for i, s in enumerate(["pass", "fail"])
    ]
    (row,) = result([gate_row(klass="judge")], lines, replicates=2).criteria
    assert row.variance is not None and row.variance.verifier is None


def test_the_agents_part_needs_two_traces_of_a_task_each_answered_twice() -> None:
    tasks = {"t0": "a", "t1": "a", "t2": "b", "t3": "b"}
    apart = {
        "t0": ("pass", "pass"),
        "t1": ("fail", "fail"),
        "t2": ("pass",) * 2,
        "t3": ("pass",) * 2,
    }
    row = row_of(apart, tasks)
    assert row.variance is not None and row.variance.agent is not None
    assert (row.variance.agent.rate, row.variance.agent.of) == (Ratio(k=1, n=2), 2)
    once = {trace: states[:1] for trace, states in apart.items()}
    assert row_of(once, tasks, replicates=1).variance is None


def test_code_tells_the_agents_part_without_repeats() -> None:
    tasks = {"t0": "a", "t1": "a"}
    lines = [line("t0", {"c1": "pass"}), line("t1", {"c1": "fail"})]
    card = result([gate_row()], lines, over=survey(["t0", "t1"], tasks=tasks))
    part = Component(rate=Ratio(k=1, n=1), interval=wilson(1, 1, 0.95) or (0, 0), of=1)
    assert card.criteria[0].variance == card.variance == Variance(agent=part)


def test_the_run_takes_all_criteria_together_clustered_by_task() -> None:
    lines = [
        line("t0", {"c1": "pass", "c2": second}, made="judge", replicate=at)
        for at, second in enumerate(["pass", "fail"])
    ]
    rows = [gate_row(klass="judge"), gate_row("c2", klass="judge")]
    card = result(rows, lines, replicates=2)
    assert card.variance is not None and card.variance.judge is not None
    assert card.variance.judge.rate == Ratio(k=1, n=2)
    assert card.variance.judge.interval == wilson(0.5, 1, 0.95)


def test_an_uncertain_verdict_is_an_answer_only_where_a_verifier_made_it_so() -> None:
    (plain,) = judged("t0", "uncertain")
    (back,) = judged("t0", "back")
    assert said_in(plain)["c1"].answer is None
    assert said_in(back)["c1"].answer == ("pass", "withdrawn")
    assert said_in(line("t0", {"c1": "lost"})) == {}

"""The gate's algebra, each rule as a table (METHOD 64–66)."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix.errors import ConfigError, ExitCode, worst
from helix.gate import (
    Policy,
    exact_ratio,
    exit_code,
    fold_rate,
    fold_repeats,
    fold_task,
    fold_traces,
    worst_state,
)
from helix.model.config import GateConfig

STATES = st.sampled_from(["pass", "fail", "uncertain", "na"])
NEUTRAL = {"pass": "pass", "fail": "fail", "incomplete": "uncertain", "uncertain": "incomplete"}


def case(shared: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (shared / "cases" / "gate_stats_cache" / name).read_text(encoding="utf-8")
    )
    return found


@pytest.mark.parametrize(
    ("states", "folded"),
    [
        (["pass"], "pass"),
        (["pass", "na"], "pass"),
        (["na", "na"], "na"),
        ([], "na"),
        (["pass", "uncertain"], "uncertain"),
        (["uncertain", "fail"], "fail"),
        (["pass", "fail", "uncertain", "na"], "fail"),
    ],
)
def test_over_traces_any_fail_fails_and_na_is_set_aside(states: list[Any], folded: str) -> None:
    assert fold_traces(states) == folded


@pytest.mark.parametrize(
    ("states", "folded", "flapping"),
    [
        (["pass", "pass"], "pass", False),
        (["pass", "pass", "fail"], "uncertain", True),
        (["pass", "na"], "uncertain", True),
        (["fail", "uncertain"], "uncertain", True),
        (["pass", "uncertain"], "uncertain", True),
        (["uncertain", "uncertain"], "uncertain", False),
        (["na", "na"], "na", False),
        ([], "uncertain", False),
    ],
)
def test_repeats_that_disagree_are_uncertain_and_never_a_vote(
    states: list[Any], folded: str, flapping: bool
) -> None:
    assert fold_repeats(states) == (folded, flapping)


def test_case_g06_the_rule_of_k_of_n_holds_for_every_task(shared: Path) -> None:
    found = case(shared, "G06-repeats-per-case.json")
    k, n = (int(x) for x in found["input"]["rule"]["each_case_at_least"].split("/"))
    per_case = {
        name: fold_task([NEUTRAL[s] for s in states], k, n)
        for name, states in found["input"]["cases"].items()
    }
    expected = found["expected"]["per_case"]
    assert per_case == {name: NEUTRAL.get(s, s) for name, s in expected.items()}
    failed = [name for name, state in per_case.items() if state == "fail"]
    assert failed == found["expected"]["names"]
    assert fold_traces(per_case.values()) == found["expected"]["state"]


@pytest.mark.parametrize(
    ("states", "folded"),
    [
        (["pass"] * 4, "pass"),
        (["pass"] * 3, "uncertain"),
        (["fail", "fail"], "fail"),
        (["na"] * 5, "na"),
        (["pass"] * 8 + ["fail"] * 2, "pass"),
        (["pass"] * 7 + ["fail"] * 3, "fail"),
    ],
)
def test_a_task_with_fewer_runs_than_asked_is_not_decided_by_those_it_lacks(
    states: list[Any], folded: str
) -> None:
    assert fold_task(states, 4, 5) == folded


def test_case_g03_missing_verdicts_keep_a_rate_open(shared: Path) -> None:
    found = case(shared, "G03-errors-in-the-denominator.json")
    states = [NEUTRAL[s] for s in found["input"]["results"]]
    target = exact_ratio(found["input"]["threshold"]["pass_rate_at_least"])
    groups = {str(at): [state] for at, state in enumerate(states)}
    assert fold_rate(groups, target, None) == "uncertain"
    assert found["expected"]["state"] == "incomplete"


@pytest.mark.parametrize(
    ("passes", "fails", "open_", "target", "folded"),
    [
        (9, 1, 0, "9/10", "pass"),
        (9, 1, 0, "0.9", "pass"),
        (9, 1, 0, "90%", "pass"),
        (29, 71, 0, "0.29", "pass"),
        (28, 72, 0, "29%", "fail"),
        (8, 1, 1, "9/10", "uncertain"),
        (0, 0, 0, "9/10", "na"),
    ],
)
def test_a_rate_is_compared_by_exact_counts(
    passes: int, fails: int, open_: int, target: str, folded: str
) -> None:
    states = ["pass"] * passes + ["fail"] * fails + ["uncertain"] * open_ + ["na"] * 3
    groups: dict[str, list[Any]] = {str(at): [state] for at, state in enumerate(states)}
    assert fold_rate(groups, exact_ratio(target), None) == folded


def test_with_a_confidence_few_items_decide_less() -> None:
    few: dict[str, list[Any]] = {str(i): ["pass"] for i in range(5)}
    many: dict[str, list[Any]] = {str(i): ["pass"] for i in range(100)}
    assert fold_rate(few, Fraction(9, 10), 0.95) == "uncertain"
    assert fold_rate(many, Fraction(9, 10), 0.95) == "pass"
    one_task: dict[str, list[Any]] = {"t": ["pass"] * 100}
    assert fold_rate(one_task, Fraction(9, 10), 0.95) == "uncertain"


@pytest.mark.parametrize("n", range(1, 40))
def test_a_run_without_a_failure_never_fails_a_target_of_all(n: int) -> None:
    flawless: dict[str, list[Any]] = {str(i): ["pass"] for i in range(n)}
    assert fold_rate(flawless, Fraction(1), 0.95) == "uncertain"
    assert fold_rate(flawless, Fraction(1), None) == "pass"


@pytest.mark.parametrize(
    "text", ["1.1", "-1", "0", "0%", "1e-99999999", "9/0", "warm", "", "nan", "110%"]
)
def test_a_target_that_is_no_ratio_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"gate\.rate\.target"):
        exact_ratio(text)


def test_more_passes_than_runs_is_refused() -> None:
    with pytest.raises(ConfigError, match="k must be at most n"):
        Policy.of(GateConfig.model_validate({"per_task": {"k": 6, "n": 5}}))


def test_case_g01_fail_beats_incomplete_beats_pass(shared: Path) -> None:
    for variant in case(shared, "G01-precedence.json")["input"]["variants"]:
        # A tool's error is the run's own fault, not a verdict: incomplete. A skip is no state.
        states = [
            {"error_in_tool": "incomplete"}.get(state, state)
            for state in variant["states"]
            if state != "skipped_by_user"
        ]
        assert worst_state(states) == variant["expected"], variant


def test_each_outcome_has_an_exit_code_of_its_own() -> None:
    assert [exit_code(s) for s in ("pass", "fail", "incomplete")] == [0, 1, 3]
    assert exit_code("fail", advisory=True) == exit_code("incomplete", advisory=True) == 0
    assert exit_code("incomplete", pending=2) == exit_code("pass", pending=1) == 5
    assert len(set(ExitCode)) == 7


@pytest.mark.parametrize(
    ("codes", "ends"),
    [
        ([0, 0], 0), ([0, 3], 3), ([3, 5], 5), ([5, 1], 1), ([1, 2], 2), ([2, 4], 4),
        ([4, 130], 130), ([], 4),
    ],
)  # fmt: skip
def test_a_sweep_ends_with_its_worst_code(codes: list[int], ends: int) -> None:
    assert worst(ExitCode(code) for code in codes) == ends


@given(st.lists(STATES, max_size=8), st.lists(STATES, max_size=8))
def test_folding_traces_depends_on_neither_order_nor_grouping(a: list[Any], b: list[Any]) -> None:
    whole = fold_traces([*a, *b])
    assert whole == fold_traces([*b, *a])
    assert whole == fold_traces([fold_traces(a), fold_traces(b)])


@given(st.lists(STATES, min_size=1, max_size=6), st.integers(0, 5))
def test_no_cell_that_gets_worse_makes_the_gate_better(states: list[Any], at: int) -> None:
    order = ["pass", "uncertain", "fail"]
    at %= len(states)
    if states[at] == "na":
        return
    before = fold_traces(states)
    for worse in order[order.index(states[at]) :]:
        after = fold_traces([*states[:at], worse, *states[at + 1 :]])
        assert order.index(after) >= order.index(before)


@given(st.integers(1, 5), st.integers(0, 5), st.lists(STATES, max_size=7))
def test_a_task_is_decided_only_if_every_completion_agrees(
    n: int, k: int, states: list[Any]
) -> None:
    k = min(max(k, 1), n)
    folded = fold_task(states, k, n)
    counted = [s for s in states if s != "na"]
    if not counted:
        assert folded == "na"
        return
    total = max(n, len(counted))
    fixed = counted.count("pass")
    free = counted.count("uncertain") + total - len(counted)
    reached = {(fixed + extra) * n >= k * total for extra in range(free + 1)}
    assert folded == ("uncertain" if len(reached) == 2 else ["fail", "pass"][reached.pop()])


def test_worst_state_over_all_pairs() -> None:
    rank = {"pass": 0, "incomplete": 1, "fail": 2}
    for a, b in itertools.product(rank, rank):
        assert worst_state([a, b]) == max(a, b, key=rank.__getitem__)  # type: ignore[list-item]

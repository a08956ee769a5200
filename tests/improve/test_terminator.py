"""The terminator decides every state: success first, then the bounds, then what is missing."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.improve import Accuracy, Answer, Bounds, Delta, Observed, Spread, decide
from helix.improve.terminator import TARGETS, Round, streak
from helix.model.verdict import CellState

STATES: tuple[CellState, ...] = ("pass", "fail", "uncertain", "na")
MOVES = {"repeat", "tell-apart", "measure", "request", "escalate", "done", "stopped"}


def spread_of(states: list[CellState], repeats: int = 3, by_code: bool = True) -> Spread:
    """Return the spread of one cell with these answers, each on a fresh trace."""
    answers = [
        Answer("case", "row", run, f"trace-{run}", 0, state, by_code)
        for run, state in enumerate(states, 1)
    ]
    return Spread.of(["case"], answers, repeats)


deltas: st.SearchStrategy[Round] = st.one_of(
    st.none(),
    st.builds(
        Delta,
        st.integers(0, 3),
        st.one_of(st.none(), st.fractions(0, 1, max_denominator=4)),
        st.integers(0, 2),
    ),
)
spreads = st.one_of(
    st.none(),
    st.builds(spread_of, st.lists(st.sampled_from(STATES), max_size=4), by_code=st.booleans()),
)


@st.composite
def observed(draw: st.DrawFn) -> Observed:
    """Draw any state that a loop can be in; accuracy only where a spread has passed."""
    spread = draw(spreads)
    known = spread is not None and spread.passed and draw(st.booleans())
    return Observed(
        rounds=tuple(draw(st.lists(deltas, max_size=7))),
        elapsed_s=draw(st.floats(0, 4000)),
        spread=spread,
        accuracy=Accuracy(spread) if spread is not None and known else None,
        told_apart=draw(st.booleans()),
        askable=draw(st.integers(0, 2)),
        rejected=draw(st.frozensets(st.sampled_from(TARGETS))),
    )


bounds_of = st.builds(
    Bounds,
    target=st.sampled_from([Fraction(1), Fraction(1, 2)]),
    max_swings=st.integers(1, 6),
    max_seconds=st.floats(1, 3600),
    streak=st.integers(1, 3),
)


@given(observed(), bounds_of)
@settings(max_examples=200)
def test_every_state_has_one_move_and_the_first_rule_that_holds_makes_it(
    seen: Observed, bounds: Bounds
) -> None:
    found = decide(seen, bounds)
    assert found == decide(seen, bounds)
    assert found.move in MOVES
    assert (found.why is not None) == (found.move in ("done", "stopped", "escalate"))
    green = seen.accuracy is not None and seen.accuracy.meets(bounds.target)
    assert (found.move == "done") == green, "success is asked before any bound"
    if found.move == "measure":
        assert seen.spread is not None and seen.spread.passed, "variance before accuracy"
    over = (
        seen.elapsed_s >= bounds.max_seconds
        or len(seen.rounds) >= bounds.max_swings
        or streak(seen.rounds) >= bounds.streak
    )
    if over:
        assert found.move in ("done", "measure", "stopped")
    if found.move == "request":
        assert seen.askable and not seen.rejected.issuperset(TARGETS) and not over
    if found.move == "escalate":
        assert seen.rejected.issuperset(TARGETS)


@given(
    st.lists(st.lists(st.sampled_from(STATES), min_size=3, max_size=3), min_size=9, max_size=9),
    st.lists(st.sampled_from(["amended", "unchanged", "rejected"]), min_size=40, max_size=40),
    bounds_of,
    st.floats(0, 500),
)
@settings(max_examples=100)
def test_a_loop_ends_whatever_the_subject_and_its_engineer_do(
    swings: list[list[CellState]], said: list[str], bounds: Bounds, step_s: float
) -> None:
    seen, answers, measured = Observed(), iter(said), iter(swings)
    for _ in range(200):
        move = decide(seen, bounds).move
        changes: dict[str, object] = {"elapsed_s": seen.elapsed_s + step_s}
        if move == "repeat":
            spread = spread_of(next(measured))
            changes |= {"spread": spread, "askable": 1}
            if not spread.passed:
                changes["rounds"] = (*seen.rounds, Delta(len(spread.flapping), None))
        elif move == "measure":
            assert seen.spread is not None
            accuracy = Accuracy(seen.spread)
            gap = Delta(0, accuracy.gap(bounds.target))
            changes |= {"accuracy": accuracy, "rounds": (*seen.rounds, gap)}
        elif move == "request":
            answer = next(answers)
            if answer == "amended":
                seen = Observed(rounds=seen.rounds)
            elif answer == "unchanged":
                changes["rounds"] = (*seen.rounds, None)
            else:
                left = [target for target in TARGETS if target not in seen.rejected]
                changes["rejected"] = seen.rejected | {left[0]}
        else:
            assert move in ("done", "stopped", "escalate")
            return
        fields = {name: getattr(seen, name) for name in seen.__slots__} | changes
        seen = Observed(**fields)
    pytest.fail("the loop did not end")


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        ([], 0),
        ([Delta(2, None)], 0),
        ([Delta(2, None), Delta(1, None)], 0),
        ([Delta(2, None), Delta(2, None)], 1),
        ([Delta(2, None), None], 1),
        ([Delta(2, None), Delta(0, None, lacking=2)], 1),
        ([Delta(0, None, lacking=2), Delta(1, None)], 0),
        ([Delta(2, None, lacking=2), Delta(0, None, lacking=2)], 0),
        ([Delta(1, None), Delta(0, Fraction(1, 2))], 0),
        ([Delta(0, Fraction(1, 2)), Delta(0, Fraction(1, 3))], 0),
        ([Delta(0, Fraction(1, 2)), Delta(1, None), Delta(0, Fraction(1, 2))], 2),
        ([Delta(0, Fraction(1, 2)), Delta(0, Fraction(1, 2)), Delta(0, Fraction(1, 4))], 0),
    ],
)
def test_a_streak_counts_rounds_that_came_no_nearer_than_the_best(
    rounds: list[Round], expected: int
) -> None:
    assert streak(rounds) == expected


def test_success_wins_over_every_bound_that_is_used_up() -> None:
    spread = spread_of(["pass"] * 3)
    seen = Observed(
        rounds=(Delta(1, None),) * 9,
        elapsed_s=1e9,
        spread=spread,
        accuracy=Accuracy(spread),
        rejected=frozenset(TARGETS),
    )
    assert decide(seen, Bounds()).why == "full-green"

"""Where disagreement comes from: planted shares of agent, judge and verifier come back."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.stats import (
    Answers,
    answers_of,
    counted,
    disorder,
    fleiss_kappa,
    flip_spread,
    flipped,
    kappa,
    mean_excess,
    mean_share,
    refuted,
    varied,
    wilson,
)

SEEDS = 200
FLEISS = [
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
]  # fmt: skip


def said(*words: str) -> Answers:
    """Answers that nobody verified; `a>b` is what the judge said and what was left of it."""
    pairs = [word.partition(">") for word in words]
    return answers_of((own, left or own) for own, _, left in pairs)


def test_the_flip_rate_of_two_answers_is_2k_times_the_rest_over_all_pairs() -> None:
    for passes, repeats in ((2, 5), (0, 5), (5, 10), (10, 10)):
        answers = said(*["pass"] * passes, *["fail"] * (repeats - passes))
        wanted = Fraction(2 * passes * (repeats - passes), repeats * (repeats - 1))
        assert flipped(answers) == wanted
    assert disorder(said("pass", "fail")) == 1.0 and disorder(said("pass", "pass")) == 0.0


def test_an_answer_that_the_verifier_took_back_is_the_verifiers_flip() -> None:
    answers = said("pass", "pass>withdrawn")
    assert (flipped(answers), refuted(answers)) == (1, 1)
    answers = said("pass", "fail>withdrawn")
    assert (flipped(answers), refuted(answers)) == (1, 0)
    answers = said("pass>withdrawn", "fail>withdrawn")
    assert (flipped(answers), refuted(answers)) == (0, 0)


def test_traces_that_differ_and_never_flip_are_the_agents() -> None:
    assert varied((said("pass", "pass"), said("fail", "fail"))) == 1
    assert varied((said("pass"), said("pass"), said("fail"))) == Fraction(2, 3)
    assert varied((said("pass", "fail"), said("pass", "fail"))) == Fraction(-1, 2)


def test_very_many_traces_of_one_task_are_counted_and_not_paired() -> None:
    half = 50_000
    traces = (said("pass"),) * half + (said("fail"),) * half
    assert varied(traces) == Fraction(half * half, half * (2 * half - 1))
    mixed = (said("pass", "fail"), said("pass", "pass"), said("pass", "pass"))
    assert varied(mixed) == Fraction(1, 3) - Fraction(1, 3)


def test_kappa_over_repeats_is_that_of_fleiss() -> None:
    rows = [
        said(*[w for w, n in zip("abcde", row, strict=True) for _ in range(n)]) for row in FLEISS
    ]
    assert kappa(rows) == pytest.approx(0.210, abs=5e-4)
    assert kappa(rows) == pytest.approx(fleiss_kappa(FLEISS))
    assert kappa([said("a", "a"), said("b", "b", "b"), said("a")]) == 1.0
    assert kappa([said("a", "a")]) is None and kappa([]) is None


def test_of_nothing_or_one_answer_there_is_no_estimate() -> None:
    assert mean_share({}) is None and mean_excess({"a": []}) is None
    assert flip_spread(said("pass")) is None and flip_spread(said()) is None


def test_answers_that_all_agree_leave_the_flip_rate_open_above_0() -> None:
    found = mean_share({str(i): [Fraction(0)] for i in range(10)})
    assert found is not None and found.rate == 0
    assert found.interval == wilson(0, 10, 0.95) and found.interval[1] > 0.2
    low, high = flip_spread(said(*["pass"] * 5)) or (1.0, 0.0)
    assert low == 0 and 0.4 < high <= 0.5


def test_traces_of_one_task_tell_less_than_traces_of_many() -> None:
    values = [Fraction(i % 2) for i in range(12)]
    alone = mean_share({str(i): [v] for i, v in enumerate(values)})
    together = mean_share({"a": values[::2], "b": values[1::2]})
    assert alone is not None and together is not None and alone.rate == together.rate
    assert together.interval[1] - together.interval[0] > alone.interval[1] - alone.interval[0]


def test_more_kinds_of_answer_widen_what_one_trace_may_do() -> None:
    two = said("pass", "fail", "fail", "fail", "fail")
    three = said("pass", "na", "fail", "fail", "fail", "fail", "fail", "fail")
    assert (flip_spread(two) or (0, 0))[1] == 0.5 < (flip_spread(three) or (0, 0))[1]


def test_the_interval_of_one_trace_holds_its_estimate() -> None:
    even = said("pass", "pass", "fail", "fail")
    low, high = flip_spread(even) or (1.0, 0.0)
    assert low <= flipped(even) == Fraction(2, 3) == pytest.approx(high)


def drawn(
    seed: int, tasks: int, traces: int, repeats: int, bad: float, wrong: float, back: float
) -> dict[str, list[Answers]]:
    """Draw runs of tasks that are bad now and then, judged wrongly and taken back now and then."""
    draw = random.Random(seed).random
    found: dict[str, list[Answers]] = {}
    for task in range(tasks):
        for _ in range(traces):
            passes = draw() >= bad
            own = [("pass" if (draw() >= wrong) == passes else "fail") for _ in range(repeats)]
            left = [word if draw() >= back else "withdrawn" for word in own]
            answers = answers_of(zip(own, left, strict=True))
            found.setdefault(str(task), []).append(answers)
    return found


def planted(bad: float, wrong: float, back: float) -> dict[str, float]:
    """Return how often two answers disagree for each reason."""

    def apart(*shares: float) -> float:
        return 1 - sum(share**2 for share in shares)

    kept = 1 - back
    within = apart(kept * wrong, kept * (1 - wrong), back)
    passes = (1 - bad) * (1 - wrong) + bad * wrong
    verifier = (1 - 2 * wrong * (1 - wrong)) * 2 * back * kept
    between = apart(kept * passes, kept * (1 - passes), back)
    return {"agent": between - within, "judge": within - verifier, "verifier": verifier}


@pytest.mark.parametrize(
    ("tasks", "traces", "repeats", "bad", "wrong", "back"),
    [(20, 3, 5, 0.3, 0.1, 0.1), (40, 2, 3, 0.2, 0.05, 0.05), (15, 4, 5, 0.4, 0.2, 0.02)],
)
def test_planted_shares_are_covered_near_the_nominal_95_per_cent(
    tasks: int, traces: int, repeats: int, bad: float, wrong: float, back: float
) -> None:
    true = planted(bad, wrong, back)
    hits = dict.fromkeys(true, 0)
    for seed in range(SEEDS):
        found = drawn(seed, tasks, traces, repeats, bad, wrong, back)
        parts = {
            "agent": mean_excess({t: [varied(tuple(a))] for t, a in found.items()}),
            "judge": mean_share(
                {t: [flipped(x) - refuted(x) for x in a] for t, a in found.items()}
            ),
            "verifier": mean_share({t: [refuted(x) for x in a] for t, a in found.items()}),
        }
        for name, part in parts.items():
            assert part is not None
            hits[name] += part.interval[0] <= true[name] <= part.interval[1]
    assert all(0.91 <= n / SEEDS <= 0.995 for n in hits.values()), hits


@pytest.mark.parametrize(
    ("traces", "repeats", "p"), [(20, 5, 0.1), (50, 5, 0.05), (20, 2, 0.1), (100, 3, 0.02)]
)
def test_a_judge_that_flips_with_p_is_covered_near_the_nominal_95_per_cent(
    traces: int, repeats: int, p: float
) -> None:
    true = 2 * p * (1 - p)
    hits = 0
    for seed in range(SEEDS):
        found = drawn(seed, traces, 1, repeats, 0, p, 0)
        part = mean_share({t: [flipped(x) for x in a] for t, a in found.items()})
        hits += part is not None and part.interval[0] <= true <= part.interval[1]
    assert 0.92 <= hits / SEEDS <= 0.995


@pytest.mark.parametrize(("repeats", "p"), [(5, 0.1), (11, 0.3), (30, 0.1), (30, 0.5)])
def test_the_interval_of_one_trace_covers_what_it_does(repeats: int, p: float) -> None:
    hits = 0
    for seed in range(SEEDS):
        low, high = flip_spread(drawn(seed, 1, 1, repeats, 0, p, 0)["0"][0]) or (1, 0)
        hits += low <= 2 * p * (1 - p) <= high
    assert hits / SEEDS >= 0.92


WORDS = st.sampled_from(["pass", "fail", "pass>withdrawn", "fail>withdrawn", "na"])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(WORDS, min_size=2, max_size=6), min_size=2, max_size=5))
def test_the_parts_add_up_to_how_often_answers_about_a_task_disagree(
    task: Sequence[Sequence[str]],
) -> None:
    traces = [said(*words) for words in task]
    weighed = Fraction(0)
    for at, a in enumerate(traces):
        for b in traces[:at]:
            both = counted(a) * counted(b)
            apart = sum(n * m for ((_, x), n) in a for ((_, y), m) in b if x != y)
            weighed += Fraction(apart, both)
    whole = weighed / (len(traces) * (len(traces) - 1) // 2)
    alone = sum(map(flipped, traces), Fraction(0)) / len(traces)
    assert varied(tuple(traces)) + alone == whole
    assert all(0 <= refuted(answers) <= flipped(answers) <= 1 for answers in traces)

"""A check is fitted to what was labelled: it fires on broken traces and on no healthy one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.discover.findings import mined, roots
from helix.discover.norms import Examined, Norm, Trial
from helix.discover.proposing import discriminates, fitted
from helix.model.trace import Observation, Source, Trace
from helix.registry import CheckContext, Decision, load

NAMES = [f"t{n}" for n in range(6)]
SOME = st.frozensets(st.sampled_from(NAMES))


def trial(fails: frozenset[str], passes: frozenset[str], weight: int = 1) -> Trial:
    norm = Norm(
        "d", "off-path", "k", "a", "Pass = s.", {"primitive": "x", "w": weight}, "f", weight=weight
    )
    decisions = dict.fromkeys(sorted(fails), Decision("fail", "why"))
    return Trial(norm, decisions, tuple(sorted(passes - fails)), ())


TRIALS = st.lists(st.builds(trial, SOME, SOME, st.integers(1, 3)), max_size=6)


@settings(max_examples=150)
@given(TRIALS, SOME, SOME)
def test_what_is_fitted_separates_and_nothing_lighter_covers_as_much(
    pool: list[Trial], broken: frozenset[str], healthy: frozenset[str]
) -> None:
    healthy -= broken
    found = fitted(pool, broken, healthy)
    if found is None:
        same = [t for t in pool if t.fails.keys() == broken]
        assert not any(discriminates(t, broken, healthy) for t in same)
        return
    assert not healthy & found.fails.keys()
    assert broken & found.fails.keys() and healthy & set(found.passes)
    assert fitted(pool[::-1], broken, healthy).norm == found.norm  # type: ignore[union-attr]
    for other in pool:
        if other.fails.keys() == found.fails.keys() and discriminates(other, broken, healthy):
            assert other.norm.weight >= found.norm.weight


def test_a_check_that_fires_mostly_on_other_traces_or_misses_most_is_about_something_else() -> None:
    wide = trial(frozenset(NAMES[:5]), frozenset(NAMES[5:]))
    healthy = frozenset(NAMES[5:])
    assert fitted([wide], frozenset(NAMES[:2]), healthy) is None
    assert fitted([wide], frozenset(NAMES[:1]), healthy) is None
    assert fitted([wide], frozenset(NAMES[:3]), healthy) == wide


@pytest.mark.parametrize(
    ("odd", "kept"),
    [
        # Made up: that nothing returned it says as much as that its usual source did not.
        (("CARD-999", None), "pay.card from nowhere"),
        # Returned by another call: only the usual source tells it from the others.
        (("CARD-777", "CARD-777"), "pay.card not from lookup"),
    ],
)
def test_a_value_that_is_odd_is_held_to_no_narrower_origin_than_it_takes(
    odd: tuple[str, str | None], kept: str
) -> None:
    traces = (*(paid(at, f"CARD-{at}00", None) for at in range(1, 10)), paid(10, *odd))
    names = frozenset(call.name for trace in traces for call in trace.tools())
    context = CheckContext(frozenset(), names, frozenset({"user"}))
    found = [t for t in roots(mined(Examined(traces, context), load([]))) if "t10" in t.fails]
    assert [(t.norm.kind, list(t.fails)) for t in found] == [(kept, ["t10"])]


def paid(at: int, card: str, beside: str | None) -> Trace:
    found = Trace(id=f"t{at}", source=Source("t", at, "helix", f"{at:064x}"))
    found.output = {"response": "done"}
    found.observations = [
        Observation("c0", 0, "lookup", input={"of": "guest"}, output={"card": f"CARD-{at}00"}),
        Observation("c1", 1, "find_promo", input={}, output={"code": beside or "none"}),
        Observation("c2", 2, "pay", input={"card": card}, output={"paid": "all of it"}),
    ]
    return found


@given(TRIALS, SOME)
def test_without_a_healthy_trace_nothing_discriminates(
    pool: list[Trial], broken: frozenset[str]
) -> None:
    assert fitted(pool, broken, frozenset()) is None

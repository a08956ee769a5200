"""Checks made of checks: the tables of all, any, not, implies, at-least, and their algebra."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.checks.specs import MOST_DEEP, MOST_PARTS, read
from helix.model.trace import Trace
from helix.registry import Decision
from tests.checks.builder import CHECKS, ask, call, said, trace, verdict

STATES = ("pass", "fail", "uncertain", "na")
PARTS: dict[str, dict[str, Any]] = {
    "pass": {"primitive": "presence", "field": "output.response"},
    "fail": {"primitive": "string-equality", "field": "output.mood", "expected": "glad"},
    "uncertain": {"primitive": "string-equality", "field": "output.tone", "expected": "soft"},
    "na": {"primitive": "presence", "field": "obs:idle.output.ok"},
}
states = st.sampled_from(STATES)


def subject() -> Trace:
    return trace(
        said("user", "Grüße, 東京"),
        call("work", output={"ok": True}),
        output={"response": "done", "mood": "sad"},
    )


def asked(primitive: str, **parameters: Any) -> Decision:
    return ask(primitive, parameters, subject(), inventory=["idle"])


def composed(primitive: str, *parts: str, **parameters: Any) -> str:
    return asked(primitive, of=[PARTS[part] for part in parts], **parameters).state


def turned(part: str) -> dict[str, Any]:
    return {"primitive": "not", "of": PARTS[part]}


@pytest.mark.parametrize("state", STATES)
def test_the_parts_of_these_tests_are_in_their_states(state: str) -> None:
    part = dict(PARTS[state])
    assert asked(part.pop("primitive"), **part).state == state


@pytest.mark.parametrize(
    ("parts", "every", "some"),
    [
        ("pass", "pass", "pass"),
        ("fail", "fail", "fail"),
        ("uncertain", "uncertain", "uncertain"),
        ("na", "na", "na"),
        ("pass fail", "fail", "pass"),
        ("pass uncertain", "uncertain", "pass"),
        ("pass na", "pass", "pass"),
        ("fail uncertain", "fail", "uncertain"),
        ("fail na", "fail", "fail"),
        ("uncertain na", "uncertain", "uncertain"),
        ("pass fail uncertain na", "fail", "pass"),
    ],
)
def test_all_and_any_follow_their_tables(parts: str, every: str, some: str) -> None:
    for order in itertools.permutations(parts.split()):
        assert (composed("all", *order), composed("any", *order)) == (every, some)


@pytest.mark.parametrize(
    ("part", "state"),
    [("pass", "fail"), ("fail", "pass"), ("uncertain", "uncertain"), ("na", "na")],
)
def test_not_turns_only_what_is_decided(part: str, state: str) -> None:
    decision = asked("not", of=PARTS[part])
    assert decision.state == state
    assert decision.cause == ("missing-field" if part == "uncertain" else None)


@pytest.mark.parametrize(
    ("premise", "then", "state"),
    [
        *(("pass", then, then) for then in STATES),
        *(("fail", then, "pass") for then in STATES),
        *(("uncertain", then, "uncertain") for then in STATES),
        *(("na", then, "na") for then in STATES),
    ],
)
def test_implies_follows_its_table(premise: str, then: str, state: str) -> None:
    assert asked("implies", **{"if": PARTS[premise]}, then=PARTS[then]).state == state


@pytest.mark.parametrize(
    ("k", "parts", "state"),
    [
        (2, "pass pass fail", "pass"),
        (2, "pass pass na", "pass"),
        (2, "pass pass uncertain", "pass"),
        (2, "pass uncertain fail", "uncertain"),
        (2, "uncertain uncertain fail", "uncertain"),
        (2, "pass fail fail", "fail"),
        (2, "uncertain fail fail", "fail"),
        (2, "pass fail na", "fail"),
        (2, "uncertain fail na", "fail"),
        (2, "uncertain na na", "uncertain"),
        (2, "pass na na", "na"),
        (2, "na na na", "na"),
        (3, "pass pass uncertain", "uncertain"),
        (3, "pass fail uncertain", "fail"),
    ],
)
def test_at_least_counts_passes_alone(k: int, parts: str, state: str) -> None:
    assert composed("at-least", *parts.split(), k=k) == state


@given(parts=st.lists(states, min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_de_morgan_holds_for_all_four_states(parts: list[str]) -> None:
    turn = [turned(part) for part in parts]
    plain = [PARTS[part] for part in parts]
    for one, other in (("all", "any"), ("any", "all")):
        outside = asked("not", of={"primitive": one, "of": plain})
        inside = asked(other, of=turn)
        assert (outside.state, set(outside.refs)) == (inside.state, set(inside.refs))


@given(part=states)
def test_a_double_not_is_what_it_was(part: str) -> None:
    assert asked("not", of=turned(part)).state == part


@given(parts=st.lists(states, min_size=1, max_size=4), data=st.data())
@settings(max_examples=80, deadline=None)
def test_knowing_more_of_an_uncertain_part_overturns_nothing(
    parts: list[str], data: st.DataObject
) -> None:
    known = [data.draw(states) if part == "uncertain" else part for part in parts]
    k = data.draw(st.integers(1, len(parts)))
    asks: list[tuple[str, dict[str, Any]]] = [("all", {}), ("any", {}), ("at-least", {"k": k})]
    for primitive, given_ in asks:
        before, after = composed(primitive, *parts, **given_), composed(primitive, *known, **given_)
        assert before in ("uncertain", after)
    pair, clear = (parts * 2)[:2], (known * 2)[:2]
    before, after = (
        asked("implies", **{"if": PARTS[premise]}, then=PARTS[then]).state
        for premise, then in (pair, clear)
    )
    assert before in ("uncertain", after)


@given(parts=st.lists(st.sampled_from(["fail", "uncertain", "pass"]), min_size=1, max_size=4),
       data=st.data())  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_a_better_part_never_makes_the_whole_worse(parts: list[str], data: st.DataObject) -> None:
    rank = ["fail", "uncertain", "pass"]
    at = data.draw(st.integers(0, len(parts) - 1))
    better = list(parts)
    better[at] = data.draw(st.sampled_from(rank[rank.index(parts[at]) :]))
    k = data.draw(st.integers(1, len(parts)))
    for primitive, given_ in (("all", {}), ("any", {}), ("at-least", {"k": k})):
        low, high = composed(primitive, *parts, **given_), composed(primitive, *better, **given_)
        assert rank.index(low) <= rank.index(high)


@given(parts=st.lists(states, min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_at_least_one_is_any_and_of_those_that_apply_at_least_all_is_all(parts: list[str]) -> None:
    assert composed("at-least", *parts, k=1) == composed("any", *parts)
    if "na" not in parts:
        assert composed("at-least", *parts, k=len(parts)) == composed("all", *parts)


def test_the_refs_are_those_of_the_parts_that_decided() -> None:
    decision = asked("all", of=[PARTS["pass"], PARTS["fail"], PARTS["uncertain"]])
    assert [(ref.obs, ref.path, ref.value) for ref in decision.refs] == [
        ("trace-1", "output.mood", "sad")
    ]
    decision = asked("any", of=[PARTS["fail"], PARTS["pass"], PARTS["pass"]])
    assert [(ref.path, ref.value) for ref in decision.refs] == [("output.response", "done")]
    decision = asked("implies", **{"if": PARTS["pass"]}, then=PARTS["fail"])
    assert {ref.path for ref in decision.refs} == {"output.response", "output.mood"}


def test_a_part_that_breaks_is_uncertain_and_a_not_leaves_it_so() -> None:
    from helix.checks import CheckContext, Params, decide
    from helix.registry import Check

    class Nothing(Params):
        """None."""

    def breaks(trace: Trace, params: Nothing, context: CheckContext) -> Decision:
        raise KeyError("gone")

    checks = {**CHECKS, "breaks": Check("breaks", "1", Nothing, breaks)}
    part = read({"primitive": "not", "of": {"primitive": "breaks"}}, checks.__getitem__)
    decision = decide(part, subject(), CheckContext())
    assert verdict(decision) == "uncertain: check-error" and "KeyError" in decision.detail


@pytest.mark.parametrize(
    "about",
    [
        trace(),
        trace(output={"response": [1, {"a": None}]}),
        trace(said("user", "\ud800"), output={"response": "東京 \ud800"}),
        trace(call("work", output={"n": 1}, flags=["ambiguous-order"]), output={"response": "x"}),
        trace(call("work", id="c"), call("work", id="c"), output={"response": "x"}),
    ],
    ids=["empty", "wrong type", "unicode", "ambiguous order", "duplicate ids"],
)
def test_a_part_says_of_odd_traces_what_it_says_alone(about: Trace) -> None:
    part = dict(PARTS["pass"])
    alone = ask(part.pop("primitive"), part, about)
    for primitive in ("all", "any"):
        assert ask(primitive, {"of": [PARTS["pass"]]}, about).state == alone.state
    assert ask("not", {"of": turned("pass")}, about).state == alone.state


def test_a_non_finite_number_stays_uncertain() -> None:
    from helix.model.jsontext import NonFinite

    about = trace(output={"n": NonFinite("NaN")})
    part = {"primitive": "string-equality", "field": "output.n", "expected": 1}
    assert verdict(ask("not", {"of": part}, about)) == "uncertain: not-decidable"


def test_ten_thousand_observations_are_read_once_a_part() -> None:
    about = trace(*(call("work", output={"ok": True}) for _ in range(10_000)))
    part = {"primitive": "tool-output-failure", "tool": "work", "success_path": "output.ok"}
    both = [part, {"primitive": "not", "of": part}]
    assert ask("all", {"of": both}, about).state == "fail"
    assert ask("any", {"of": both}, about).state == "pass"


def test_depth_and_number_are_bounded() -> None:
    deep: dict[str, Any] = PARTS["pass"]
    for _ in range(MOST_DEEP - 1):
        deep = {"primitive": "not", "of": deep}
    assert read(deep, CHECKS.__getitem__).check.name == "not"
    with pytest.raises(ValueError, match=f"not be nested more than {MOST_DEEP} deep"):
        read({"primitive": "not", "of": deep}, CHECKS.__getitem__)
    with pytest.raises(ValueError, match=f"not hold more than {MOST_PARTS} checks"):
        read({"primitive": "any", "of": [PARTS["pass"]] * MOST_PARTS}, CHECKS.__getitem__)


def test_a_check_that_holds_itself_is_refused() -> None:
    spec: dict[str, Any] = {"primitive": "all"}
    spec["of"] = [spec]
    with pytest.raises(ValueError, match="nested more than"):
        read(spec, CHECKS.__getitem__)

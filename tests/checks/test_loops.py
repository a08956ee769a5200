"""loops: the same calls over and over."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from helix.model.jsontext import NonFinite
from helix.model.trace import TOOL, Message, Observation
from tests.checks.builder import Row, ask, call, said, trace, verdict

Events = list[Observation | Message]
THRICE: dict[str, Any] = {"times": 3}
PAIRS = {"times": 2, "cycle": 2}
LOST, ODD = "uncertain: missing-field", "uncertain: not-decidable"
NO_ORDER = "uncertain: ambiguous-order"


def made(letters: str, **kw: Any) -> list[Observation]:
    """Return calls of one tool each, or with one argument each for capitals."""
    return [
        call("tool", {"n": letter}, **kw) if letter.isupper() else call(letter, **kw)
        for letter in letters
    ]


def turn(id: str, letters: str) -> Events:
    return [said("assistant", "", id=id), *made(letters, turn=id)]


def lost(id: str) -> Observation:
    return Observation(id, 0, "a", TOOL, input=None)


def odd() -> Observation:
    return call("a", {"n": NonFinite("NaN")})


TABLE: list[tuple[dict[str, Any], Events, str]] = [
    (THRICE, [*made("aab")], "pass"),
    (THRICE, [*made("aaa")], "fail"),
    (THRICE, [*made("baaaab")], "fail"),
    (THRICE, [*made("abababab")], "pass"),
    (THRICE, [*made("ABC")], "pass"),
    (THRICE, [*made("AAA")], "fail"),
    (THRICE, [], "na"),
    (THRICE, [said("user", "go")], "na"),
    (
        THRICE,
        [*made("a"), said("user", "again"), *made("a"), said("user", "on"), *made("a")],
        "fail",
    ),
    (THRICE, [call("a", {"n": 1}), call("a", {"n": 1.0}), call("a", {"n": 1})], "fail"),
    (THRICE, [call("a", {"n": 1}), call("a", {"n": "1"}), call("a", {"n": True})], "pass"),
    (THRICE, [call("größe", "文") for _ in range(3)], "fail"),
    # cycles
    (PAIRS, [*made("abab")], "fail"),
    (PAIRS, [*made("abba")], "fail"),
    (PAIRS, [*made("abcabc")], "pass"),
    ({"times": 2, "cycle": 3}, [*made("abcabc")], "fail"),
    ({"times": 3, "cycle": 3}, [*made("xabcabcab")], "pass"),
    ({"times": 3, "cycle": 3}, [*made("xabcabcabc")], "fail"),
    # tools that may repeat
    ({**THRICE, "exempt": ["a"]}, [*made("aaa")], "na"),
    ({**THRICE, "exempt": ["a"]}, [*made("bababa")], "fail"),
    # turns whose calls run side by side
    (THRICE, [*turn("t", "aaa")], "fail"),
    (THRICE, [*turn("t", "aa"), *made("a")], "fail"),
    (THRICE, [*turn("t", "ab"), *turn("u", "ba"), *turn("v", "ab")], "fail"),
    (THRICE, [*made("aa"), *turn("t", "ab")], "pass"),
    (THRICE, [*made("aa"), *turn("t", "ba")], "pass"),
    # what is not known
    (THRICE, [lost("x"), lost("y"), lost("z")], LOST),
    (THRICE, [lost("x"), lost("y")], "pass"),
    (THRICE, [*made("aa"), lost("x")], LOST),
    (THRICE, [*made("aa"), *made("b"), lost("x")], "pass"),
    (THRICE, [odd(), odd(), odd()], ODD),
    (THRICE, [*made("aaa"), lost("x")], "fail"),
    ({"times": 2, "cycle": 2}, [lost("x"), *made("b"), lost("y"), *made("b")], LOST),
    # order that nobody knows
    (THRICE, [*made("aab", flags=["ambiguous-order"]), *made("a")], NO_ORDER),
    (THRICE, [*made("aaa", flags=["ambiguous-order"])], "fail"),
    (THRICE, [*made("aabb", flags=["ambiguous-order"])], "pass"),
    (THRICE, [*made("aaab"), *made("c", flags=["ambiguous-order"])], NO_ORDER),
]


@pytest.mark.parametrize(("params", "events", "expected"), TABLE)
def test_a_row_is_decided_as_the_truth_table_says(
    params: dict[str, Any], events: Events, expected: str
) -> None:
    assert verdict(ask("loops", params, trace(*events))) == expected


def test_calls_with_one_id_or_of_another_type_make_no_row() -> None:
    about = trace(*made("a", flags=["duplicate-call-id"]), call("a", type="EVENT"), *made("a"))
    decision = ask("loops", THRICE, about)
    assert decision.state == "pass"
    assert decision.detail == "of 2 tool calls, none is made 3 times in a row; the most is 2"


def test_a_fail_names_the_cycle_and_cites_its_calls() -> None:
    decision = ask("loops", PAIRS, trace(*made("xabab")))
    assert decision.detail == "a, b with the same arguments 2 times in a row, from c1 on"
    assert [(ref.obs, ref.path) for ref in decision.refs] == [
        ("c1", "input"), ("c2", "input"), ("c3", "input"), ("c4", "input"),
    ]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.text("abc", max_size=12), st.integers(2, 4), st.integers(1, 4))
def test_a_loop_is_found_where_searching_every_stretch_finds_one(
    letters: str, times: int, cycle: int
) -> None:
    there = any(
        letters[at : at + period * times] == letters[at : at + period] * times
        for period in range(1, cycle + 1)
        for at in range(len(letters) - period * times + 1)
    )
    decision = ask("loops", {"times": times, "cycle": cycle}, trace(*made(letters)))
    assert decision.state == ("na" if not letters else "fail" if there else "pass")


def test_ten_thousand_calls() -> None:
    about = trace(*made("abc" * 3_333))
    assert ask("loops", {"times": 3_333, "cycle": 5}, about).state == "fail"
    assert ask("loops", {"times": 3_334, "cycle": 5}, about).state == "pass"
    same = trace(*(call("a", {"n": 1}) for _ in range(10_000)))
    assert ask("loops", {"times": 10_000}, same).state == "fail"


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"times": 1}, "greater than or equal to 2"),
        ({"cycle": 0}, "greater than or equal to 1"),
        ({"times": "3"}, "valid integer"),
        ({"exempt": [""]}, "at least 1 character"),
        ({"n": 3}, "Extra inputs"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(params: dict[str, Any], text: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Row("loops", params)
    assert text in str(caught.value)

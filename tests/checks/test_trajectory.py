"""trajectory-match: calls beside the calls that were expected."""

from __future__ import annotations

import time
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from helix.checks.pairing import most_pairs
from helix.model.jsontext import NonFinite
from helix.model.trace import TOOL, Message, Observation
from tests.checks.builder import Row, ask, call, said, trace, verdict

Events = list[Observation | Message]
MODES = ("strict", "unordered", "subset", "superset")
LOST, ODD = "uncertain: missing-field", "uncertain: not-decidable"
NO_ORDER = "uncertain: ambiguous-order"


def made(names: str, **kw: Any) -> Events:
    return [call(name, **kw) for name in names]


def turn(id: str, *events: Observation) -> Events:
    for event in events:
        event.parent_id = id
    return [said("assistant", "", id=id), *events]


def verdicts(params: dict[str, Any], *events: Observation | Message) -> list[str]:
    """Return what each mode says."""
    return [
        verdict(ask("trajectory-match", {**params, "mode": mode}, trace(*events), inventory="abcd"))
        for mode in MODES
    ]


PASS, FAIL = "pass", "fail"


@pytest.mark.parametrize(
    ("expected", "events", "said_of_modes"),
    [
        ("ab", made("ab"), [PASS, PASS, PASS, PASS]),
        ("ab", made("ba"), [FAIL, PASS, PASS, PASS]),
        ("ab", made("a"), [FAIL, FAIL, PASS, FAIL]),
        ("ab", made("b"), [FAIL, FAIL, PASS, FAIL]),
        ("ab", made("abc"), [FAIL, FAIL, FAIL, PASS]),
        ("ab", made("cab"), [FAIL, FAIL, FAIL, PASS]),
        ("ab", made("ac"), [FAIL, FAIL, FAIL, FAIL]),
        ("ab", [], [FAIL, FAIL, "na", FAIL]),
        # repeats are counted
        ("aab", made("ab"), [FAIL, FAIL, PASS, FAIL]),
        ("ab", made("aab"), [FAIL, FAIL, FAIL, PASS]),
        ("aab", made("aba"), [FAIL, PASS, PASS, PASS]),
        # messages and other observations are no calls
        ("ab", [said("user", "x"), *made("a"), call("c", type="SPAN"), said("assistant", "y"),
                *made("b")], [PASS, PASS, PASS, PASS]),
        # the order inside one turn does not matter, that of turns does
        ("abc", [*turn("t", call("b"), call("a")), *made("c")], [PASS, PASS, PASS, PASS]),
        ("abc", [*made("c"), *turn("t", call("b"), call("a"))], [FAIL, PASS, PASS, PASS]),
        ("acb", [*turn("t", call("b"), call("a")), *made("c")], [FAIL, PASS, PASS, PASS]),
        # order that nobody knows
        ("ab", made("ba", flags=["ambiguous-order"]), [NO_ORDER, PASS, PASS, PASS]),
        ("ab", made("ac", flags=["ambiguous-order"]), [FAIL, FAIL, FAIL, FAIL]),
        ("a", made("a", flags=["ambiguous-order", "duplicate-call-id"]), [PASS, PASS, PASS, PASS]),
    ],
)  # fmt: skip
def test_calls_are_matched_as_each_mode_says(
    expected: str, events: Events, said_of_modes: list[str]
) -> None:
    assert verdicts({"expected": list(expected)}, *events) == said_of_modes


def test_a_hold_is_what_no_expected_call_asks_for() -> None:
    row: dict[str, Any] = {"expected": []}
    for mode in MODES[:3]:
        assert ask("trajectory-match", {**row, "mode": mode}, trace()).state == "pass"
        about = trace(said("user", "x"), *made("a"))
        assert ask("trajectory-match", {**row, "mode": mode}, about).state == "fail"


BOOK = {"date": "2 May", "guests": 2}


@pytest.mark.parametrize(
    ("arguments", "said_of_modes"),
    [
        # exact, ignore, subset, superset
        (BOOK, [PASS, PASS, PASS, PASS]),
        ({"guests": 2.0, "date": "2 May"}, [PASS, PASS, PASS, PASS]),
        ({"date": "2 May"}, [FAIL, PASS, PASS, FAIL]),
        ({**BOOK, "name": "Zoë 文"}, [FAIL, PASS, FAIL, PASS]),
        ({"date": "2 May", "guests": 3}, [FAIL, PASS, FAIL, FAIL]),
        ({"date": "2 May", "guests": None}, [FAIL, PASS, FAIL, FAIL]),
        ({}, [FAIL, PASS, PASS, FAIL]),
        ("2 May, 2", [FAIL, PASS, FAIL, FAIL]),
        # what only looks equal, or cannot be compared
        ({"date": "2 May", "guests": "2"}, [ODD, PASS, ODD, ODD]),
        ({"date": "2 May", "guests": NonFinite("NaN")}, [ODD, PASS, ODD, ODD]),
        ({"date": "3 May", "guests": NonFinite("NaN")}, [FAIL, PASS, FAIL, FAIL]),
        ({"guests": "2"}, [FAIL, PASS, ODD, FAIL]),
    ],
)
def test_arguments_are_compared_as_each_mode_says(arguments: Any, said_of_modes: list[str]) -> None:
    row = {"expected": [{"tool": "book", "arguments": BOOK}]}
    about = trace(call("book", arguments))
    found = [
        verdict(ask("trajectory-match", {**row, "arguments": how}, about))
        for how in ("exact", "ignore", "subset", "superset")
    ]
    assert found == said_of_modes


def test_arguments_that_were_not_recorded_or_are_redacted_are_not_known() -> None:
    row = {"expected": [{"tool": "book", "arguments": BOOK}]}
    lost = Observation("x", 0, "book", TOOL, input=None)
    assert verdicts(row, lost)[1:] == [LOST] * 3
    assert verdicts(row, call("book", BOOK, flags=["redacted"])) == [ODD] * 4
    assert verdicts({**row, "arguments": "ignore"}, lost) == [PASS] * 4
    assert verdicts(row, lost, call("book", BOOK)) == [FAIL, FAIL, FAIL, PASS]
    assert verdicts({"expected": [*row["expected"], "a"]}, lost, *made("b"))[1] == FAIL


def test_an_expected_call_without_arguments_says_nothing_of_them() -> None:
    for bare in ("book", {"tool": "book"}):
        assert verdicts({"expected": [bare]}, call("book", BOOK)) == [PASS] * 4
    assert (
        verdicts({"expected": [{"tool": "book", "arguments": {}}]}, call("book", BOOK))[0] == FAIL
    )


def test_single_tools_are_compared_in_their_own_way() -> None:
    row = {
        "expected": [{"tool": "a", "arguments": BOOK}, {"tool": "b", "arguments": BOOK}],
        "arguments_of": {"b": "ignore"},
    }
    assert verdicts(row, call("a", BOOK), call("b", {"guests": 9})) == [PASS] * 4
    assert verdicts(row, call("a", {"guests": 9}), call("b", BOOK)) == [FAIL] * 4


def test_calls_are_paired_so_that_most_are_paired() -> None:
    row = {
        "expected": [{"tool": "a", "arguments": {"x": 1}}, {"tool": "a", "arguments": {}}],
        "arguments": "superset",
    }
    about = [call("a", {"x": 1}), call("a", {"y": 2})]
    assert verdicts(row, *about) == [PASS] * 4
    assert verdicts(row, *reversed(about)) == [FAIL, PASS, PASS, PASS]
    about[1].input["x"] = 2
    decision = ask("trajectory-match", {**row, "mode": "unordered"}, trace(*about, call("a", {})))
    assert decision.detail == "c2 (a) is not expected (0 missing, 1 left over)"


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sets(st.integers(0, 4)), max_size=5))
def test_no_other_pairing_pairs_more(choices: list[set[int]]) -> None:
    found = most_pairs([sorted(rights) for rights in choices])
    assert len(set(found.values())) == len(found)
    assert all(right in choices[left] for left, right in found.items())
    best = max(
        sum(right in choices[left] for left, right in enumerate(rights))
        for rights in permutations(range(5), len(choices))
    )
    assert len(found) == best


@settings(max_examples=150, deadline=None)
@given(st.text("abc", max_size=6), st.text("abc", min_size=1, max_size=6))
def test_the_modes_hang_together(done: str, expected: str) -> None:
    strict, unordered, subset, superset = verdicts({"expected": list(expected)}, *made(done))
    assert (strict == PASS) is (done == expected)
    assert (unordered == PASS) is (subset == PASS and superset == PASS)
    assert strict != PASS or unordered == PASS


def test_a_tool_that_nobody_knows_gives_no_fail() -> None:
    row = {"expected": ["a", "boook"]}
    assert verdict(ask("trajectory-match", row, trace(*made("a")))) == "uncertain: unknown-tool"
    assert ask("trajectory-match", {**row, "mode": "subset"}, trace(*made("a"))).state == "pass"


def test_a_fail_says_which_call_differs_and_how() -> None:
    row = {"expected": ["a", {"tool": "book", "arguments": BOOK}, "c"]}
    about = trace(*made("a"), call("book", {**BOOK, "guests": 3}), *made("c"))
    decision = ask("trajectory-match", row, about)
    assert decision.detail == "input.guests of c1 (book) is 3, not 2"
    assert [(ref.obs, ref.path, ref.value) for ref in decision.refs] == [
        ("c1", "input.guests", "3")
    ]
    decision = ask("trajectory-match", row, trace(*made("ad")), inventory=["book", "c"])
    assert decision.detail == "an expected call of book is not made, and c1 (d) is not expected"
    assert {ref.scan.channel if ref.scan else ref.obs for ref in decision.refs} == {
        "obs:book.name", "c1",
    }  # fmt: skip


def test_a_pass_cites_the_calls_and_the_arguments_that_were_compared() -> None:
    row = {"expected": ["a", {"tool": "book", "arguments": BOOK}]}
    decision = ask("trajectory-match", row, trace(*made("a"), call("book", BOOK)))
    assert decision.detail == "the tool calls (2) are the expected ones, in order"
    assert [(ref.obs, ref.path) for ref in decision.refs] == [
        ("c0", "name"), ("c1", "name"), ("c1", "input"),
    ]  # fmt: skip


def test_ten_thousand_calls_take_time_in_proportion() -> None:
    row = {
        "expected": [{"tool": "a", "arguments": {"n": n}} for n in (5, 7, -1)],
        "mode": "superset",
    }

    def seconds(size: int) -> float:
        about = trace(*(call("a", {"n": n}) for n in range(size)))
        began = time.process_time()
        assert ask("trajectory-match", row, about).state == "fail"
        return time.process_time() - began

    seconds(1_000)
    assert seconds(10_000) < 40 * max(seconds(1_000), 0.005)
    long = {"expected": ["a", "b"] * 5_000}
    assert ask("trajectory-match", long, trace(*made("ab" * 5_000))).state == "pass"


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({}, "Field required"),
        ({"expected": [], "mode": "superset"}, "needs an expected call"),
        ({"expected": ["a"], "mode": "orderd"}, "'strict', 'unordered', 'subset' or 'superset'"),
        ({"expected": ["a"], "arguments": "same"}, "'exact', 'ignore', 'subset' or 'superset'"),
        ({"expected": ["a"], "arguments_of": {"b": "ignore"}}, "must name expected tools (got b)"),
        ({"expected": [{"name": "a"}]}, "Field required"),
        ({"expected": [{"tool": "a", "args": {}}]}, "Extra inputs"),
        ({"expected": [3]}, "valid dictionary"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(params: dict[str, Any], text: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Row("trajectory-match", params)
    assert text in str(caught.value)

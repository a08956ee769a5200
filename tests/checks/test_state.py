"""state-equals: the final state is what it should be, but for what is ignored."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from helix.model.jsontext import NonFinite
from helix.model.trace import Trace
from tests.checks.builder import Row, ask, call, said, trace, verdict

NAN = NonFinite("NaN")
MISSING: Any = object()
UNSURE = "uncertain: not-decidable"
EXPECTED = {"status": "closed", "items": [{"sku": "A1", "n": 1}, {"sku": "B2", "n": 2}]}


def ended(state: Any) -> Trace:
    return trace(said("user", "hi"), output={} if state is MISSING else {"state": state})


def compared(state: Any, expected: Any = EXPECTED, **params: Any) -> str:
    asked = {"field": "output.state", "expected": expected, **params}
    return verdict(ask("state-equals", asked, ended(state)))


def like(**changes: Any) -> dict[str, Any]:
    return {**EXPECTED, **changes}


SWAPPED = like(items=EXPECTED["items"][::-1])


@pytest.mark.parametrize(
    ("state", "params", "expected"),
    [
        (EXPECTED, {}, "pass"),
        (dict(reversed(EXPECTED.items())), {}, "pass"),
        (like(status="open"), {}, "fail"),
        (like(status=None), {}, "fail"),
        (like(more=1), {}, "fail"),
        (like(more=1), {"ignore_keys": ["more"]}, "pass"),
        ({"status": "closed"}, {}, "fail"),
        ({"status": "closed"}, {"ignore_paths": ["items"]}, "pass"),
        (like(items=[{"sku": "A1", "n": 9}, {"sku": "B2", "n": 2}]), {}, "fail"),
        (
            like(items=[{"sku": "A1", "n": 9}, {"sku": "B2", "n": 2}]),
            {"ignore_keys": ["n"]},
            "pass",
        ),
        (
            like(items=[{"sku": "A1", "n": 9}, {"sku": "B2", "n": 2}]),
            {"ignore_paths": ["items[0].n"]},
            "pass",
        ),
        (
            like(items=[{"sku": "A1", "n": 9}, {"sku": "B2", "n": 2}]),
            {"ignore_paths": ["items[1].n"]},
            "fail",
        ),
        (SWAPPED, {}, "fail"),
        (SWAPPED, {"unordered": True}, "pass"),
        (SWAPPED, {"unordered": ["items"]}, "pass"),
        (SWAPPED, {"unordered": ["others"]}, "fail"),
        (like(items=EXPECTED["items"][:1]), {"unordered": True}, "fail"),
        (like(items=[{"sku": "A1", "n": 1.0}, {"sku": "B2", "n": 2}]), {}, "pass"),
        (like(items=[{"sku": "B2", "n": 2.0}, {"sku": "A1", "n": 1}]), {"unordered": True}, "pass"),
        (like(items=[{"sku": "A1", "n": "1"}, {"sku": "B2", "n": 2}]), {}, UNSURE),
        (like(items=[{"sku": "A1", "n": "1"}, {"sku": "B2", "n": 2}]), {"unordered": True}, UNSURE),
        (like(items=[{"sku": "A1", "n": NAN}, {"sku": "B2", "n": 2}]), {}, UNSURE),
        (like(items=[{"sku": "A1", "n": NAN}, {"sku": "B2", "n": 2}]), {"unordered": True}, UNSURE),
        (like(items=[{"sku": "A1", "n": NAN}, {"sku": "C3", "n": 2}]), {}, "fail"),
        (like(items=[]), {}, "fail"),
        ({}, {}, "fail"),
        ([], {}, "fail"),
        ("closed", {}, "fail"),
        (None, {}, "fail"),
        (NAN, {}, UNSURE),
        (MISSING, {}, "uncertain: missing-field"),
        (MISSING, {"on_missing": "fail"}, "fail"),
        (MISSING, {"on_missing": "na"}, "na"),
    ],
)
def test_a_state_is_decided_as_the_table_says(
    state: Any, params: dict[str, Any], expected: str
) -> None:
    assert compared(state, **params) == expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [({}, {}), ([], []), ("Grüße 🙂", "Grüße 🙂"), ({"é": {"ß": [None]}}, {"é": {"ß": [None]}})],
)
def test_any_json_value_equals_itself(state: Any, expected: Any) -> None:
    assert compared(state, expected) == "pass"


def test_the_first_difference_is_named_and_each_is_cited() -> None:
    state = {"status": "open", "items": EXPECTED["items"], "more": 1}
    asked = {"field": "output.state", "expected": {**EXPECTED, "by": "me"}}
    decision = ask("state-equals", asked, ended(state))
    assert 'status: "open", not "closed" (and 2 more)' in decision.detail
    assert [ref.path for ref in decision.refs] == [
        "output.state.status", "output.state.by", "output.state.more",
    ]  # fmt: skip


def test_a_state_is_compared_with_another_place() -> None:
    asked = {"field": "output.state", "other": "obs:load@last.output"}
    about = trace(call("load", output=EXPECTED), output={"state": EXPECTED})
    assert ask("state-equals", asked, about).state == "pass"
    about = trace(call("load", output={}), output={"state": EXPECTED})
    assert ask("state-equals", asked, about).state == "fail"
    assert verdict(ask("state-equals", asked, ended(EXPECTED))) == "uncertain: missing-field"


def test_a_tool_that_was_not_called_is_na_if_known_and_uncertain_if_not() -> None:
    asked = {"field": "obs:load.output", "expected": {}}
    assert verdict(ask("state-equals", asked, ended({}), inventory=["load"])) == "na"
    assert verdict(ask("state-equals", asked, ended({}))) == "uncertain: unknown-tool"


def test_a_result_that_may_be_another_call_s_decides_nothing() -> None:
    asked = {"field": "obs:load.output", "expected": {}}
    flagged = trace(call("load", output={}, flags=["ambiguous-pairing"]))
    assert verdict(ask("state-equals", asked, flagged)) == "uncertain: ambiguous-order"
    twice = trace(call("load", output={}, id="x"), call("load", output={"a": 1}, id="x-2"))
    assert ask("state-equals", asked, twice).state == "fail"


@pytest.mark.parametrize("unordered", [False, True])
def test_ten_thousand_elements_and_calls_are_compared(unordered: bool) -> None:
    rows = [{"id": n} for n in range(10_000)]
    found = rows[::-1] if unordered else rows
    assert compared({"rows": found}, {"rows": rows}, unordered=unordered) == "pass"
    about = trace(*(call("load", output={"n": 1}) for _ in range(10_000)))
    asked = {"field": "obs:load.output", "expected": {"n": 1}}
    assert ask("state-equals", asked, about).state == "pass"


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({}, "needs either expected or other"),
        ({"expected": {}, "other": "input.state"}, "needs either expected or other"),
        ({"expected": {}, "ignore_paths": ["a..b"]}, "does not parse"),
        ({"expected": {}, "unordered": ["a[x]"]}, "does not parse"),
        ({"expected": {}, "ignore_key": ["a"]}, "ignore_key"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(params: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Row("state-equals", {"field": "output.state", **params})
    assert told in str(caught.value)

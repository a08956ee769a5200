"""json-compare: a value beside a literal or another value; a text is never a number."""

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


def paid(value: Any, **kw: Any) -> Trace:
    return trace(call("pay", output={} if value is MISSING else {"n": value}, **kw))


def compared(found: Any, op: str, **params: Any) -> str:
    asked = {"field": "obs:pay.output.n", "op": op, **params}
    return verdict(ask("json-compare", asked, paid(found)))


@pytest.mark.parametrize(
    ("value", "op", "right", "expected"),
    [
        (5, "==", 5, "pass"),
        (5, "==", 5.0, "pass"),
        (5, "!=", 5, "fail"),
        (5, "!=", 6, "pass"),
        ("5", "==", 5, UNSURE),
        ("5", "!=", 5, UNSURE),
        ("five", "==", 5, UNSURE),
        (True, "==", 1, UNSURE),
        ("é", "==", "é", "pass"),
        ("", "==", "", "pass"),
        ([], "==", [], "pass"),
        ({"a": [1, "2"]}, "==", {"a": [1, "2"]}, "pass"),
        ({"a": [1, "2"]}, "==", {"a": [1, 2]}, "fail"),
        (None, "==", None, "pass"),
        (5, "==", None, "fail"),
        (5, "!=", None, "pass"),
        (None, "==", 5, UNSURE),
        (None, "<", 5, UNSURE),
        (4, "<", 5, "pass"),
        (5, "<", 5, "fail"),
        (5, "<=", 5, "pass"),
        (5.5, ">", 5, "pass"),
        (5, ">=", 5.5, "fail"),
        ("9", "<", 10, UNSURE),
        (True, "<", 10, UNSURE),
        ([1], "<", 10, UNSURE),
        (10**400, ">", 1.5, "pass"),
        ("2024-05-15", "<", "2024-05-16", "pass"),
        ("2024-05-15", ">=", "2024-05-16", "fail"),
        ("2024-05-15T10:00", "<", "2024-05-16", UNSURE),
        ("2024-05-15T10:00Z", "<", "2024-05-15T10:00+01:00", "fail"),
        ("soon", "<", "2024-05-16", UNSURE),
        (3, "between", [3, 5], "pass"),
        (6, "between", [3, 5], "fail"),
        ("3", "between", [3, 5], UNSURE),
        ("b", "in", ["a", "b"], "pass"),
        ("c", "in", ["a", "b"], "fail"),
        ("c", "in", [], "fail"),
        (5, "in", ["5", 6], UNSURE),
        ("ell", "in", "hello", "pass"),
        (5, "in", "456", UNSURE),
        (["a", 7], "contains", 7, "pass"),
        (["a"], "contains", 7, "fail"),
        ([], "contains", 7, "fail"),
        ({"k": 1}, "contains", "k", "pass"),
        ("Grüße 🙂", "contains", "🙂", "pass"),
        (7, "contains", 7, UNSURE),
        (NAN, "==", 5, UNSURE),
        (NAN, "<", 5, UNSURE),
        ([NAN], "contains", 5, UNSURE),
        (MISSING, "==", 5, "uncertain: missing-field"),
    ],
)  # fmt: skip
def test_the_operators_decide_as_the_table_says(
    value: Any, op: str, right: Any, expected: str
) -> None:
    assert compared(value, op, value=right) == expected


@pytest.mark.parametrize(
    ("value", "op", "right", "tolerance", "expected"),
    [
        (0.1 + 0.2, "==", 0.3, {}, "fail"),
        (0.1 + 0.2, "==", 0.3, {"abs_tolerance": 1e-9}, "pass"),
        (152.67, "==", 152.66, {"abs_tolerance": 0.01}, "pass"),
        (152.68, "==", 152.66, {"abs_tolerance": 0.01}, "fail"),
        (152.67, "!=", 152.66, {"abs_tolerance": 0.01}, "fail"),
        (101, "==", 100, {"rel_tolerance": 0.01}, "pass"),
        (102, "==", 100, {"relTolerance": 0.01}, "fail"),
        (10.004, "<=", 10, {"abs_tolerance": 0.005}, "pass"),
        (-1, "==", 1, {"rel_tolerance": 0.5}, "fail"),
        (5.2, "between", [1, 5], {"abs_tolerance": 0.2}, "pass"),
    ],
)
def test_a_tolerance_widens_what_is_equal(
    value: Any, op: str, right: Any, tolerance: dict[str, float], expected: str
) -> None:
    assert compared(value, op, value=right, **tolerance) == expected


OTHER = {"field": "obs:pay.input.n", "op": "<=", "other": "obs:quote.output.n"}


@pytest.mark.parametrize(
    ("quotes", "other", "expected"),
    [
        ([5], "obs:quote.output.n", "pass"),
        ([4], "obs:quote.output.n", "fail"),
        ([5, 4], "obs:quote.output.n", "fail"),
        ([5, 4], "obs:quote@any.output.n", "pass"),
        ([4, 5], "obs:quote@last.output.n", "pass"),
        ([4, 5], "obs:quote@first.output.n", "fail"),
        (["5"], "obs:quote.output.n", UNSURE),
        ([4, "5"], "obs:quote.output.n", "fail"),
        ([9, 7, 8, 5], "obs:quote.output.n", "pass"),
        ([9, 4, 8, 7], "obs:quote.output.n", "fail"),
        ([3, 4, 9, 2], "obs:quote@any.output.n", "pass"),
        ([3, 4, 1, 2], "obs:quote@any.output.n", "fail"),
        ([NAN], "obs:quote.output.n", UNSURE),
        ([None, 5], "obs:quote.output.n", UNSURE),
        ([MISSING], "obs:quote.output.n", "uncertain: missing-field"),
        ([], "obs:quote.output.n", "uncertain: missing-field"),
    ],
)
def test_a_value_is_compared_with_every_value_of_another_place(
    quotes: list[Any], other: str, expected: str
) -> None:
    events = [call("quote", output={} if n is MISSING else {"n": n}) for n in quotes]
    about = trace(*events, call("pay", {"n": 5}, {}))
    assert verdict(ask("json-compare", {**OTHER, "other": other}, about)) == expected


def test_what_decides_is_cited_on_both_sides_the_field_first() -> None:
    about = trace(call("quote", output={"n": 4}), call("pay", {"n": 5}, {}))
    decision = ask("json-compare", OTHER, about)
    assert [(ref.obs, ref.path, ref.value) for ref in decision.refs] == [
        ("c1", "input.n", "5"),
        ("c0", "output.n", "4"),
    ]


@pytest.mark.parametrize("on_missing", ["uncertain", "fail", "na"])
@pytest.mark.parametrize("quotes", [[], [{}]])
def test_a_missing_side_is_what_on_missing_says(on_missing: str, quotes: list[Any]) -> None:
    about = trace(*(call("quote", output=o) for o in quotes), call("pay", {"n": 5}, {}))
    assert ask("json-compare", {**OTHER, "on_missing": on_missing}, about).state == on_missing


def test_a_tool_that_was_not_called_is_na_if_known_and_uncertain_if_not() -> None:
    params = {"field": "obs:pay.output.n", "op": "==", "value": 1}
    about = trace(said("user", "hello"))
    assert verdict(ask("json-compare", params, about, inventory=["pay"])) == "na"
    assert verdict(ask("json-compare", params, about)) == "uncertain: unknown-tool"


def test_a_result_that_may_be_another_call_s_decides_nothing() -> None:
    flagged = call("quote", output={"n": 5}, flags=["ambiguous-pairing"])
    about = trace(flagged, call("pay", {"n": 5}, {}))
    assert verdict(ask("json-compare", OTHER, about)) == "uncertain: ambiguous-order"
    mine = {"field": "obs:quote.output.n", "op": "==", "value": 5}
    assert verdict(ask("json-compare", mine, about)) == "uncertain: ambiguous-order"


@pytest.mark.parametrize(
    ("quotes", "op", "quantifier", "expected"),
    [
        ([1, 5, 9, 5], "==", "@any", "pass"),
        ([1, 4, 6, 9], "==", "@any", "fail"),
        ([5, 5.0, 5, 5], "==", "", "pass"),
        ([5, 5, 5, 6], "==", "", "fail"),
        ([1, 4, 6, 9], "!=", "", "pass"),
        ([1, 4, 5, 9], "!=", "", "fail"),
        ([5, 5, 4, 5], "!=", "@any", "pass"),
        ([5, 5, 5, 5], "!=", "@any", "fail"),
    ],
)
def test_of_many_values_all_count(
    quotes: list[float], op: str, quantifier: str, expected: str
) -> None:
    events = [call("quote", output={"n": n}) for n in quotes]
    params = {**OTHER, "op": op, "other": f"obs:quote{quantifier}.output.n"}
    assert ask("json-compare", params, trace(*events, call("pay", {"n": 5}, {}))).state == expected


def test_calls_that_share_an_id_are_both_compared() -> None:
    about = trace(call("pay", output={"n": 1}, id="x"), call("pay", output={"n": 9}, id="x-2"))
    params = {"field": "obs:pay.output.n", "op": "<", "value": 5}
    assert ask("json-compare", params, about).state == "fail"


def test_ten_thousand_calls_are_compared() -> None:
    about = trace(*(call("pay", output={"n": n}) for n in range(10_000)))
    params = {"field": "obs:pay.output.n", "op": "<", "value": 9_999}
    decision = ask("json-compare", params, about)
    assert (decision.state, decision.refs[0].obs) == ("fail", "c9999")


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"op": "==", "value": 1, "other": "input.n"}, "needs either value or other"),
        ({"op": "=="}, "needs either value or other"),
        ({"op": "=", "value": 1}, "Input should be '=='"),
        ({"op": "between", "value": [1]}, "between needs value: [low, high]"),
        ({"op": "<", "value": "7"}, "< needs a number or an ISO date"),
        ({"op": "in", "value": 7}, "in needs a list"),
        ({"op": "<", "value": 7, "abs_tolerance": 1}, "tolerances go with"),
        ({"op": "==", "value": 7, "abs_tolerance": -1}, "greater than or equal to 0"),
        ({"op": "==", "value": 7, "tolerance": 1}, "tolerance"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(params: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Row("json-compare", {"field": "output.n", **params})
    assert told in str(caught.value)

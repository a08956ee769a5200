"""duplicate-writes: what was done is not done a second time."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from helix.model.jsontext import NonFinite
from helix.model.trace import Observation
from tests.checks.builder import NOT_RECORDED, Row, ask, call, said, trace, verdict

PARAMS: dict[str, Any] = {"tool": "pay"}
BY_ORDER = {**PARAMS, "key": "input.order"}
NAN = NonFinite("NaN")
OK, FAILED = {"success": True}, {"success": False}


def pay(order: Any = "W1", output: Any = OK, **kw: Any) -> Observation:
    more = kw.pop("more", {})
    return call("pay", {"order": order, **more}, output, **kw)


def broken(order: str = "W1") -> Observation:
    failed = call("pay", {"order": order})
    failed.error = "503"
    return failed


UNPAIRED = {"flags": ["ambiguous-pairing"]}


@pytest.mark.parametrize(
    ("events", "params", "expected"),
    [
        ([pay()], PARAMS, "pass"),
        ([pay(), pay("W2")], PARAMS, "pass"),
        ([pay(), pay()], PARAMS, "fail"),
        ([pay("W2"), pay(), pay("W2")], PARAMS, "fail"),
        ([pay(1), pay(1.0)], PARAMS, "fail"),
        ([pay(1), pay("1")], PARAMS, "pass"),
        ([pay("Grüße 🙂"), pay("Grüße 🙂")], PARAMS, "fail"),
        ([pay({}), pay({})], PARAMS, "fail"),
        ([pay(), call("refund", {"order": "W1"}, OK)], {"tool": "*"}, "pass"),
        ([pay(), call("refund", {"order": "W1"}, OK)], {"tool": ["pay", "refund"]}, "pass"),
        ([pay(output=FAILED), pay()], PARAMS, "pass"),
        ([broken(), pay()], PARAMS, "pass"),
        ([pay(), pay(output=FAILED)], PARAMS, "pass"),
        ([pay(), pay(output={"error": "gone"})], PARAMS, "pass"),
        ([pay(output={"state": "no"}), pay()],
         {**PARAMS, "failed_where": {"path": "output.state", "equals": "no"}}, "pass"),
        ([pay(output={"state": 1}), pay()],
         {**PARAMS, "failed_where": {"path": "output.state", "equals": "1"}},
         "uncertain: not-decidable"),
        ([pay(more={"n": 1}), pay(more={"n": 2})], PARAMS, "pass"),
        ([pay(more={"n": 1}), pay(more={"n": 2})], {**PARAMS, "ignore": "input.n"}, "fail"),
        ([pay(more={"n": 1}), pay(more={"n": 2})], BY_ORDER, "fail"),
        ([pay(more={"n": 1}), pay(more={"n": 2})], {**PARAMS, "key": ["input.order", "input.n"]},
         "pass"),
        ([call("pay", {}, OK), call("pay", {}, OK)], PARAMS, "fail"),
        ([call("pay", {}, OK), call("pay", {}, OK)], BY_ORDER, "uncertain: missing-field"),
        ([call("pay", {}, OK), pay()], BY_ORDER, "pass"),
        ([pay(NAN), pay(NAN)], PARAMS, "uncertain: not-decidable"),
        ([pay(flags=["redacted"]), pay(flags=["redacted"])], PARAMS, "uncertain: not-decidable"),
        ([pay(output=NOT_RECORDED), pay()], PARAMS, "uncertain: missing-field"),
        ([pay(output=NOT_RECORDED), pay(), pay()], PARAMS, "fail"),
        ([pay(output=NOT_RECORDED), pay("W2")], PARAMS, "pass"),
        ([pay(**UNPAIRED), pay(**UNPAIRED)], PARAMS, "fail"),
        ([pay(**UNPAIRED), pay(output=FAILED, **UNPAIRED)], PARAMS, "uncertain: ambiguous-order"),
        ([pay(flags=["ambiguous-order"]), pay(flags=["ambiguous-order"])], PARAMS, "fail"),
        ([pay(id="x"), pay(id="x-2")], PARAMS, "fail"),
    ],
)  # fmt: skip
def test_two_calls_are_decided_as_the_table_says(
    events: list[Any], params: dict[str, Any], expected: str
) -> None:
    assert verdict(ask("duplicate-writes", params, trace(*events))) == expected


def test_the_second_call_is_cited_first() -> None:
    decision = ask("duplicate-writes", PARAMS, trace(pay(), pay("W2"), pay()))
    assert [ref.obs for ref in decision.refs] == ["c2", "c0"]
    assert "c2 (pay) is the same as c0, and both succeeded" in decision.detail


def test_a_tool_that_was_not_called_is_na_if_known_and_uncertain_if_not() -> None:
    about = trace(said("user", "hello"))
    assert verdict(ask("duplicate-writes", PARAMS, about, inventory=["pay"])) == "na"
    assert verdict(ask("duplicate-writes", PARAMS, about)) == "uncertain: unknown-tool"
    some = {"tool": ["pay", "refnd"]}
    assert verdict(ask("duplicate-writes", some, trace(pay()))) == "uncertain: unknown-tool"


def test_ten_thousand_calls_are_compared() -> None:
    about = trace(*(pay(n) for n in range(9_999)), pay(0))
    decision = ask("duplicate-writes", PARAMS, about)
    assert (decision.state, decision.refs[0].obs) == ("fail", "c9999")


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"key": "output.id"}, "must be a path of the arguments"),
        ({"key": "input.id", "ignore": "input.n"}, "key and ignore exclude each other"),
        ({"keys": "input.id"}, "keys"),
        ({"failed_where": {"path": "output.x"}}, "needs exactly one of"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(params: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Row("duplicate-writes", {**PARAMS, **params})
    assert told in str(caught.value)

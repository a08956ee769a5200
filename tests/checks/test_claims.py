"""claimed-action: what a reply says was done has a successful call behind it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from helix.model.jsontext import NonFinite
from helix.model.trace import Observation, Trace
from tests.checks.builder import NOT_RECORDED, Row, ask, call, said, trace, verdict

NAN = NonFinite("NaN")
MISSING: Any = object()
CANCELLED = "I have cancelled the order."


def did(tool: str, output: Any = NOT_RECORDED, **kw: Any) -> Observation:
    return call(tool, {}, {"success": True} if output is NOT_RECORDED else output, **kw)


def replied(reply: Any, *events: Observation) -> Trace:
    output = {} if reply is MISSING else {"response": reply}
    return trace(said("user", "cancelled, please"), *events, output=output)


def claimed(reply: Any, *events: Observation, **params: Any) -> str:
    return verdict(ask("claimed-action", params, replied(reply, *events)))


UNPAIRED = {"flags": ["ambiguous-pairing"]}


@pytest.mark.parametrize(
    ("reply", "events", "expected"),
    [
        (CANCELLED, [did("cancel_order")], "pass"),
        (CANCELLED, [did("revokeBooking")], "pass"),
        (CANCELLED, [did("cancel_order", {"success": False})], "fail"),
        (CANCELLED, [did("cancel_order", {"error": "gone"})], "fail"),
        (CANCELLED, [did("cancel_order", {"success": False}), did("cancel_order")], "pass"),
        (CANCELLED, [did("cancel_order", None)], "uncertain: missing-field"),
        (CANCELLED, [did("get_cancelled_orders")], "uncertain: not-decidable"),
        (CANCELLED, [did("send_mail")], "uncertain: not-decidable"),
        (CANCELLED, [], "uncertain: not-decidable"),
        (CANCELLED, [did("cancel_order", **UNPAIRED)], "pass"),
        (CANCELLED, [did("cancel_order", **UNPAIRED), did("look", {"ok": False}, **UNPAIRED)],
         "uncertain: ambiguous-order"),
        (CANCELLED, [did("cancel_order", flags=["ambiguous-order"])],
         "uncertain: ambiguous-order"),
        (CANCELLED, [did("cancel_order", id="x"), did("cancel_order", id="x-2")], "pass"),
        ("I have issued a refund.", [did("issue_refund")], "pass"),
        ("I have inspected the item.", [did("inspect_item")], "pass"),
        ("A refund has been issued.", [did("issueRefund")], "pass"),
        ("I have issued a voucher.", [did("issue_refund")], "uncertain: not-decidable"),
        ("I have checked your order.", [did("get_order")], "pass"),
        ("I have checked your order.", [], "uncertain: not-decidable"),
        ("I have checked your order.", [did("get_order", {"ok": False})], "fail"),
        ("I have checked with the depot.", [did("get_order")], "uncertain: not-decidable"),
        ("Your order has been refunded.", [did("look", {"state": "refunded"})], "pass"),
        ("I have refunded your order.", [did("look", {"state": "refunded"})],
         "uncertain: not-decidable"),
        (f"{CANCELLED} I sent a mail.", [did("cancel_order"), did("send_mail")], "pass"),
        (f"{CANCELLED} I sent a mail.",
         [did("cancel_order"), did("send_mail", {"ok": False})], "fail"),
        (f"{CANCELLED} I sent a fax.", [did("cancel_order")], "uncertain: not-decidable"),
        ("I have not cancelled it.", [], "na"),
        ("Grüße 🙂", [], "na"),
        ("", [], "na"),
        (MISSING, [], "uncertain: missing-field"),
        (None, [], "uncertain: not-decidable"),
        (7, [], "uncertain: not-decidable"),
        ([CANCELLED], [], "uncertain: not-decidable"),
        (NAN, [], "uncertain: not-decidable"),
    ],
)  # fmt: skip
def test_a_claim_is_decided_as_the_table_says(
    reply: Any, events: list[Observation], expected: str
) -> None:
    assert claimed(reply, *events) == expected


@pytest.mark.parametrize(
    ("reply", "params", "expected"),
    [
        (CANCELLED, {"verbs": {"cancel": "close_case"}}, "pass"),
        (CANCELLED, {"verbs": {"cancel": ["close_case", "x"]}}, "pass"),
        (CANCELLED, {"verbs": {"cancel": "close_cases"}}, "uncertain: unknown-tool"),
        (CANCELLED, {"verbs": {"cancel": "*"}}, "pass"),
        (CANCELLED, {"verbs": {"cancel": []}}, "fail"),
        (CANCELLED, {"ignore": ["cancel"]}, "na"),
        ("I inspected it.", {"ignore": ["inspect"]}, "na"),
        ("I inspected it.", {"verbs": {"inspect": "close_case"}}, "pass"),
        (CANCELLED, {"unmapped": "fail"}, "fail"),
        (CANCELLED, {"unmapped": "ignore"}, "na"),
        ("A courier will collect it.", {"unmapped": "fail"}, "na"),
        ("A courier will collect it.", {"unmapped": "fail", "arrangements": True}, "fail"),
        ("I closed the case. I also closed the other.", {}, "pass"),
        ("I closed the case. I also closed the other.", {"further": "another"}, "fail"),
        ("I also closed the case.", {"further": "another"}, "pass"),
        ("I closed the case.", {"failed_where": {"path": "output.n", "equals": 0}}, "fail"),
        ("I closed the case.", {"failed_where": {"path": "output.n", "equals": "0"}},
         "uncertain: not-decidable"),
    ],
)  # fmt: skip
def test_verbs_and_what_no_tool_does_are_as_the_row_says(
    reply: str, params: dict[str, Any], expected: str
) -> None:
    known = {**params, "verbs": {**params.get("verbs", {})}}
    assert claimed(reply, did("close_case", {"n": 0}), **known) == expected


@pytest.mark.parametrize("on_missing", ["uncertain", "fail", "na"])
def test_a_missing_reply_is_what_on_missing_says(on_missing: str) -> None:
    assert ask("claimed-action", {"on_missing": on_missing}, replied(MISSING)).state == on_missing


def test_a_known_tool_that_was_not_called_makes_the_claim_false() -> None:
    decision = ask("claimed-action", {}, replied(CANCELLED), inventory=["cancel_order"])
    assert decision.state == "fail" and "no call of cancel_order came before it" in decision.detail
    assert [ref.scan.channel for ref in decision.refs if ref.scan] == ["obs:cancel_order.name"]


def test_a_reply_that_is_a_call_rests_on_calls_before_it() -> None:
    params = {"field": "obs:reply.input.text"}
    reply, deed = call("reply", {"text": CANCELLED}, {}, id="r"), did("cancel_order", id="d")
    assert ask("claimed-action", params, trace(deed, reply)).state == "pass"
    decision = ask("claimed-action", params, trace(reply, deed))
    assert (decision.state, decision.refs[0].obs, decision.refs[0].value) == (
        "fail", "r", CANCELLED,
    )  # fmt: skip
    beside = trace(said("assistant", "", id="t"), did("cancel_order", turn="t"),
                   call("reply", {"text": CANCELLED}, {}, turn="t"))  # fmt: skip
    assert verdict(ask("claimed-action", params, beside)) == "uncertain: ambiguous-order"
    assert verdict(ask("claimed-action", params, trace(deed))) == "uncertain: unknown-tool"
    assert ask("claimed-action", params, trace(deed), inventory=["reply"]).state == "na"


def test_the_sentence_of_the_claim_is_cited() -> None:
    about = replied("Hello. " * 50 + CANCELLED + " Bye." * 50, did("send_mail"))
    decision = ask("claimed-action", {"unmapped": "fail"}, about)
    assert CANCELLED in str(decision.refs[0].value)


def test_ten_thousand_calls_are_searched() -> None:
    about = replied(CANCELLED, *(did("look", {"n": n}) for n in range(10_000)))
    assert claimed(CANCELLED, *about.observations, unmapped="fail") == "fail"
    late = replied(CANCELLED, *about.observations, did("cancel_order"))
    assert ask("claimed-action", {}, late).state == "pass"


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"verbs": {"Cancel": "x"}}, "single words in lower case"),
        ({"verbs": {"cancelled": "x"}}, "write 'cancel'"),
        ({"verbs": {"sent": "x"}}, "write 'send'"),
        ({"verbs": {"cancel": 7}}, "valid string"),
        ({"unmapped": "pass"}, "Input should be 'uncertain'"),
        ({"verb": {}}, "verb"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(params: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Row("claimed-action", params)
    assert told in str(caught.value)

"""reply-grounding: what a reply states was returned or said before."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from helix.model.jsontext import NonFinite
from helix.model.trace import Trace
from tests.checks.builder import NOT_RECORDED, Row, ask, call, said, trace, verdict

NAN = NonFinite("NaN")
MISSING: Any = object()
FOUND = {
    "order": "ORD-20007", "total": 1234.5, "fee": "EUR 5.00", "rate": 0.15, "on": "2024-05-05",
    "due": "by May 9", "note": "ships in 3 boxes at 14:30", "title": "Blue Shirt, L",
}  # fmt: skip


def replied(reply: Any, output: Any = FOUND, **kw: Any) -> Trace:
    answer = {} if reply is MISSING else {"response": reply}
    return trace(said("user", "Where is 77 from Zoë?"), call("look", output=output, **kw),
                 output=answer)  # fmt: skip


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Order ORD-20007 costs 1.234,50 € and a fee of EUR 5.", "pass"),
        ("ord-20007 costs $1,234.50", "pass"),
        ("number 20007, a 15 % rate, 3 boxes", "pass"),
        ("You asked for 77.", "pass"),
        ("It is 5 May 2024.", "pass"),
        ("It is May 5th.", "pass"),
        ("It is due on 9 May.", "pass"),
        ('The "blue  shirt, L." is yours.', "pass"),
        ("ORD-20008 is yours", "fail"),
        ("It costs EUR 1,234.51", "fail"),
        ("The fee is $5", "fail"),
        ("A voucher of 10 EUR is yours", "fail"),
        ("4 boxes", "fail"),
        ("It is 6 May.", "fail"),
        ("It is 5 May 2023.", "fail"),
        ('The "red shirt" is yours', "fail"),
        ("ORD-20007 in 3 boxes, and 4 more", "fail"),
        ("It is due on 9 May 2024.", "uncertain: not-decidable"),
        ("Grüße 🙂, all done!", "na"),
        ("", "na"),
        ("in five days, on Tuesday at 9:15", "na"),
        (MISSING, "uncertain: missing-field"),
        (None, "uncertain: not-decidable"),
        (77, "uncertain: not-decidable"),
        (["77"], "uncertain: not-decidable"),
        (NAN, "uncertain: not-decidable"),
    ],
)
def test_a_reply_is_decided_as_the_table_says(reply: Any, expected: str) -> None:
    assert verdict(ask("reply-grounding", {}, replied(reply))) == expected


@pytest.mark.parametrize(
    ("reply", "params", "expected"),
    [
        ("EUR 9 for ORD-1111", {"kinds": ["id"]}, "fail"),
        ("EUR 9 for ORD-20007", {"kinds": ["id"]}, "pass"),
        ("on Sunday at 2:30 pm", {"kinds": ["day", "time"]}, "pass"),
        ("tomorrow at 2:30 pm", {"kinds": ["day", "time"]}, "fail"),
        ("on Sunday at 2:45 pm", {"kinds": ["day", "time"]}, "fail"),
        ("call us, 24/7", {}, "fail"),
        ("call us, 24/7", {"ignore": ["^(24|7)$"]}, "na"),
        ("77", {"sources": "obs:look.output"}, "fail"),
        ("77", {"sources": "obs:lok.output"}, "uncertain: unknown-tool"),
        ("77", {"roles": ["system"]}, "fail"),
    ],
)
def test_kinds_sources_and_what_is_ignored_are_as_the_row_says(
    reply: str, params: dict[str, Any], expected: str
) -> None:
    about = replied(reply)
    about.input = None
    assert verdict(ask("reply-grounding", params, about)) == expected


@pytest.mark.parametrize("on_missing", ["uncertain", "fail", "na"])
def test_a_missing_reply_is_what_on_missing_says(on_missing: str) -> None:
    decision = ask("reply-grounding", {"on_missing": on_missing}, replied(MISSING))
    assert decision.state == on_missing


@pytest.mark.parametrize(
    ("output", "flags", "expected"),
    [
        (NOT_RECORDED, [], "uncertain: missing-field"),
        ({"t": "…"}, ["truncated"], "uncertain: missing-field"),
        ({"t": "***"}, ["redacted"], "uncertain: missing-field"),
        ({"n": NAN}, [], "fail"),
        ({"n": 4}, ["ambiguous-order"], "uncertain: ambiguous-order"),
        ({"n": 4}, ["ambiguous-pairing"], "uncertain: ambiguous-order"),
    ],
)
def test_a_source_that_nobody_can_read_or_place_decides_nothing(
    output: Any, flags: list[str], expected: str
) -> None:
    assert verdict(ask("reply-grounding", {}, replied("4 boxes", output, flags=flags))) == expected


REPLIES = {"field": "obs:reply.input.text"}


def test_a_reply_that_is_a_call_rests_on_what_came_before_it() -> None:
    reply, look = call("reply", {"text": "4 boxes"}, {"sent": True}), call("look", output={"n": 4})
    assert ask("reply-grounding", REPLIES, trace(look, reply)).state == "pass"
    decision = ask("reply-grounding", REPLIES, trace(reply, look))
    assert decision.state == "fail" and "returned only later" in decision.detail
    beside = trace(said("assistant", "", id="t"), call("look", output={"n": 4}, turn="t"),
                   call("reply", {"text": "4 boxes"}, {}, turn="t"))  # fmt: skip
    assert verdict(ask("reply-grounding", REPLIES, beside)) == "uncertain: ambiguous-order"
    echo = trace(call("reply", {"text": "4 boxes"}, {"text": "4 boxes"}))
    assert ask("reply-grounding", REPLIES, echo).state == "fail"
    assert verdict(ask("reply-grounding", REPLIES, trace(look))) == "uncertain: unknown-tool"
    assert ask("reply-grounding", REPLIES, trace(look), inventory=["reply"]).state == "na"


def test_what_the_subject_wrote_itself_is_no_source() -> None:
    about = trace(said("assistant", "I guess 4"), call("look", {"n": 4}, {}),
                  call("draft", output="4 boxes", type="GENERATION"),
                  output={"response": "4 boxes"})  # fmt: skip
    assert ask("reply-grounding", {}, about).state == "fail"


def test_the_words_are_cited_and_their_absence_is_scanned() -> None:
    decision = ask("reply-grounding", {}, replied("x " * 150 + "EUR 10 voucher"))
    assert decision.refs[0].path == "output.response" and "EUR 10" in str(decision.refs[0].value)
    assert decision.refs[1].scan is not None
    assert 'states "EUR 10", which stands in nothing' in decision.detail


def test_ten_thousand_results_are_searched() -> None:
    looks = [call("look", output={"id": f"W{n:05}", "n": n}) for n in range(10_000)]
    about = trace(*looks, output={"response": "W09999 has 9,998 and W10000"})
    decision = ask("reply-grounding", {}, about)
    assert decision.state == "fail" and "W10000" in decision.detail


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"kinds": ["ids"]}, "Input should be 'number'"),
        ({"kinds": []}, "at least 1"),
        ({"ignore": ["["]}, "pattern must be an RE2 expression"),
        ({"field": "response"}, "must start with one of"),
        ({"kind": "id"}, "kind"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(params: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Row("reply-grounding", params)
    assert told in str(caught.value)

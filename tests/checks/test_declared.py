"""error-spans and finish-reason."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from helix.model.jsontext import NonFinite
from helix.model.trace import TOOL, Observation
from tests.checks.builder import Row, ask, call, said, trace, verdict

LOST, ODD = "uncertain: missing-field", "uncertain: not-decidable"


def span(name: str = "send", type: str = TOOL, **kw: Any) -> Observation:
    kw = {"output": {"ok": True}, **kw}
    return Observation("", 0, name, type, input={}, **kw)


def silent(name: str = "send", type: str = TOOL, **kw: Any) -> Observation:
    return Observation("", 0, name, type, input={}, **kw)


@pytest.mark.parametrize(
    ("params", "events", "expected"),
    [
        ({}, [span(), span("read", status="ok")], "pass"),
        ({}, [span(), span(error="no such user")], "fail"),
        ({}, [span(error="")], "fail"),
        ({}, [span(error="größer 文")], "fail"),
        ({}, [span(status="ERROR")], "fail"),
        ({}, [span(level="ERROR")], "fail"),
        ({}, [span(status="unset", level="WARNING")], "pass"),
        ({}, [call("send", text="Error: no such user")], "pass"),
        ({}, [silent()], LOST),
        ({}, [silent(), span(error="x")], "fail"),
        ({}, [silent(status="ok")], "pass"),
        ({}, [silent(type="GENERATION")], "pass"),
        ({"on_missing": "na"}, [silent(), span()], "pass"),
        ({"on_missing": "fail"}, [silent()], "fail"),
        ({}, [], "na"),
        ({}, [said("user", "hi")], "na"),
        ({"type": "TOOL"}, [span("chat", "GENERATION", error="x"), span()], "pass"),
        ({"type": ["TOOL", "AGENT"]}, [span("a", "AGENT", error="x"), span()], "fail"),
        ({"type": "RETRIEVER"}, [span()], "na"),
        ({"name": "send"}, [span("read", error="x"), span()], "pass"),
        ({"name": "*"}, [span("read", error="x"), span()], "fail"),
        ({"name": "wipe"}, [span()], "na"),
        ({"name": "wipr"}, [span()], "uncertain: unknown-tool"),
        ({"name": ["send", "wipr"]}, [span()], "uncertain: unknown-tool"),
        ({"name": ["send", "wipr"]}, [span(error="x")], "fail"),
        ({"name": "wipr", "type": "TOOL"}, [span()], "uncertain: unknown-tool"),
        ({}, [span(output={"x": NonFinite("NaN")})], "pass"),
        ({}, [span(error="x", flags=["ambiguous-order", "duplicate-id"])], "fail"),
    ],
)
def test_errors_are_decided_as_the_truth_table_says(
    params: dict[str, Any], events: list[Any], expected: str
) -> None:
    about = trace(*events)
    assert verdict(ask("error-spans", params, about, inventory=["wipe"])) == expected


@pytest.mark.parametrize(
    ("params", "expected"), [({}, "fail"), ({"name": "send"}, "uncertain: ambiguous-order")]
)
def test_an_error_that_may_be_another_calls_decides_where_both_are_asked(
    params: dict[str, Any], expected: str
) -> None:
    flags = ["ambiguous-pairing"]
    about = trace(span(error="x", flags=flags), span("read", flags=flags))
    assert verdict(ask("error-spans", params, about)) == expected


def test_a_fail_cites_every_field_that_declares_it() -> None:
    about = trace(span(), span(error="no user", status="error"))
    decision = ask("error-spans", {}, about)
    assert decision.detail == '1 of 2: c1 (send) declares error "no user"'
    assert [(ref.path, ref.value) for ref in decision.refs] == [
        ("error", "no user"), ("status", "error"),
    ]  # fmt: skip


def test_ten_thousand_observations() -> None:
    about = trace(*(span() for _ in range(10_000)))
    assert ask("error-spans", {}, about).state == "pass"
    about = trace(*(call("chat", output={"reason": "stop"}) for _ in range(10_000)))
    assert ask("finish-reason", {"field": "obs:chat.output.reason"}, about).state == "pass"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"reason": "stop"}, "pass"),
        ({"reason": "END_TURN"}, "pass"),
        ({"reason": "tool-calls"}, "pass"),
        ({"reason": ["stop", "tool_calls"]}, "pass"),
        ({"reason": "length"}, "fail"),
        ({"reason": "MAX_TOKENS"}, "fail"),
        ({"reason": ["stop", "content_filter"]}, "fail"),
        ({"reason": "größe"}, ODD),
        ({"reason": ["stop", "other"]}, ODD),
        ({"reason": ""}, ODD),
        ({"reason": []}, ODD),
        ({"reason": None}, ODD),
        ({"reason": 3}, ODD),
        ({"reason": {"stop": 1}}, ODD),
        ({"reason": NonFinite("NaN")}, ODD),
        ({}, LOST),
    ],
)
def test_a_reason_is_decided_as_the_truth_table_says(raw: Any, expected: str) -> None:
    about = trace(call("x", flags=["ambiguous-order"]), _raw=raw)
    assert verdict(ask("finish-reason", {"field": "raw.reason"}, about)) == expected


@pytest.mark.parametrize(
    ("params", "reason", "expected"),
    [
        ({"ended": ["length"]}, "length", "pass"),
        ({"ended": ["submitted"]}, "stop", ODD),
        ({"cut": ["exit_cost"]}, "exit-cost", "fail"),
        ({"cut": []}, "length", ODD),
        ({"onMissing": "na"}, None, ODD),
    ],
)
def test_the_lists_of_a_row_replace_the_usual_ones(
    params: dict[str, Any], reason: str | None, expected: str
) -> None:
    about = trace(metadata={"exit": reason})
    row = {"field": "metadata.exit", **params}
    assert verdict(ask("finish-reason", row, about)) == expected


def test_reasons_of_calls_follow_the_rules_of_fields() -> None:
    row = {"field": "obs:chat@last.output.reason"}
    cut, whole = {"reason": "length"}, {"reason": "stop"}
    about = trace(call("chat", output=cut, id="a"), call("chat", output=whole, id="b"))
    assert ask("finish-reason", row, about).state == "pass"
    assert ask("finish-reason", {"field": "obs:chat.output.reason"}, about).state == "fail"
    assert ask("finish-reason", row, trace(), inventory=["chat"]).state == "na"
    assert verdict(ask("finish-reason", row, trace())) == "uncertain: unknown-tool"
    loose = trace(*(call("chat", output=whole, flags=["ambiguous-order"]) for _ in "ab"))
    assert verdict(ask("finish-reason", row, loose)) == "uncertain: ambiguous-order"


@pytest.mark.parametrize(
    ("primitive", "params", "text"),
    [
        ("error-spans", {"name": []}, "at least 1 item"),
        ("error-spans", {"status": "error"}, "Extra inputs"),
        ("finish-reason", {}, "Field required"),
        ("finish-reason", {"field": "stop"}, "must start with one of"),
        ("finish-reason", {"field": "raw.x", "ended": [], "cut": []}, "in ended or in cut"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(
    primitive: str, params: dict[str, Any], text: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        Row(primitive, params)
    assert text in str(caught.value)

"""answer-after-error: a failure that stands is not passed over in the answer."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from helix.model.jsontext import NonFinite
from helix.model.trace import Observation, Trace
from tests.checks.builder import Row, ask, call, said, trace, verdict

NAN = NonFinite("NaN")
MISSING: Any = object()
SILENT = "All is well 🙂"
SORRY = "Sorry, that did not work."


def broken(tool: str = "send_mail", **kw: Any) -> Observation:
    failed = call(tool, {}, **kw)
    failed.error = "503"
    return failed


def good(tool: str = "send_mail", output: Any = None, **kw: Any) -> Observation:
    return call(tool, {}, {"ok": True} if output is None else output, **kw)


def answered(reply: Any, *events: Observation) -> Trace:
    return trace(said("user", "hi"), *events,
                 output={} if reply is MISSING else {"response": reply})  # fmt: skip


UNPAIRED = {"flags": ["ambiguous-pairing"]}


@pytest.mark.parametrize(
    ("reply", "events", "expected"),
    [
        (SILENT, [good()], "na"),
        (SILENT, [broken()], "fail"),
        (SORRY, [broken()], "pass"),
        ("I couldn’t send it.", [broken()], "pass"),
        (SILENT, [good(output={"ok": False})], "fail"),
        (SILENT, [good(output={"error": "no"})], "fail"),
        (SILENT, [broken(), good()], "na"),
        (SILENT, [good(), broken()], "fail"),
        (SILENT, [broken(), good("look")], "fail"),
        ("Sorry for the delay, I have sent the mail.", [broken()], "fail"),
        ("Sorry, I have cancelled the mail.", [broken()], "pass"),
        ("", [broken()], "fail"),
        (MISSING, [broken()], "uncertain: missing-field"),
        (None, [broken()], "uncertain: not-decidable"),
        (7, [broken()], "uncertain: not-decidable"),
        (NAN, [broken()], "uncertain: not-decidable"),
        (NAN, [good()], "na"),
        (SILENT, [call("send_mail", {})], "uncertain: missing-field"),
        (SILENT, [broken(), call("send_mail", {})], "uncertain: missing-field"),
        (SILENT, [broken(flags=["ambiguous-order"]), good()], "uncertain: ambiguous-order"),
        (SILENT, [good(**UNPAIRED), good(output={"ok": False}, **UNPAIRED)],
         "uncertain: ambiguous-order"),
        (SILENT, [broken(id="x"), good(id="x-2")], "na"),
    ],
)  # fmt: skip
def test_an_answer_is_decided_as_the_table_says(
    reply: Any, events: list[Observation], expected: str
) -> None:
    assert verdict(ask("answer-after-error", {}, answered(reply, *events))) == expected


@pytest.mark.parametrize(
    ("reply", "params", "expected"),
    [
        (SILENT, {"demand": "no-success"}, "pass"),
        ("I have sent the mail.", {"demand": "no-success"}, "fail"),
        (SILENT, {"recovery_tools": ["hand_over"]}, "na"),
        (SILENT, {"recovery_tools": ["handover"]}, "uncertain: unknown-tool"),
        (SILENT, {"tool": "hand_over"}, "na"),
        (SILENT, {"tool": ["send_mail", "hand_over"]}, "fail"),
        (SILENT, {"tool": "send_mial"}, "uncertain: unknown-tool"),
        ("Das ging leider schief.", {}, "fail"),
        ("Das ging leider schief.", {"admits": "(?i)leider"}, "pass"),
        (SILENT, {"tool": "hand_over", "failed_where": {"path": "output.n", "equals": 0}}, "fail"),
    ],
)
def test_tools_recovery_and_words_are_as_the_row_says(
    reply: str, params: dict[str, Any], expected: str
) -> None:
    about = answered(reply, broken(), good("hand_over", {"n": 0}))
    assert verdict(ask("answer-after-error", params, about)) == expected


@pytest.mark.parametrize("on_missing", ["uncertain", "fail", "na"])
def test_a_missing_answer_is_what_on_missing_says(on_missing: str) -> None:
    decision = ask("answer-after-error", {"on_missing": on_missing}, answered(MISSING, broken()))
    assert decision.state == on_missing


def test_an_answer_that_is_a_call_is_not_blamed_for_a_later_failure() -> None:
    params = {"field": "obs:reply.input.text", "tool": "send_mail"}
    reply = call("reply", {"text": SILENT}, {}, id="r")
    assert ask("answer-after-error", params, trace(reply, broken())).state == "na"
    assert ask("answer-after-error", params, trace(broken(), reply)).state == "fail"
    beside = trace(said("assistant", "", id="t"), broken(turn="t"),
                   call("reply", {"text": SILENT}, {}, turn="t"))  # fmt: skip
    assert verdict(ask("answer-after-error", params, beside)) == "uncertain: ambiguous-order"


def test_what_made_up_for_a_failure_counts_from_when_it_did() -> None:
    params = {"field": "obs:reply.input.text", "tool": "send_mail"}
    reply = call("reply", {"text": SILENT}, {})
    assert ask("answer-after-error", params, trace(broken(), reply, good())).state == "fail"
    unknown = call("hand_over", {})
    recovery = {"recovery_tools": ["hand_over"]}
    decision = ask("answer-after-error", recovery, answered(SILENT, broken(), unknown))
    assert verdict(decision) == "uncertain: missing-field"


def test_the_failure_is_cited_first() -> None:
    decision = ask("answer-after-error", {}, answered(SILENT, good("look"), broken()))
    assert [(ref.obs, ref.path) for ref in decision.refs] == [
        ("c2", "error"), ("trace-1", "output.response"),
    ]  # fmt: skip
    assert "c2 (send_mail) failed" in decision.detail


def test_no_call_is_na_and_an_unknown_tool_uncertain() -> None:
    assert verdict(ask("answer-after-error", {}, answered(SILENT))) == "na"
    params = {"tool": "send_mail"}
    assert verdict(ask("answer-after-error", params, answered(SILENT))) == "uncertain: unknown-tool"
    assert (
        ask("answer-after-error", params, answered(SILENT), inventory=["send_mail"]).state == "na"
    )


def test_ten_thousand_failures_are_looked_at() -> None:
    about = answered(SILENT, *(broken() for _ in range(10_000)))
    assert ask("answer-after-error", {}, about).state == "fail"
    about = answered(SILENT, *(broken() for _ in range(10_000)), good())
    assert ask("answer-after-error", {}, about).state == "na"


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"demand": "say"}, "Input should be 'admit'"),
        ({"admits": "("}, "pattern must be an RE2 expression"),
        ({"tools": "x"}, "tools"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(params: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Row("answer-after-error", params)
    assert told in str(caught.value)

"""tool-output-failure and recovery-after-failure."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from helix.model.jsontext import NonFinite
from helix.model.trace import Message, Observation
from tests.checks.builder import Row, ask, call, said, trace, verdict

NAN = NonFinite("NaN")
BROKE = {"ok": False}
FINE = {"ok": True}
FLAG = {"tool": "send", "success_path": "output.ok"}
MARKER = {"tool": "send", "fail_field": "output.text", "fail_matches": r"^Error\b"}


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ([{"ok": True}], "pass"),
        ([{"ok": True}, {"ok": True}], "pass"),
        ([{"ok": True}, {"ok": False}], "fail"),
        ([{"ok": True}, {}], "uncertain: missing-field"),
        ([{"ok": False}, {}], "fail"),
        ([None], "uncertain: missing-field"),
        ([{"ok": "true"}], "uncertain: not-decidable"),
        ([{"ok": ""}], "uncertain: not-decidable"),
        ([{"ok": None}], "uncertain: not-decidable"),
        ([{"ok": 1}], "uncertain: not-decidable"),
        ([{"ok": NAN}], "uncertain: not-decidable"),
        ([], "na"),
    ],
)
def test_a_success_flag_must_be_true_on_every_call(outputs: list[Any], expected: str) -> None:
    about = trace(said("user", "go"), *(call("send", output=output) for output in outputs))
    assert verdict(ask("tool-output-failure", FLAG, about, inventory=["send"])) == expected


@pytest.mark.parametrize(
    ("text", "on_missing", "expected"),
    [
        ("Error: no such user", "uncertain", "fail"),
        ("Errors are rare", "uncertain", "pass"),
        ("Erreur: réseau", "uncertain", "pass"),
        ('{"id": 1}', "uncertain", "uncertain: missing-field"),
        ('{"id": 1}', "fail", "fail"),
        ('{"id": 1}', "na", "na"),
        ('{"id": 1}', "pass", "pass"),
        ("", "uncertain", "pass"),
    ],
)
def test_a_failure_marker_must_be_on_no_call(text: str, on_missing: str, expected: str) -> None:
    params = {**MARKER, "on_missing": on_missing}
    assert verdict(ask("tool-output-failure", params, trace(call("send", text=text)))) == expected


def test_a_result_that_may_be_another_calls_is_uncertain() -> None:
    about = trace(call("send", output={"ok": True}, flags=["ambiguous-pairing"]))
    assert verdict(ask("tool-output-failure", FLAG, about)) == "uncertain: ambiguous-order"


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ([FINE, FINE], "pass"),
        ([BROKE, BROKE], "fail"),
        ([FINE, BROKE], "uncertain: ambiguous-order"),
        ([FINE, {}], "uncertain: ambiguous-order"),
        ([FINE, None], "uncertain: ambiguous-order"),
    ],
)
def test_results_that_may_be_swapped_decide_only_where_they_say_the_same(
    outputs: list[Any], expected: str
) -> None:
    about = trace(*(call("send", output=o, flags=["ambiguous-pairing"]) for o in outputs))
    assert verdict(ask("tool-output-failure", FLAG, about)) == expected


@pytest.mark.parametrize(
    ("tools", "outputs", "expected"),
    [
        ("send", [], "uncertain: unknown-tool"),
        (["send", "post"], [{"ok": True}], "uncertain: unknown-tool"),
        (["send", "post"], [{"ok": False}], "fail"),
        ("*", [{"ok": True}], "pass"),
        ("*", [], "na"),
    ],
)
def test_a_tool_that_nobody_knows_can_spoil_a_pass_and_never_a_fail(
    tools: Any, outputs: list[Any], expected: str
) -> None:
    about = trace(said("user", "go"), *(call("send", output=output) for output in outputs))
    params = {"tool": tools, "success_path": "output.ok"}
    assert verdict(ask("tool-output-failure", params, about)) == expected


RECOVERY: dict[str, Any] = {
    "fail_field": "output.ok",
    "fail_equals": False,
    "recovery_tools": ["retry"],
}


def retry(**kw: Any) -> Observation:
    return call("retry", output=FINE, **kw)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([call("send", output=BROKE), retry()], "pass"),
        ([retry(), call("send", output=BROKE)], "fail"),
        ([call("send", output=BROKE)], "fail"),
        ([call("send", output=BROKE), retry(), call("send", output=BROKE)], "fail"),
        ([call("send", output=BROKE), call("send", output=BROKE), retry()], "pass"),
        ([call("send", output=FINE)], "na"),
        ([said("user", "hi")], "na"),
        ([call("send", output={}), call("send", output=FINE)], "na"),
        ([call("send", output={})], "uncertain: missing-field"),
        ([call("send")], "uncertain: missing-field"),
        ([call("send"), retry()], "pass"),
        ([call("send", output={"ok": NAN})], "uncertain: not-decidable"),
        ([call("send", output={"ok": "false"})], "uncertain: not-decidable"),
        ([call("send", output={"ok": "no"})], "na"),
        ([call("send", output=BROKE, flags=["ambiguous-pairing"])], "uncertain: ambiguous-order"),
        (
            [call("send", output=BROKE, flags=["ambiguous-order"]), retry()],
            "uncertain: ambiguous-order",
        ),
        (
            [said("assistant", "", id="t"), call("send", output=BROKE, turn="t"), retry(turn="t")],
            "uncertain: ambiguous-order",
        ),
        (
            [
                said("assistant", "", id="t"),
                call("send", output=BROKE, turn="t", times=(1, 2)),
                retry(turn="t", times=(2, 3)),
            ],
            "pass",
        ),
    ],
)
def test_every_failure_needs_a_later_recovery(
    events: list[Observation | Message], expected: str
) -> None:
    about = trace(*events)
    assert verdict(ask("recovery-after-failure", RECOVERY, about, inventory=["retry"])) == expected


@pytest.mark.parametrize(
    ("on_missing", "expected"),
    [(None, "uncertain: missing-field"), ("na", "na"), ("fail", "fail")],
)
def test_a_failure_marker_that_no_result_has_proves_nothing(
    on_missing: str | None, expected: str
) -> None:
    typo = {**RECOVERY, "fail_field": "output.oj"}
    params = typo if on_missing is None else {**typo, "on_missing": on_missing}
    about = trace(call("send", output=BROKE))
    assert verdict(ask("recovery-after-failure", params, about, inventory=["retry"])) == expected


def test_the_same_tool_again_is_a_recovery_where_the_suite_says_so() -> None:
    params = {**RECOVERY, "recovery_tools": ["@same"]}
    again = trace(call("send", output=BROKE), call("other", output=FINE), call("send", output=FINE))
    assert ask("recovery-after-failure", params, again).state == "pass"
    other = trace(call("send", output=BROKE), call("other", output=FINE))
    assert ask("recovery-after-failure", params, other).state == "fail"


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (said("assistant", "I could not send it."), "pass"),
        (said("assistant", "Done!"), "fail"),
        (said("user", "could not"), "fail"),
        (call("send", output={"id": 7}), "pass"),
        (call("send", output=BROKE), "fail"),
    ],
)
def test_a_message_or_a_fitting_call_can_be_the_recovery(
    event: Observation | Message, expected: str
) -> None:
    params = {
        **RECOVERY,
        "recovery": [
            {"message": "assistant", "matches": "could not"},
            {"tool": "send", "where": {"path": "output.id", "exists": True}},
        ],
    }
    about = trace(call("send", output=BROKE), event)
    assert ask("recovery-after-failure", params, about, inventory=["retry"]).state == expected


def test_an_unrecovered_failure_is_uncertain_where_the_recovery_tool_is_unknown() -> None:
    about = trace(call("send", output=BROKE))
    decision = ask("recovery-after-failure", RECOVERY, about)
    assert verdict(decision) == "uncertain: unknown-tool"


@pytest.mark.parametrize("on_missing", ["uncertain", "fail"])
def test_a_missing_marker_counts_as_on_missing_says(on_missing: str) -> None:
    params = {**RECOVERY, "on_missing": on_missing}
    about = trace(call("send", output={}))
    assert ask("recovery-after-failure", params, about, inventory=["retry"]).state == on_missing


def test_a_failure_cites_its_marker_and_the_tools_that_were_not_called() -> None:
    decision = ask(
        "recovery-after-failure", RECOVERY, trace(call("send", output=BROKE)), seen=["retry"]
    )
    marker, absence = decision.refs
    assert (marker.obs, marker.path, marker.value) == ("c0", "output.ok", "false")
    assert absence.scan is not None
    assert absence.scan.channel == "obs:retry.name"


@pytest.mark.parametrize(
    ("recovery", "expected"),
    [
        ({"tool": "retri"}, "uncertain: unknown-tool"),
        ({"message": "human"}, "uncertain: missing-field"),
        ({"message": "user"}, "fail"),
    ],
)
def test_a_recovery_that_nobody_knows_is_no_lack_of_recovery(
    recovery: dict[str, Any], expected: str
) -> None:
    params = {"fail_field": "output.ok", "fail_equals": False, "recovery": recovery}
    assert verdict(ask("recovery-after-failure", params, trace(call("send", output=BROKE)))) == (
        expected
    )


def test_ten_thousand_failures_with_one_late_recovery() -> None:
    calls = [call("send", output=BROKE) for _ in range(10_000)]
    decision = ask("recovery-after-failure", RECOVERY, trace(*calls, retry()))
    assert decision.state == "pass"


def test_ten_thousand_failures_of_one_turn_with_a_recovery_of_the_next() -> None:
    calls = [call("send", output=BROKE, turn="t") for _ in range(5_000)]
    both = [call("retry", output=FINE, turn="t") for _ in range(5_000)]
    about = trace(said("assistant", "", id="t"), *calls, *both, said("user", "?"), retry())
    assert ask("recovery-after-failure", RECOVERY, about).state == "pass"


@pytest.mark.parametrize(
    ("primitive", "params", "text"),
    [
        ("tool-output-failure", {"tool": "a"}, "either success_path or fail_field"),
        ("tool-output-failure", {**FLAG, **MARKER}, "either success_path or fail_field"),
        ("tool-output-failure", {**FLAG, "on_missing": "pass"}, "goes with fail_field"),
        ("tool-output-failure", {"tool": [], "success_path": "output.ok"}, "at least 1"),
        ("tool-output-failure", {"tool": "a", "fail_equals": 1}, "needs fail_field"),
        ("tool-output-failure", {"tool": "a", "fail_field": "output.x"}, "(got neither)"),
        ("recovery-after-failure", {**RECOVERY, "recovery_tools": []}, "recovery or both"),
        ("recovery-after-failure", {**RECOVERY, "fail_matches": "x"}, "(got both)"),
        (
            "recovery-after-failure",
            {"recovery_tools": ["a"], "fail_equals": 1},
            "needs fail_field, and",
        ),
        (
            "recovery-after-failure",
            {},
            "needs fail_field, and fail_equals or fail_matches; needs recovery_tools, recovery",
        ),
        (
            "tool-output-failure",
            {**FLAG, "on_missing": "ok"},
            "'uncertain', 'fail', 'na' or 'pass'",
        ),
    ],
)
def test_parameters_that_do_not_fit_together_are_refused(
    primitive: str, params: dict[str, Any], text: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        Row(primitive, params)
    assert text in str(caught.value)

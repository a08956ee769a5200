"""caps: counts, repeats and recorded usage."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from helix.model.jsontext import NonFinite
from helix.model.trace import TOOL, Observation
from tests.checks.builder import Row, ask, call, said, trace, verdict

LOST = "uncertain: missing-field"
ODD = "uncertain: not-decidable"


@pytest.mark.parametrize(
    ("params", "tools", "expected"),
    [
        ({"calls": 2}, ["a", "b"], "pass"),
        ({"calls": 2}, ["a", "b", "a"], "fail"),
        ({"calls": 0}, ["a"], "fail"),
        ({"calls": 2}, [], "na"),
        ({"steps": 2}, ["a"], "pass"),
        ({"steps": 2}, [], "na"),
        ({"calls_of": {"a": 1}}, ["a", "b", "b"], "pass"),
        ({"calls_of": {"a": 1}}, ["a", "a"], "fail"),
        ({"calls_of": {"a": 1}}, ["b"], "na"),
        ({"callsOf": {"größe_文": 1}}, ["größe_文"] * 2, "fail"),
        ({"calls": 3, "calls_of": {"a": 1}}, ["b"], "pass"),
        ({"retries": 1}, ["a", "b", "a"], "pass"),
        ({"retries": 1}, ["a", "b", "a", "a"], "fail"),
        ({"retries": 0}, ["a", "b"], "pass"),
        ({"retries": 0}, [], "na"),
    ],
)
def test_counts_are_decided_as_the_truth_table_says(
    params: dict[str, Any], tools: list[str], expected: str
) -> None:
    about = trace(said("user", "go"), *(call(name, {"n": 1}) for name in tools))
    assert verdict(ask("caps", params, about, inventory=["a"])) == expected


def test_steps_are_all_observations_and_calls_are_tool_calls() -> None:
    about = trace(call("chat", type="GENERATION"), call("a"), call("b", type="EVENT"))
    assert ask("caps", {"calls": 1}, about).state == "pass"
    assert ask("caps", {"steps": 2}, about).state == "fail"


@pytest.mark.parametrize(
    ("params", "usage", "expected"),
    [
        ({"tokens": 100}, {"promptTokens": 60, "completionTokens": 40}, "pass"),
        ({"tokens": 99}, {"promptTokens": 60, "completionTokens": 40}, "fail"),
        ({"tokens": 100}, {"promptTokens": 60}, LOST),
        ({"tokens": 50}, {"promptTokens": 60}, "fail"),
        ({"tokens": 100}, {}, LOST),
        ({"prompt_tokens": 5}, {"promptTokens": 5}, "pass"),
        ({"completion_tokens": 5}, {"completionTokens": 6}, "fail"),
        ({"cost_usd": 0.5}, {"costUsd": 0.5}, "pass"),
        ({"cost_usd": 0.5}, {"costUsd": 0.51}, "fail"),
        ({"cost_usd": 0}, {"costUsd": 0}, "pass"),
        ({"cost_usd": 0.5}, {"costUsd": None}, LOST),
        ({"cost_usd": 0.5}, {"costUsd": "0.1"}, ODD),
        ({"cost_usd": 0.5}, {"costUsd": True}, ODD),
        ({"cost_usd": 0.5}, {"costUsd": -1}, ODD),
        ({"cost_usd": 0.5}, {"costUsd": NonFinite("NaN")}, ODD),
        ({"latency_ms": 900.5}, {"latencyMs": 900}, "pass"),
        ({"latency_ms": 900}, {}, LOST),
        ({"latency_ms": 900, "on_missing": "na"}, {}, "na"),
        ({"latency_ms": 900, "on_missing": "fail"}, {}, "fail"),
        ({"latency_ms": 900, "cost_usd": 1}, {"costUsd": 2}, "fail"),
        ({"latency_ms": 900, "cost_usd": 1}, {"costUsd": 1}, LOST),
    ],
)
def test_usage_is_decided_as_the_truth_table_says(
    params: dict[str, Any], usage: dict[str, Any], expected: str
) -> None:
    assert verdict(ask("caps", params, trace(usage=usage))) == expected


@pytest.mark.parametrize(("cap", "expected"), [(0.4, "fail"), (0.6, "uncertain: missing-field")])
def test_a_sum_that_lacks_a_part_can_fail_and_never_pass(cap: float, expected: str) -> None:
    about = trace(usage={"costUsd": 0.5, "promptTokens": 9, "partial": ["costUsd"]})
    assert verdict(ask("caps", {"cost_usd": cap}, about)) == expected
    assert verdict(ask("caps", {"prompt_tokens": 9}, about)) == "pass"


def test_a_tool_that_nobody_knows_is_uncertain_and_hides_no_fail() -> None:
    about = trace(call("a"), call("a"))
    unknown = {"calls_of": {"b": 1}}
    assert verdict(ask("caps", unknown, about)) == "uncertain: unknown-tool"
    assert ask("caps", {**unknown, "calls": 1}, about).state == "fail"


def lost(id: str) -> Observation:
    return Observation(id, 0, "a", TOOL, input=None)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([lost("x"), lost("y")], "pass"),
        ([lost("x"), lost("y"), lost("z")], LOST),
        ([call("a", {"n": 1}), call("a", {"n": 1}), lost("x")], LOST),
        ([call("a", {"n": 1}), call("a", {"n": 2}), call("a", {"n": 3})], "pass"),
        ([call("a", {"n": NonFinite("NaN")}, id=i) for i in "xyz"], ODD),
        ([call("a", {"n": 1}), call("b"), call("a", {"n": 1.0}), call("a", {"n": 1})], "fail"),
        ([*(call("a", {"n": 1}, id=i) for i in "pqr"), lost("x")], "fail"),
    ],
)
def test_repeats_of_calls_with_unknown_arguments_are_not_known(
    events: list[Observation], expected: str
) -> None:
    assert verdict(ask("caps", {"retries": 1}, trace(*events))) == expected


def test_a_fail_cites_the_call_that_is_one_too_many() -> None:
    about = trace(*(call("a", id=f"n{at}", flags=["ambiguous-order"]) for at in range(5)))
    decision = ask("caps", {"calls": 3}, about)
    assert decision.detail == "5 tool calls, at most 3 allowed: n3 is one too many"
    assert [ref.obs for ref in decision.refs] == ["n3"]


def test_ten_thousand_calls() -> None:
    about = trace(*(call("a", {"n": n}) for n in range(10_000)))
    params = {"calls": 10_000, "steps": 10_000, "calls_of": {"a": 10_000}, "retries": 0}
    assert ask("caps", params, about).state == "pass"


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({}, "needs at least one of steps, calls"),
        ({"on_missing": "na"}, "needs at least one of"),
        ({"calls": -1}, "greater than or equal to 0"),
        ({"calls": True}, "valid integer"),
        ({"calls": "3"}, "valid integer"),
        ({"cost_usd": float("nan")}, "finite number"),
        ({"calls_of": {"a": 0}}, "greater than or equal to 1"),
        ({"call": 3}, "Extra inputs"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(params: dict[str, Any], text: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Row("caps", params)
    assert text in str(caught.value)

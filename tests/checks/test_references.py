"""ref-integrity: what is used was produced earlier."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from helix.model.jsontext import NonFinite
from helix.model.trace import Message, Observation
from tests.checks.builder import Row, ask, call, said, trace, verdict

PARAMS: dict[str, Any] = {
    "producer": ["obs:look.output", "input.prompt", "transcript[*].text"],
    "consumer": "obs:use.input.id",
}
NAN = NonFinite("NaN")


def look(output: Any, **kw: Any) -> Observation:
    return call("look", output=output, **kw)


def use(value: Any, **kw: Any) -> Observation:
    return call("use", {"id": value}, **kw)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([look({"id": "W12"}), use("W12")], "pass"),
        ([look({"deep": [{"x": "see W12, please"}]}), use("W12")], "pass"),
        ([look({"by_id": {"W12": {"n": 1}}}), use("W12")], "pass"),
        ([look({"id": 12}), use(12)], "pass"),
        ([look({"text": "order 12 is ready"}), use(12)], "pass"),
        ([look({"text": "Straße 12 für Ünal"}), use("Ünal")], "pass"),
        ([said("user", "cancel W12"), use("W12")], "pass"),
        ([look({"id": "W123"}), use("W12")], "fail"),
        ([look({"id": "xW12"}), use("W12")], "fail"),
        ([look({"price": 12.5}), use(12)], "fail"),
        ([look({"id": "w12"}), use("W12")], "fail"),
        ([use("W12"), look({"id": "W12"})], "fail"),
        ([look({}), use("W12")], "fail"),
        ([look({"id": "A1"}), look({"id": "B2"}), use("A1"), use("C3")], "fail"),
        ([look({"id": "W12"}), call("use", {})], "uncertain: missing-field"),
        ([look({"id": "W12"}), use(None)], "uncertain: not-decidable"),
        ([look({"id": "W12"}), use("")], "uncertain: not-decidable"),
        ([look({"id": True}), use(True)], "uncertain: not-decidable"),
        ([look({"id": "W12"}), use(["W12"])], "uncertain: not-decidable"),
        ([look({"id": NAN}), use(NAN)], "uncertain: not-decidable"),
        ([look(None), use("W12")], "uncertain: missing-field"),
        ([use("W12"), look(None)], "fail"),
        ([look({"id": "W12"}, flags=["ambiguous-pairing"]), use("W12")],
         "uncertain: ambiguous-order"),
        ([look({"id": "W12"}, flags=["ambiguous-order"]), use("W12")],
         "uncertain: ambiguous-order"),
        ([said("assistant", "", id="t"), look({"id": "W12"}, turn="t"), use("W12", turn="t")],
         "uncertain: ambiguous-order"),
        ([said("user", "W12"), look({"id": "W12"}, flags=["ambiguous-order"]), use("W12")], "pass"),
        ([look({"id": "W12"})], "na"),
    ],
)  # fmt: skip
def test_a_value_must_have_been_produced_earlier(
    events: list[Observation | Message], expected: str
) -> None:
    about = trace(*events, input={"prompt": "please help"})
    assert verdict(ask("ref-integrity", PARAMS, about, inventory=["look", "use"])) == expected


@pytest.mark.parametrize(
    ("producer", "consumer", "expected"),
    [
        ("input.prompt", "obs:use.input.id", "pass"),
        ("output.response", "obs:use.input.id", "fail"),
        ("obs:use.input.id", "output.response", "pass"),
        ("obs:use.output.id", "obs:use.input.id", "fail"),
        ("obs:use.input.id", "obs:use.output.id", "pass"),
    ],
)
def test_the_input_is_earliest_the_output_last_and_results_follow_arguments(
    producer: str, consumer: str, expected: str
) -> None:
    about = trace(
        call("use", {"id": "W12"}, {"id": "W12"}),
        input={"prompt": "W12"},
        output={"response": "W12"},
    )
    params = {"producer": producer, "consumer": consumer}
    assert verdict(ask("ref-integrity", params, about)) == expected


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([use("W12")], "uncertain: unknown-tool"),
        ([said("user", "hi")], "uncertain: unknown-tool"),
    ],
)
def test_a_tool_that_nobody_knows_leaves_the_row_open(
    events: list[Observation | Message], expected: str
) -> None:
    params = {"producer": "obs:look.output", "consumer": ["obs:use.input.id", "obs:usee.input.id"]}
    assert verdict(ask("ref-integrity", params, trace(*events))) == expected


@pytest.mark.parametrize("on_missing", ["uncertain", "fail", "na"])
def test_a_missing_consumer_is_what_on_missing_says(on_missing: str) -> None:
    params = {**PARAMS, "on_missing": on_missing}
    about = trace(look({"id": "W12"}), call("use", {}))
    assert ask("ref-integrity", params, about).state == on_missing


def test_a_pass_cites_the_value_and_where_it_came_from() -> None:
    about = trace(look({"note": "ask for W12 soon"}), use("W12"))
    used, made = ask("ref-integrity", PARAMS, about).refs
    assert (used.obs, used.path, used.value) == ("c1", "input.id", "W12")
    assert (made.obs, made.path, made.value) == ("c0", "output.note", "ask for W12 soon")


def test_a_fail_cites_the_value_and_a_scan_of_each_producer() -> None:
    about = trace(said("user", "hello"), look({"id": "W9"}), use("W12"), input={"prompt": "p"})
    used, *scans = ask("ref-integrity", PARAMS, about).refs
    assert used.value == "W12"
    assert [ref.scan.channel for ref in scans if ref.scan] == PARAMS["producer"]


def test_a_value_that_is_produced_later_is_cited_where_it_stands() -> None:
    about = trace(use("W12"), look({"id": "W12"}))
    decision = ask("ref-integrity", PARAMS, about)
    assert [ref.obs for ref in decision.refs] == ["c0", "c1"]
    assert "only later" in decision.detail


def test_ten_thousand_calls_are_traced() -> None:
    made = [look({"id": f"item {n}", "note": "item of the list"}) for n in range(5_000)]
    used = [use(f"item {n}") for n in range(5_000)]
    assert ask("ref-integrity", PARAMS, trace(*made, *used)).state == "pass"
    strange = [use(f"item {n + 5_000}") for n in range(5_000)]
    decision = ask("ref-integrity", PARAMS, trace(*made, *strange))
    assert decision.state == "fail"
    assert decision.detail.startswith("5000 of 5000")


@pytest.mark.parametrize("path", ["transcript[*]", "observations[0]"])
def test_a_path_without_a_field_has_no_place_in_the_order(path: str) -> None:
    with pytest.raises(ValidationError, match="must name a field of each item"):
        Row("ref-integrity", {"producer": path, "consumer": "output.response"})

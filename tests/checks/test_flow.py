"""value-flow: an argument holds what was returned or said, nothing made up."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from helix.model.jsontext import NonFinite
from helix.model.trace import Message, Observation
from tests.checks.builder import NOT_RECORDED, Row, ask, call, said, trace, verdict

PARAMS: dict[str, Any] = {"tool": "use", "argument": "input.id"}
NAN = NonFinite("NaN")


def look(output: Any, **kw: Any) -> Observation:
    return call("look", output=output, **kw)


def use(value: Any, **kw: Any) -> Observation:
    return call("use", {"id": value}, {}, **kw)


def failed(text: str) -> Observation:
    broken = call("look")
    broken.error = text
    return broken


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([look({"id": "W12"}), use("W12")], "pass"),
        ([look({"rows": [{"see": "order W12, please"}]}), use("W12")], "pass"),
        ([look({"by_id": {"W12": {}}}), use("W12")], "pass"),
        ([said("user", "cancel w12!"), use("W12")], "pass"),
        ([said("system", "the shop is W12"), use("W12")], "pass"),
        ([failed("W12 is locked"), use("W12")], "pass"),
        ([look({"n": 60.0}), use(60)], "pass"),
        ([look({"n": "EUR 1,234.50"}), use(1234.5)], "pass"),
        ([look({"n": 1234.5}), use("1.234,50 €")], "pass"),
        ([said("user", "on May 5th, 2024"), use("2024-05-05")], "pass"),
        ([look({"t": "Ünal Straße 🙂"}), use("ünal strasse 🙂")], "pass"),
        ([look({"a": 1, "b": "x"}), use({"p": ["x", 1], "q": None})], "pass"),
        ([use("W12")], "fail"),
        ([look({}), use("W12")], "fail"),
        ([look({"id": "W123"}), use("W12")], "fail"),
        ([said("assistant", "W12"), use("W12")], "fail"),
        ([call("look", {"id": "W12"}, {}), use("W12")], "fail"),
        ([call("think", output="W12", type="GENERATION"), use("W12")], "fail"),
        ([said("user", "W12", control=True), use("W12")], "fail"),
        ([use("W12"), look({"id": "W12"})], "fail"),
        ([look({"id": "W12"}), use("W12"), use("W13")], "fail"),
        ([look({"a": 1}), use({"p": 1, "q": "made up"})], "fail"),
        ([look({"n": 152.66}), use(152.67)], "fail"),
        ([use(None)], "na"),
        ([use("")], "na"),
        ([use(True)], "na"),
        ([use({})], "na"),
        ([call("use", {}, {})], "uncertain: missing-field"),
        ([use(NAN)], "uncertain: not-decidable"),
        ([look({"id": "W12"}), use("W12", flags=["redacted"])], "uncertain: not-decidable"),
        ([look(NOT_RECORDED), use("W12")], "uncertain: missing-field"),
        ([look({"t": "…"}, flags=["truncated"]), use("W12")], "uncertain: missing-field"),
        ([use("W12"), look(NOT_RECORDED)], "fail"),
        ([look({"id": "W12"}, flags=["ambiguous-pairing"]), use("W12")],
         "uncertain: ambiguous-order"),
        ([look({"id": "W12"}, flags=["ambiguous-order"]), use("W12")],
         "uncertain: ambiguous-order"),
        ([said("assistant", "", id="t"), look({"id": "W12"}, turn="t"), use("W12", turn="t")],
         "uncertain: ambiguous-order"),
        ([look({"id": "W12"}, id="x"), use("W12", id="x-2")], "pass"),
    ],
)  # fmt: skip
def test_a_value_is_decided_as_the_table_says(
    events: list[Observation | Message], expected: str
) -> None:
    assert verdict(ask("value-flow", PARAMS, trace(*events))) == expected


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"sources": "obs:look.output.id"}, "fail"),
        ({"sources": ["obs:look.output.id", "obs:look.output.other"]}, "pass"),
        ({"sources": "obs:loook.output.id"}, "uncertain: unknown-tool"),
        ({"generated": "^W"}, "fail"),
        ({"generated": ["^W"]}, "pass"),
        ({"roles": ["assistant"]}, "pass"),
    ],
)
def test_sources_and_made_up_values_are_as_the_row_says(
    params: dict[str, Any], expected: str
) -> None:
    about = trace(said("assistant", "W12"), look({"id": "A1", "other": "W12"}), use("W12"))
    if params.get("roles") or params.get("generated"):
        about = trace(said("assistant", "W12"), use("W12"))
    try:
        assert verdict(ask("value-flow", {**PARAMS, **params}, about)) == expected
    except ValidationError:
        assert params == {"generated": "^W"}


def test_the_argument_is_cited_first_and_its_absence_is_scanned() -> None:
    decision = ask("value-flow", PARAMS, trace(look({"id": "A1"}), use("W12")))
    assert (decision.refs[0].obs, decision.refs[0].path) == ("c1", "input.id")
    assert [ref.scan.channel for ref in decision.refs if ref.scan] == ["obs:*.output", "input"]


def test_a_tool_that_was_not_called_is_na_if_known_and_uncertain_if_not() -> None:
    about = trace(said("user", "hello"))
    assert verdict(ask("value-flow", PARAMS, about, inventory=["use"])) == "na"
    assert verdict(ask("value-flow", PARAMS, about)) == "uncertain: unknown-tool"
    listed = {**PARAMS, "argument": "input.ids[*]"}
    assert verdict(ask("value-flow", listed, trace(call("use", {"ids": []}, {})))) == "na"


@pytest.mark.parametrize("on_missing", ["uncertain", "fail", "na"])
def test_a_missing_argument_is_what_on_missing_says(on_missing: str) -> None:
    params = {**PARAMS, "on_missing": on_missing}
    assert ask("value-flow", params, trace(call("use", {}, {}))).state == on_missing


def test_ten_thousand_calls_are_traced() -> None:
    pairs = [e for n in range(5_000) for e in (look({"id": f"W{n:05}"}), use(f"W{n:05}"))]
    decision = ask("value-flow", PARAMS, trace(*pairs, use("W99999")))
    assert (decision.state, decision.refs[0].obs) == ("fail", "c10000")


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"argument": "output.id"}, "must be a path of the arguments"),
        ({"argument": []}, "at least 1"),
        ({"generated": ["("]}, "pattern must be an RE2 expression"),
        ({"roles": ["usr"]}, "did you mean 'user'"),
        ({"from": "input"}, "from"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(params: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Row("value-flow", {**PARAMS, **params})
    assert told in str(caught.value)

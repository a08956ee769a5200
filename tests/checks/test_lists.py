"""tool-list: allowed and denied tools."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from helix.model.jsontext import NonFinite
from tests.checks.builder import Row, ask, call, said, trace, verdict

ALLOW: dict[str, Any] = {"allow": ["search", "read"]}
DENY: dict[str, Any] = {"deny": "delete"}
BOTH = {**ALLOW, **DENY}


@pytest.mark.parametrize(
    ("params", "tools", "expected"),
    [
        (ALLOW, ["search", "read", "search"], "pass"),
        (ALLOW, ["search", "write"], "fail"),
        (ALLOW, ["Search"], "fail"),
        (ALLOW, [""], "fail"),
        (ALLOW, [], "na"),
        (DENY, ["search"], "pass"),
        (DENY, ["delete"], "fail"),
        (DENY, ["delete_all"], "pass"),
        (DENY, [], "na"),
        (BOTH, ["read"], "pass"),
        (BOTH, ["delete"], "fail"),
        ({"allow": "größe_文"}, ["größe_文"], "pass"),
    ],
)
def test_a_list_is_decided_as_the_truth_table_says(
    params: dict[str, Any], tools: list[str], expected: str
) -> None:
    about = trace(said("user", "go"), *(call(name) for name in tools))
    assert verdict(ask("tool-list", params, about, inventory=["delete"])) == expected


@pytest.mark.parametrize(
    ("params", "tools", "expected"),
    [
        (DENY, ["search"], "uncertain: unknown-tool"),
        (DENY, [], "uncertain: unknown-tool"),
        ({"deny": ["delete", "drop"]}, ["delete"], "fail"),
        ({"allow": ["search", "serch"]}, ["search"], "pass"),
        ({"allow": ["serch"]}, ["search"], "fail"),
    ],
)
def test_a_denied_tool_that_nobody_knows_gives_no_pass(
    params: dict[str, Any], tools: list[str], expected: str
) -> None:
    about = trace(*(call(name) for name in tools))
    assert verdict(ask("tool-list", params, about)) == expected


def test_only_calls_count_and_neither_order_nor_arguments_matter() -> None:
    about = trace(
        call("delete", type="SPAN"),
        call("read", {"n": NonFinite("NaN")}, flags=["ambiguous-order", "ambiguous-pairing"]),
        call("read", id="twice"),
        call("read", flags=["duplicate-call-id"]),
    )
    assert ask("tool-list", BOTH, about).state == "pass"


def test_a_fail_names_the_call_and_the_likely_tool() -> None:
    about = trace(call("read"), call("serch", id="bad"))
    decision = ask("tool-list", ALLOW, about)
    assert "1 of 2: bad calls serch" in decision.detail and "'search'" in decision.detail
    assert [(ref.obs, ref.value) for ref in decision.refs] == [("bad", "serch")]


def test_a_pass_shows_that_no_denied_tool_was_called() -> None:
    decision = ask("tool-list", DENY, trace(call("read")), inventory=["delete"])
    (ref,) = decision.refs
    assert ref.scan is not None and ref.scan.channel == "obs:delete.name"


def test_ten_thousand_calls() -> None:
    about = trace(*(call("read") for _ in range(10_000)))
    assert ask("tool-list", ALLOW, about).state == "pass"
    assert ask("tool-list", {"allow": ["write"]}, about).detail.startswith("10000 of 10000: c0")


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({}, "needs allow, deny or both"),
        ({"allow": ["a", "b"], "deny": "b"}, "no tool in common (got b)"),
        ({"deny": "*"}, "must name tools"),
        ({"allow": []}, "at least 1 item"),
        ({"allow": "a", "denied": "b"}, "Extra inputs"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(params: dict[str, Any], text: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Row("tool-list", params)
    assert text in str(caught.value)

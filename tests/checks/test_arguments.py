"""argument-schema, and when two values are the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from helix.checks.arguments import fingerprint
from helix.checks.conditions import equal
from helix.model.jsontext import NonFinite
from helix.model.trace import TOOL, Observation
from tests.checks.builder import Row, ask, call, said, trace, verdict

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["guests"],
    "properties": {"guests": {"type": "integer", "maximum": 8}, "name": {"pattern": "^[A-ZÄ]"}},
}
BOOK = {"schemas": {"book": SCHEMA}}


def unrecorded(**kw: Any) -> Observation:
    return Observation("lost", 0, "book", TOOL, input=None, **kw)


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ([{"guests": 2}], "pass"),
        ([{"guests": 2}, {"guests": 8, "name": "Ärger 文"}], "pass"),
        ([{"guests": 2}, {"guests": 9}], "fail"),
        ([{"guests": "2"}], "fail"),
        ([{"guests": True}], "fail"),
        ([{}], "fail"),
        (["not json"], "fail"),
        ([[1]], "fail"),
        ([{"guests": NonFinite("Infinity")}], "uncertain: not-decidable"),
        ([{"guests": NonFinite("NaN")}, {"guests": 9}], "fail"),
        ([], "na"),
    ],
)
def test_arguments_are_decided_as_the_truth_table_says(inputs: list[Any], expected: str) -> None:
    about = trace(said("user", "go"), *(call("book", value) for value in inputs))
    assert verdict(ask("argument-schema", BOOK, about, inventory=["book"])) == expected


def test_a_call_without_arguments_has_an_empty_object() -> None:
    about = trace(Observation("a", 0, "book", TOOL))
    assert ask("argument-schema", {"schemas": {"book": {"type": "object"}}}, about).state == "pass"
    assert ask("argument-schema", BOOK, about).state == "fail"


@pytest.mark.parametrize("on_missing", ["uncertain", "fail", "na"])
def test_arguments_that_were_not_recorded_count_as_the_row_says(on_missing: str) -> None:
    decision = ask("argument-schema", {**BOOK, "on_missing": on_missing}, trace(unrecorded()))
    assert decision.state == on_missing


def test_redacted_arguments_are_not_judged() -> None:
    about = trace(call("book", {"guests": "__REDACTED__"}, flags=["redacted"]))
    assert verdict(ask("argument-schema", BOOK, about)) == "uncertain: not-decidable"


def test_each_tool_has_its_schema_and_a_star_serves_the_others() -> None:
    params = {"schemas": {"book": SCHEMA, "*": {"maxProperties": 1}}}
    about = trace(call("book", {"guests": 1, "name": "A"}), call("read", {"a": 1}))
    assert ask("argument-schema", params, about).state == "pass"
    about = trace(call("book", {"guests": 1}), call("read", {"a": 1, "b": 2}, id="wide"))
    assert ask("argument-schema", params, about).refs[0].obs == "wide"


def test_an_unknown_tool_gives_no_pass_and_no_na() -> None:
    params = {"schemas": {"book": SCHEMA, "bock": SCHEMA}}
    about = trace(call("book", {"guests": 1}))
    assert verdict(ask("argument-schema", params, about)) == "uncertain: unknown-tool"
    assert verdict(ask("argument-schema", BOOK, trace())) == "uncertain: unknown-tool"
    assert ask("argument-schema", params, trace(call("book", {}))).state == "fail"


def test_a_fail_cites_the_argument_that_is_wrong() -> None:
    about = trace(call("book", {"guests": 9}, id="a", flags=["ambiguous-order"]))
    (ref,) = ask("argument-schema", BOOK, about).refs
    assert (ref.obs, ref.path, ref.value) == ("a", "input.guests", "9")


def test_ten_thousand_calls() -> None:
    about = trace(*(call("book", {"guests": n % 8}) for n in range(10_000)))
    assert ask("argument-schema", BOOK, about).state == "pass"


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({}, "Field required"),
        ({"schemas": {}}, "at least 1 item"),
        ({"schemas": {"book": {"type": "objekt"}}}, "must be a JSON Schema"),
        ({"schemas": {"book": "object"}}, "must be a JSON Schema, an object (got str)"),
        ({"schemas": {"book": {"$ref": "https://example.org/x.json"}}}, "must be a JSON Schema"),
        ({"schemas": {"book": {}}, "onMissing": "pass"}, "'uncertain', 'fail' or 'na'"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(params: dict[str, Any], text: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Row("argument-schema", params)
    assert text in str(caught.value)


LEAVES = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a", "1", 1.0, 0.0])
VALUES = st.recursive(
    LEAVES,
    lambda below: st.lists(below, max_size=2) | st.dictionaries(st.sampled_from("ab"), below),
)


@settings(max_examples=200, deadline=None)
@given(VALUES, VALUES)
def test_values_share_a_fingerprint_where_they_are_equal_and_only_there(
    left: Any, right: Any
) -> None:
    assert (fingerprint(left) == fingerprint(right)) is bool(equal(left, right))

"""The field primitives: presence, string-equality, format-validity, schema-conformance."""

from __future__ import annotations

from typing import Any

import pytest

from helix.model.jsontext import NonFinite
from helix.model.trace import Trace
from tests.checks.builder import ask, call, said, trace, verdict

NAN = NonFinite("NaN")
MISSING: Any = object()
LONG = "Sehr geehrte Frau Muster, " + "wir prüfen das. " * 40


def replied(value: Any) -> Trace:
    return trace(said("user", "hello"), output={} if value is MISSING else {"response": value})


def found(value: Any, **kw: Any) -> Trace:
    return trace(call("find", output={} if value is MISSING else {"status": value}, **kw))


VALUES: dict[str, tuple[dict[str, Any], list[tuple[Any, str]]]] = {
    "presence": (
        {},
        [
            ("done", "pass"),
            (0, "pass"),
            (False, "pass"),
            ({"a": 1}, "pass"),
            (NAN, "pass"),
            ("Grüße 🙂", "pass"),
            (LONG, "pass"),
            ("字" * 300, "pass"),
            ("\ud800 half", "pass"),
            (None, "fail"),
            ("", "fail"),
            (" \n", "fail"),
            ([], "fail"),
            ({}, "fail"),
            (MISSING, "fail"),
        ],
    ),
    "string-equality": (
        {"expected": "done"},
        [
            ("done", "pass"),
            ("Done", "fail"),
            ("", "fail"),
            (LONG, "fail"),
            (None, "uncertain: not-decidable"),
            (7, "uncertain: not-decidable"),
            (["done"], "uncertain: not-decidable"),
            (NAN, "uncertain: not-decidable"),
            (MISSING, "uncertain: missing-field"),
        ],
    ),
    "format-validity": (
        {"pattern": r"^\d+ Stück$"},
        [
            ("12 Stück", "pass"),
            ("zwölf Stück", "fail"),
            ("", "fail"),
            ("\ud800 Stück", "fail"),
            (12, "uncertain: not-decidable"),
            (None, "uncertain: not-decidable"),
            (NAN, "uncertain: not-decidable"),
            (MISSING, "uncertain: missing-field"),
        ],
    ),
    "schema-conformance": (
        {
            "required_keys": ["id"],
            "json_schema": {"properties": {"n": {"type": "integer", "maximum": 9}}},
        },
        [
            ({"id": "a", "n": 3}, "pass"),
            ({"id": None}, "pass"),
            ({"id": "a", "n": 10}, "fail"),
            ({"id": "a", "n": "3"}, "fail"),
            ({"n": 3}, "fail"),
            ({}, "fail"),
            ([], "fail"),
            ("text", "fail"),
            (None, "fail"),
            ({"id": "a", "n": NAN}, "uncertain: not-decidable"),
            ({"id": "a", "n": 2**80}, "fail"),
            ({"id": "a", "n": "\ud800"}, "uncertain: not-decidable"),
            (MISSING, "uncertain: missing-field"),
        ],
    ),
}
TABLE = [
    pytest.param(name, params, value, expected, id=f"{name}-{index}-{expected}")
    for name, (params, rows) in VALUES.items()
    for index, (value, expected) in enumerate(rows)
]


@pytest.mark.parametrize(("primitive", "params", "value", "expected"), TABLE)
def test_a_value_is_decided_as_the_truth_table_says(
    primitive: str, params: dict[str, Any], value: Any, expected: str
) -> None:
    decision = ask(primitive, {**params, "field": "output.response"}, replied(value))
    assert verdict(decision) == expected


@pytest.mark.parametrize("primitive", VALUES)
@pytest.mark.parametrize("on_missing", ["uncertain", "fail", "na"])
def test_a_missing_field_is_what_on_missing_says(primitive: str, on_missing: str) -> None:
    params = {**VALUES[primitive][0], "field": "output.response", "on_missing": on_missing}
    assert ask(primitive, params, replied(MISSING)).state == on_missing


@pytest.mark.parametrize(("primitive", "params"), [(n, p) for n, (p, _) in VALUES.items()])
def test_a_tool_that_was_not_called_is_na_if_known_and_uncertain_if_not(
    primitive: str, params: dict[str, Any]
) -> None:
    params = {**params, "field": "obs:find.output.status"}
    silent = trace(said("user", "hello"), call("other", output={}))
    assert verdict(ask(primitive, params, silent, inventory=["find"])) == "na"
    assert verdict(ask(primitive, params, silent, seen=["find"])) == "na"
    unknown = ask(primitive, params, silent, seen=["fnd"])
    assert verdict(unknown) == "uncertain: unknown-tool"
    assert "did you mean 'fnd'" in unknown.detail


def test_any_tool_with_no_call_at_all_is_na() -> None:
    assert verdict(ask("presence", {"field": "obs:*.output"}, trace(said("user", "hi")))) == "na"


@pytest.mark.parametrize(
    ("quantifier", "values", "expected"),
    [
        ("", ["a", "a"], "pass"),
        ("", ["a", "b"], "fail"),
        ("", ["a", MISSING], "uncertain: missing-field"),
        ("", ["b", MISSING], "fail"),
        ("@all", ["a", "b"], "fail"),
        ("@any", ["b", "a"], "pass"),
        ("@any", ["b", "b"], "fail"),
        ("@any", ["b", MISSING], "uncertain: missing-field"),
        ("@first", ["a", "b"], "pass"),
        ("@last", ["a", "b"], "fail"),
    ],
)
def test_every_call_must_hold_unless_the_path_says_otherwise(
    quantifier: str, values: list[Any], expected: str
) -> None:
    calls = [call("find", output={} if v is MISSING else {"status": v}) for v in values]
    params = {"field": f"obs:find{quantifier}.output.status", "expected": "a"}
    assert verdict(ask("string-equality", params, trace(*calls))) == expected


@pytest.mark.parametrize(
    ("path", "flag", "expected"),
    [
        ("obs:find.output.status", "ambiguous-pairing", "uncertain: ambiguous-order"),
        ("obs:find.input.q", "ambiguous-pairing", "pass"),
        ("obs:find.output.status", "ambiguous-order", "pass"),
        ("obs:find@first.input.q", "ambiguous-order", "uncertain: ambiguous-order"),
        ("obs:find@last.output.status", "ambiguous-order", "uncertain: ambiguous-order"),
        ("observations[0].input.q", "ambiguous-order", "uncertain: ambiguous-order"),
        ("observations[*].input.q", "ambiguous-order", "pass"),
    ],
)
def test_a_flagged_order_matters_where_it_is_read(path: str, flag: str, expected: str) -> None:
    calls = [call("find", {"q": "x"}, {"status": "a"}, flags=[flag]) for _ in range(2)]
    assert verdict(ask("presence", {"field": path}, trace(*calls))) == expected


def test_a_lone_call_is_first_and_last_whatever_its_flags() -> None:
    lone = trace(call("find", {"q": "x"}, flags=["ambiguous-order"]))
    assert verdict(ask("presence", {"field": "obs:find@first.input.q"}, lone)) == "pass"


@pytest.mark.parametrize(
    ("value", "expected", "state"),
    [
        (False, False, "pass"),
        (0, False, "uncertain: not-decidable"),
        (1, 1.0, "pass"),
        (1, True, "uncertain: not-decidable"),
        ("42", 42, "uncertain: not-decidable"),
        (None, None, "pass"),
        (2**70, 2**70, "pass"),
        (2**70, 2**70 + 1, "fail"),
    ],
)
def test_equality_keeps_json_types_apart(value: Any, expected: Any, state: str) -> None:
    params = {"field": "output.response", "expected": expected}
    assert verdict(ask("string-equality", params, replied(value))) == state


def test_case_can_be_ignored_beyond_ascii() -> None:
    params = {"field": "output.response", "expected": "STRASSE", "caseInsensitive": True}
    assert ask("string-equality", params, replied("straße")).state == "pass"


def test_an_empty_list_is_nothing_to_check() -> None:
    empty = trace(output={"items": []})
    assert verdict(ask("presence", {"field": "output.items[*].id"}, empty)) == "na"


def test_the_cited_part_of_a_long_text_holds_the_deciding_words() -> None:
    text = "word " * 300 + "the order number is 4711 indeed " + "word " * 300
    params = {"field": "output.response", "pattern": r"number is \d+"}
    (ref,) = ask("format-validity", params, replied(text)).refs
    assert ref.value is not None
    assert "number is 4711" in ref.value
    assert ref.value in text


def test_a_large_object_is_cited_by_a_leaf() -> None:
    value = {"lines": [{"text": "x" * 150, "n": n} for n in range(9)]}
    (ref,) = ask("presence", {"field": "output.response"}, replied(value)).refs
    assert ref.path == "output.response.lines[0].text"


def test_a_missing_field_is_shown_by_a_scan_of_the_place_that_could_have_held_it() -> None:
    two = trace(call("find", output={"status": "a"}), call("find", output={}))
    (ref,) = ask("presence", {"field": "obs:find.output.status"}, two).refs
    assert ref.scan is not None
    assert ref.scan.channel == "observations[1].output.status"
    assert (ref.scan.items, ref.scan.matches) == (0, 0)


def test_a_violated_schema_cites_the_value_that_violates_it() -> None:
    schema = {"properties": {"rows": {"items": {"required": ["id"]}}}}
    params = {"field": "output.response", "json_schema": schema}
    decision = ask("schema-conformance", params, replied({"rows": [{"id": 1}, {"no": 2}]}))
    assert decision.state == "fail"
    assert decision.refs[0].path == "output.response.rows[1]"


def test_ten_thousand_calls_are_read_and_a_few_cited() -> None:
    many = trace(*(call("find", {"q": n}, {"status": "a"}) for n in range(10_000)))
    decision = ask("string-equality", {"field": "obs:find.output.status", "expected": "a"}, many)
    assert decision.state == "pass"
    assert decision.detail.startswith("10000 of 10000")
    assert len(decision.refs) == 8

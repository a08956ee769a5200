"""Digests and JSON text, held by golden bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix.model.canonical import (
    canonical_bytes,
    canonical_text,
    constant_text,
    digest,
    digest_bytes,
)
from helix.model.criterion import Criterion
from helix.model.jsontext import NonFinite, decode, decode_container
from helix.model.lines import decode_line, encode_line
from helix.model.verdict import Ref

GOLDEN = [
    ({"b": 1, "a": [True, None, 0.5]}, b'{"a":[true,null,0.5],"b":1}'),
    ({"é": "\u2028</script>"}, '{"é":"\u2028</script>"}'.encode()),
    ("\ud83d", b'"\\ud83d"'),
    (2**70, b"1180591620717411303424"),
    ("", b'""'),
]


@pytest.mark.parametrize(("value", "golden"), GOLDEN)
def test_canonical_bytes_never_change(value: Any, golden: bytes) -> None:
    assert canonical_bytes(value) == golden


def test_digests_never_change() -> None:
    assert digest({"a": 1}) == "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"
    assert digest_bytes(b"ab", b"c") != digest_bytes(b"a", b"bc")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_json_lacks_has_no_digest(value: float) -> None:
    with pytest.raises(ValueError, match="Out of range"):
        digest(value)


@pytest.mark.parametrize(
    ("text", "value", "strict"),
    [
        ('{"a": 123456789012345678901234567890}', {"a": 123456789012345678901234567890}, True),
        ('{"a": 1, "a": 2}', {"a": 2}, True),
        ('"\\ud83d x"', "\ud83d x", True),
        ("NaN", "NaN", False),
        ("[1e999, -Infinity]", ["1e999", "-Infinity"], False),
        ("18446744073709551616", 2**64, True),
        ("1.0", 1.0, True),
    ],
)
def test_json_is_read_exactly(text: str, value: Any, strict: bool) -> None:
    found, was_strict = decode(text)
    assert (found, was_strict) == (value, strict)
    if not strict:
        items = found if isinstance(found, list) else [found]
        assert all(isinstance(item, NonFinite) for item in items)


@pytest.mark.parametrize(
    "text", ["", "{", "[1,]", '{"a"}', "nul", "[" * 100_000, b'"\xff"', "9" * 5000]
)
def test_what_is_not_json_is_a_value_error(text: Any) -> None:
    with pytest.raises(ValueError):
        decode(text)


@pytest.mark.parametrize(
    ("text", "value"), [("[1]", [1]), (' {"a": 1}', {"a": 1}), ("42", None), ("{no", None)]
)
def test_only_objects_and_lists_are_decoded_from_text(text: str, value: Any) -> None:
    assert decode_container(text) == value


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(VALUES)
def test_canonical_json_is_read_back_and_ignores_the_order_of_keys(value: Any) -> None:
    text = canonical_bytes(value)
    assert canonical_bytes(json.loads(text)) == text
    assert decode(text)[0] == value or value != value


@given(st.text(st.characters(exclude_categories=()), max_size=20))
def test_any_text_is_written_and_read_back_even_half_a_surrogate_pair(text: str) -> None:
    ref = Ref(obs="o", path="p", value=text)
    line = encode_line(ref)
    assert b"\n" not in line
    assert decode_line(line, Ref) == ref


def test_a_criterion_digest_covers_what_it_says_and_not_how_it_is_spelled() -> None:
    row = {"criterion_id": "a", "statement": "Pass = x.", "severity": "HIGH"}
    camel = {"criterionId": "a", "statement": "Pass = x.", "severity": "HIGH"}
    one = Criterion.model_validate(row).digest
    assert one == Criterion.model_validate(camel).digest
    assert one != Criterion.model_validate({**row, "statement": "Pass = y."}).digest
    assert one != Criterion.model_validate({**row, "may_not_apply": True}).digest


def test_a_value_that_many_share_has_the_text_of_its_own() -> None:
    shared: dict[str, object] = {"b": [1, 2.0], "a": "ü"}
    other: dict[str, object] = {"b": [1, 2], "a": "ü"}
    assert constant_text(shared) == constant_text(shared) == canonical_text(shared)
    assert constant_text(other) == canonical_text(other) != canonical_text(shared)

"""The grammar of paths: one spelling, no crash, walking and resolving agree."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.errors import PathError
from helix.fieldpath import (
    EACH,
    MISSING,
    QUANTIFIERS,
    ROOTS,
    FieldPath,
    parse,
    parse_relative,
    render_steps,
    resolve,
    walk,
)

NAMES = st.one_of(
    st.text(max_size=8), st.sampled_from(["a", "*", "", "a.b", '"', "\\", "[0]", "@"])
)
INDEXES = st.integers(-(10**9) + 1, 10**9 - 1)
STEPS = st.lists(NAMES | INDEXES | st.just(EACH), max_size=5).map(tuple)
PATHS = st.one_of(
    st.builds(FieldPath, st.sampled_from(ROOTS), STEPS),
    st.builds(
        FieldPath,
        st.none(),
        STEPS.filter(bool),
        NAMES,
        st.none() | st.sampled_from(QUANTIFIERS),
    ),
)
KEYS = st.sampled_from(["a", "b", "", "a.b", "0", "*"])
VALUES = st.recursive(
    st.none() | st.integers(0, 3) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=15,
)
SHALLOW = st.lists(KEYS | st.integers(-4, 4) | st.just(EACH), max_size=4).map(tuple)


@settings(max_examples=300, deadline=None)
@given(PATHS)
def test_a_spelled_path_parses_to_itself(path: FieldPath) -> None:
    assert parse(str(path)) == path
    assert str(parse(str(path))) == str(path)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=20) | st.text(st.sampled_from('abs:output.[]*"@\\01- '), max_size=20))
def test_no_text_ends_in_anything_but_a_path_or_a_path_error(text: str) -> None:
    for parser in (parse, parse_relative):
        try:
            path = parser(text)
        except PathError as error:
            assert str(error)
        else:
            again = parser(str(path))
            assert again == path


@settings(max_examples=300, deadline=None)
@given(VALUES, SHALLOW)
def test_what_walking_reaches_resolves_at_its_address(value: Any, steps: tuple[Any, ...]) -> None:
    for address, found in walk(value, steps):
        assert EACH not in address
        assert resolve(value, address) is found
        if address and isinstance(address[0], str):
            assert parse_relative(render_steps(address)).steps == address


@settings(max_examples=200, deadline=None)
@given(VALUES, SHALLOW.filter(lambda steps: EACH not in steps))
def test_an_address_reaches_exactly_one_place(value: Any, steps: tuple[Any, ...]) -> None:
    ((_, found),) = walk(value, steps)
    assert found is resolve(value, steps)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("output.response", FieldPath("output", ("response",))),
        ("observations[3].output.success", FieldPath("observations", (3, "output", "success"))),
        ("transcript[-1].text", FieldPath("transcript", (-1, "text"))),
        ("obs:send_message.input.to", FieldPath(None, ("input", "to"), "send_message")),
        (
            'obs:["ai.generateText"]@first.output.text',
            FieldPath(None, ("output", "text"), "ai.generateText", "first"),
        ),
        ("obs:*.output", FieldPath(None, ("output",), "*")),
        ('output["a b"][*]', FieldPath("output", ("a b", EACH))),
    ],
)
def test_the_forms_of_the_design_parse(text: str, path: FieldPath) -> None:
    assert parse(text) == path
    assert str(path) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must start with a field name"),
        ("outptu.x", "did you mean 'output'?"),
        ("labels.reward", "must start with one of input, output"),
        ("output.", "does not parse at column 7"),
        ("output.a b", "does not parse at column 9"),
        ("output[a]", "does not parse at column 7"),
        ("obs:", "must name an observation after obs:"),
        ("obs:x", "must name a field of the observation"),
        ("obs:x@some.output", "the quantifier must be one of any, all, first, last (got 'some')"),
    ],
)
def test_a_wrong_path_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(PathError) as caught:
        parse(text)
    assert message in str(caught.value)


def test_missing_is_no_value_and_no_truth() -> None:
    assert not MISSING
    assert list(walk({"a": None}, ("a",))) == [(("a",), None)]
    assert list(walk({"a": []}, ("a", EACH))) == []

"""Where two JSON texts part: the places found are those where they differ, and no other."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from helix.audit.parting import LONGEST, TOO_DEEP, Number, parted, told
from helix.fieldpath import MISSING, parse_relative, resolve

leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=6)
keys = st.text(max_size=4)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=14,
)


def read(text: str) -> Any:
    return json.loads(text, parse_int=Number, parse_float=Number)


def at(value: Any, path: str) -> Any:
    return resolve(value, parse_relative(path).steps) if path else value


@settings(max_examples=150, deadline=None)
@given(values, values)
def test_both_values_stand_at_every_place_that_is_told(a: Any, b: Any) -> None:
    one, two = json.dumps({"v": a}), json.dumps({"v": b})
    if one == two:
        return
    places = parted(one, two)
    assert places, "texts that differ part somewhere"
    for path, x, y in places:
        found = at(read(one), path), at(read(two), path)
        if isinstance(found[0], dict) and isinstance(x, list):
            assert [list(value) for value in found] == [x, y], "the order of keys"
        else:
            assert found == (x, y)
            assert x != y or type(x) is not type(y)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.text(max_size=4), values, min_size=1, max_size=5), st.data())
def test_one_value_that_changed_is_one_place(whole: dict[str, Any], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(whole)))
    other = {**whole, key: "quite another"}
    found = parted(json.dumps(whole), json.dumps(other))
    assert len(found) == 1
    assert at(read(json.dumps(other)), found[0][0]) == "quite another"


@settings(max_examples=100, deadline=None)
@given(values, values)
def test_sides_that_are_swapped_part_in_the_same_places(a: Any, b: Any) -> None:
    one, two = json.dumps(a), json.dumps(b)
    if one == two:
        return
    there, back = parted(one, two), parted(two, one)
    assert sorted(path for path, *_ in there) == sorted(path for path, *_ in back)


@settings(max_examples=100, deadline=None)
@given(st.text(), st.text())
def test_what_is_told_is_short_and_can_be_encoded(a: str, b: str) -> None:
    for texts in (told(a * 50, b * 50), told(a * 50, MISSING), told([a] * 90, {b: [a]})):
        for text in texts:
            assert text is None or len(text) <= LONGEST + 2
            assert text is None or text.encode("utf-8")


def test_a_value_that_is_nested_too_deeply_is_named_at_its_place() -> None:
    deep = "[" * 900 + "]" * 900
    ((path, *values),) = parted('{"x": 1}', f'{{"x": {deep}}}')
    assert (path, told(*values)) == ("x", ("1", TOO_DEEP))

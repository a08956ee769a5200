"""Calls and results: who belongs to whom, and what arguments and errors are."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.ingest.pairing import Call, Pairing, Result, arguments, declared_error

Event = tuple[str, str | None]


def play(events: list[Event]) -> tuple[list[Call], list[tuple[Result, tuple[str, ...]]]]:
    """Return the calls, and the results that stayed alone; the nth event's text is n."""
    pairing = Pairing()
    calls: list[Call] = []
    alone: list[tuple[Result, tuple[str, ...]]] = []
    for at, (kind, key) in enumerate(events):
        if kind == "call":
            calls.append(Call(key, "tool", at, None))
            pairing.call(calls[-1])
            continue
        result = Result(text=str(at), key=key)
        flags = pairing.result(result)
        if flags:
            alone.append((result, flags))
    pairing.close()
    return calls, alone


def c(key: str | None = None) -> Event:
    return "call", key


def r(key: str | None = None) -> Event:
    return "result", key


AMBIGUOUS = ("duplicate-call-id", "ambiguous-pairing")
BY_POSITION = ("paired-by-position",)

# events, per call (text of its result, flags), flags of results that have no call
TABLE: list[tuple[list[Event], list[tuple[str | None, tuple[str, ...]]], list[str]]] = [
    ([c("1"), r("1")], [("1", ())], []),
    ([c("1"), c("2"), r("2"), r("1")], [("3", ()), ("2", ())], []),
    ([c("1"), r("1"), c("1"), r("1")], [("1", ()), ("3", ())], []),
    ([c("1"), c("1"), r("1")], [(None, AMBIGUOUS)] * 2, ["ambiguous-pairing"]),
    ([c("1"), c("1"), r("1"), r("1")], [(None, AMBIGUOUS)] * 2, ["ambiguous-pairing"] * 2),
    (
        [c("1"), c("1"), r("1"), r("1"), c("1"), r("1")],
        [(None, AMBIGUOUS)] * 2 + [("5", ())],
        ["ambiguous-pairing"] * 2,
    ),
    ([c("1"), r("1"), r("1")], [("1", ())], ["orphan-result"]),
    ([r("1"), c("1")], [(None, ("missing-result",))], ["orphan-result"]),
    ([c("1"), r("2")], [(None, ("missing-result",))], ["orphan-result"]),
    ([c("1"), c("1")], [(None, ("missing-result",))] * 2, []),
    ([c(), r(), c(), r()], [("1", BY_POSITION), ("3", BY_POSITION)], []),
    ([c(), c(), r(), r()], [(None, ("ambiguous-pairing",))] * 2, ["ambiguous-pairing"] * 2),
    (
        [c(), c(), r(), r(), c(), r()],
        [(None, ("ambiguous-pairing",))] * 2 + [("5", BY_POSITION)],
        ["ambiguous-pairing"] * 2,
    ),
    ([c(), c(), r(), c(), r()], [(None, ("ambiguous-pairing",))] * 3, ["ambiguous-pairing"] * 2),
    ([c("1"), r()], [("1", BY_POSITION)], []),
    ([c("1"), c("2"), r()], [(None, ("ambiguous-pairing",))] * 2, ["ambiguous-pairing"]),
    ([r()], [], ["orphan-result"]),
    ([c("1"), c(), r(), r("1")], [("3", ()), ("2", BY_POSITION)], []),
]


@pytest.mark.parametrize(("events", "answered", "alone"), TABLE)
def test_a_result_goes_to_the_one_call_that_it_can_belong_to(
    events: list[Event], answered: list[Any], alone: list[str]
) -> None:
    calls, left = play(events)
    assert [(call.result and call.result.text, tuple(call.flags)) for call in calls] == answered
    assert [flags for _, flags in left] == [(flag,) for flag in alone]


EVENTS = st.lists(
    st.tuples(st.sampled_from(["call", "result"]), st.sampled_from([None, "1", "2", "3"])),
    max_size=14,
)


@settings(max_examples=200)
@given(EVENTS)
def test_no_result_is_lost_shared_or_older_than_its_call(events: list[Event]) -> None:
    calls, alone = play(events)
    kept = [call.result.text for call in calls if call.result] + [r.text for r, _ in alone]
    assert Counter(kept) == Counter(str(at) for at, e in enumerate(events) if e[0] == "result")
    for call in calls:
        if call.result is None:
            assert {"missing-result", "ambiguous-pairing"} & set(call.flags)
        else:
            assert int(call.result.text or -1) > call.seq
            assert call.result.key in (call.key, None)


TWICE = json.dumps(json.dumps({"a": "{}"}))


@pytest.mark.parametrize(
    ("source", "value", "valid"),
    [
        (None, {}, True),
        ("", {}, True),
        ("  ", {}, True),
        ("null", {}, True),
        ('""', {}, True),
        ("{}", {}, True),
        ({}, {}, True),
        ({"a": '{"b": 1}'}, {"a": '{"b": 1}'}, True),
        ('{"a": "{\\"b\\": 1}"}', {"a": '{"b": 1}'}, True),
        (json.dumps('{"a": 1}'), {"a": 1}, True),
        (json.dumps(json.dumps('{"a": 1}')), {"a": 1}, True),
        (TWICE, {"a": "{}"}, True),
        ("[1]", [1], True),
        (json.dumps(TWICE), {"a": "{}"}, True),
        (json.dumps(json.dumps(TWICE)), json.dumps(json.dumps(TWICE)), False),
        ('{"a": 1', '{"a": 1', False),
        ("5", "5", False),
        ("plain words", "plain words", False),
        (5, 5, False),
        (True, True, False),
    ],
)
def test_arguments_are_decoded_up_to_three_times_and_what_is_no_object_is_kept(
    source: Any, value: Any, valid: bool
) -> None:
    found, text, sound = arguments(source)
    assert (found, sound) == (value, valid)
    assert text == (source if isinstance(source, str) else None)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({}, (None, None)),
        ({"status": "ok"}, (None, "ok")),
        ({"status": "error"}, ("Error: said", "error")),
        ({"status": "FAILED"}, ("Error: said", "error")),
        ({"is_error": True}, ("Error: said", "error")),
        ({"is_error": False}, (None, None)),
        ({"error": "declared"}, ("declared", "error")),
        ({"error": {"type": "timeout", "message": "late"}}, ("late", "error")),
        ({"error": None}, (None, None)),
        ({"error": ""}, (None, None)),
        ({"exit_code": 1, "success": False}, (None, None)),
    ],
)
def test_only_a_declared_error_is_an_error(message: Any, expected: Any) -> None:
    assert declared_error(message, "Error: said") == expected


@pytest.mark.parametrize("source", ["NaN", "-Infinity", '"NaN"'])
def test_arguments_that_are_no_number_of_json_are_kept_and_not_valid(source: str) -> None:
    assert arguments(source) == (source, source, False)

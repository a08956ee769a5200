"""What is said of a name that is not known fits into a sentence, however many are known."""

from __future__ import annotations

import pytest

from helix.errors import MOST_LISTED, known, unknown

MANY = [f"trace-{n}" for n in range(10_000)]


def test_few_names_are_listed() -> None:
    names = [f"n{n:02}" for n in range(MOST_LISTED)]
    assert unknown("word", "x", names) == f"unknown word 'x' (known: {', '.join(names)})"
    assert unknown("word", "x", []) == "unknown word 'x' (known: none)"


@pytest.mark.parametrize(
    ("listing", "told"),
    [
        ("helix plugins", "(10,000 are known: helix plugins lists them)"),
        ("", "(10,000 are known, such as trace-0, trace-1, trace-10)"),
    ],
)
def test_many_names_are_counted_and_the_nearest_are_told(listing: str, told: str) -> None:
    text = unknown("trace", "trace_77", MANY, listing)
    assert text.startswith("unknown trace 'trace_77'; did you mean 'trace-77' or '")
    assert text.endswith(told) and text.count("'") == 8
    assert unknown("trace", "?", MANY, listing) == f"unknown trace '?' {told}"


def test_a_list_is_as_long_as_is_still_read() -> None:
    assert known(["a", "b"]) == "known: a, b"
    assert len(known(MANY)) < 60

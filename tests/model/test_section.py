"""A part of a trace reads like one, shares what it holds, and knows its whole."""

from __future__ import annotations

import pytest

from helix.fieldpath import parse
from helix.model.section import between, section, whole
from helix.model.select import select
from helix.model.trace import Trace
from tests.checks.builder import call, said, trace


def subject() -> Trace:
    return trace(said("user", "a"), call("x", {"n": 1}), said("user", "b"), call("y", {"n": 3}),
                 output={"response": "c"}, metadata={"k": 1})  # fmt: skip


@pytest.mark.parametrize(
    ("first", "last", "ids"),
    [(None, None, "c1 c3 m0 m2"), (1, 2, "c1 m2"), (2, None, "c3 m2"), (None, 0, "m0"), (3, 2, "")],
)
def test_a_part_holds_what_lies_between(first: int | None, last: int | None, ids: str) -> None:
    part = between(subject(), first, last)
    assert " ".join([*(o.id for o in part.observations), *(m.id for m in part.transcript)]) == ids


def test_nothing_is_copied_and_the_rest_is_that_of_the_whole() -> None:
    about = subject()
    about.part("observations")
    part = between(about, 2, 3)
    assert part.observations[0] is about.observations[1]
    assert (part.id, part.output, part.metadata) == (about.id, about.output, about.metadata)
    assert [p.value for p in select(part, parse("observations[*].name"))] == ["y"]
    assert [p.value for p in select(about, parse("observations[*].name"))] == ["x", "y"]


def test_a_part_of_a_part_is_of_the_same_whole() -> None:
    about = subject()
    part = between(between(about, 1, 3), None, 2)
    assert whole(part) is about and whole(about) is about
    assert [o.id for o in part.observations] == ["c1"]
    assert section(about, [], []).observations == []

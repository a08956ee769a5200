"""A path reads the same place whether only its field is read or the whole observation is walked."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from helix.fieldpath import EACH, MISSING, render_steps, walk
from helix.model.select import Place, at_address, within
from helix.model.trace import Observation, Source, Trace

KEYS = st.sampled_from(["a", "b", "input", "output", "text"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(KEYS, below, max_size=3),
    max_leaves=8,
)
HEADS = st.sampled_from(["input", "output", "name", "error", "flags", "endTime", "nothing"])
STEPS = st.tuples(HEADS | st.just(EACH)).flatmap(
    lambda head: st.lists(KEYS | st.integers(-2, 2) | st.just(EACH), max_size=3).map(
        lambda rest: (*head, *rest)
    )
)


def observations() -> st.SearchStrategy[Observation]:
    """Return calls whose fields are there, null or not recorded."""
    return st.builds(
        Observation,
        st.just("c1"),
        st.just(4),
        st.just("pay"),
        input=VALUES,
        output=VALUES,
        error=st.none() | st.just("refused"),
        end_time=st.none() | st.just(7),
        flags=st.sampled_from([(), ("truncated",)]),
    )


@given(observations(), STEPS)
def test_a_path_inside_a_call_reaches_what_walking_the_whole_call_reaches(
    call: Observation, steps: tuple[Any, ...]
) -> None:
    walked = walk(call.walked(), steps)
    assert within(call, steps) == [
        Place("c1", render_steps(at), value, call.seq) for at, value in walked
    ]


@given(observations(), STEPS)
def test_the_address_of_a_place_leads_to_its_value(
    call: Observation, steps: tuple[Any, ...]
) -> None:
    trace = Trace("t", Source("made", 0, "made", ""), observations=[call])
    for place in within(call, steps):
        assert at_address(trace, place.obs, place.path) == place.value


def test_a_result_that_was_not_recorded_is_missing_and_no_arguments_are_null() -> None:
    call = Observation("c1", 0, "pay", input=None, output=None)
    assert call.read("output") is MISSING
    assert call.read("input") is None
    assert call.walked().keys() == {"id", "seq", "type", "name", "input"}
    assert call.to_dict().keys() == {*call.walked(), "output"}

"""What travels between a run and its workers arrives as it was."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from helix.model.request import Message, NoReply, Pending, Pin, Reply, Request, Unit, Usage
from helix.processes.wire import Asked, Result, Results, Said, frame, from_worker

# Lone surrogates, and what a lost one would look like, are texts too.
TEXT = st.text(st.characters(exclude_categories=()), max_size=12) | st.just("\\ud800 \ud800 –")
UNITS = st.builds(
    Unit, st.sampled_from(["judge", "verifier"]), st.just("trajectory"), TEXT, TEXT,
    st.lists(TEXT, max_size=2).map(tuple), TEXT, st.integers(0, 9), st.integers(0, 3),
)  # fmt: skip
PINS = st.builds(Pin, TEXT, TEXT, TEXT, st.none() | st.just(0.0), st.none() | st.integers(0, 9))
MESSAGES = st.builds(Message, st.sampled_from(["system", "user", "assistant"]), TEXT)
REQUESTS = st.builds(
    Request, UNITS, PINS, st.lists(MESSAGES, max_size=3).map(tuple), TEXT,
    st.none() | st.dictionaries(TEXT, TEXT, max_size=2), st.lists(TEXT, max_size=2).map(tuple),
)  # fmt: skip


@settings(deadline=None, derandomize=True, max_examples=100)
@given(REQUESTS)
def test_a_request_arrives_as_it_was_with_its_keys(request: Request) -> None:
    sent = frame(Results((Result(3, 1, request=Asked.of(request)),)))
    came: Any = from_worker(sent[8:])
    (result,) = came.results
    assert (result.ordinal, result.part) == (3, 1)
    there = result.request.request()
    assert there == request
    assert there.cache_key(1) == request.cache_key(1)
    assert there.prompt_digest == request.prompt_digest
    assert there.recording_key == request.recording_key


@settings(deadline=None, derandomize=True, max_examples=50)
@given(TEXT, st.none() | TEXT, st.none() | st.integers(0, 9))
def test_an_answer_arrives_as_it_was(text: str, model: str | None, tokens: int | None) -> None:
    reply = Reply(text, returned_model=model, usage=Usage(tokens), source="cache")
    for answer in (reply, NoReply("unavailable", text)):
        assert Said.of(answer).answer() == answer
    waits = Said.of(Pending(text)).answer()
    assert isinstance(waits, Pending) and waits.key == text

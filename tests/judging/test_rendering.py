"""What a prompt shows: names on their line, texts behind their margin, bounds that hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.judging import budget
from helix.judging.packet import build
from helix.judging.rendering import again, indented, on_one_line
from helix.judging.review import Claim, render_review
from helix.model.packet import Coverage, Leaf, MatrixPacket, ShownMessage, ShownStep
from helix.model.request import Axis, Message, NoReply, Pin, Request, Unit
from helix.model.verdict import AgentStep
from tests.judging.bench import ask, row, settings_of, trace_of

BREAKS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain name", "plain name"),
        ("", ""),
        ("two\nlines", "two\\nlines"),
        ("bell\x07 and \u202e", "bell\\x07 and \\u202e"),
        ("größer ✓", "größer ✓"),
        ("\ud800", "\\ud800"),
    ],
)
def test_a_name_is_kept_on_its_line_by_escapes(text: str, shown: str) -> None:
    assert on_one_line(text) == shown


ASKED = Request(
    Unit("judge", "trajectory", "t", "d", ("c1",), "c", 0),
    Pin("scripted", "m", "judge"),
    (Message("system", "S"), Message("user", "U")),
    "n" * 32,
)


def questions() -> Iterator[Request]:
    """One question of each kind: the judge's on each axis, its expectation, the verifier's."""
    trace = trace_of([{"kind": "message", "id": "m1", "role": "user", "text": "Close at six?"}])
    trace.input = {"prompt": "Close at six?"}
    silent = [NoReply("unavailable", "")]
    for axis in get_args(Axis):
        yield from ask(trace, [row()], silent, axis=axis)[1]
    yield ask(trace, [row()], silent, two_pass=True)[1][0]
    packet = build(trace, [row()], {}, settings_of().packet)
    claim = Claim("c1", "pass", "It closes at six.", ())
    yield render_review(packet, [claim], ASKED.unit, ASKED.pin, (), ())


def test_each_prompt_writes_its_schema_in_the_order_in_which_it_is_to_be_answered() -> None:
    asked = list(questions())
    assert len(asked) == 5
    for request in asked:
        written = json.dumps(request.reply_schema, separators=(",", ":"))
        assert f"\nSchema of the answer: {written}\n" in request.messages[1].content
    for request in asked[:3]:
        told = request.messages[1].content
        assert 0 < told.index('"critique":') < told.index('"result":')
    told = asked[4].messages[1].content
    assert told.index('"against":') < told.index('"leap":') < told.index('"entails":')


def test_tools_are_inferred_only_where_some_are_seen() -> None:
    told = next(questions()).messages[1].content
    assert "tools" not in told.partition("## criteria")[0]
    called = trace_of([{"kind": "call", "id": "c1", "call_id": "k", "tool": "look", "args": {}}])
    told = ask(called, [row()], [NoReply("unavailable", "")])[1][0].messages[1].content
    assert "## tools that the agent is seen to have\n    look\n" in told
    assert "inferred: tools" in told


def test_a_long_answer_is_repeated_without_its_middle_and_many_faults_are_counted() -> None:
    answer = "a" * 30_000 + "b" * 1_000_000 + "c" * 30_000
    faults = [f"fault {n} {'x' * 5_000}" for n in range(1_000)]
    *first, echo, told = again(ASKED, answer, faults, ASKED.unit).messages
    assert tuple(first) == ASKED.messages
    assert len(echo.content) < 41_000 and len(told.content) < 110_000
    assert echo.content[:20_000] + echo.content[-20_000:] == "a" * 20_000 + "c" * 20_000
    assert "[1020000 characters not shown]" in echo.content
    assert "fault 49 " in told.content and "fault 50 " not in told.content
    assert "- and 950 more\n" in told.content and ASKED.nonce in told.content


def test_an_answer_of_usual_length_is_repeated_as_it_was() -> None:
    messages = again(ASKED, "a" * 40_000, ["one", "two\nlines"], ASKED.unit).messages
    assert messages[2] == Message("assistant", "a" * 40_000)
    assert "\n- one\n- two\\nlines\nAnswer" in messages[3].content


@given(st.text(st.sampled_from(f"ab #[{BREAKS}"), max_size=30))
def test_every_line_of_a_text_stands_behind_the_margin(text: str) -> None:
    lines = indented(text).splitlines()
    assert all(line.startswith("    ") for line in lines)
    assert [line[4:] for line in lines] == (text.splitlines() or [""])


names = st.text(max_size=8)
texts = st.text(st.one_of(st.characters(), st.sampled_from(BREAKS)), max_size=40)
leaves = st.builds(Leaf, obs=names, path=names, text=texts, same_as=st.one_of(st.none(), names))
messages = st.builds(
    ShownMessage, id=names, seq=st.integers(0, 9), role=names, text=texts, control=st.booleans()
)
steps = st.builds(
    ShownStep,
    step=st.builds(AgentStep, n=st.integers(1, 99_999), id=names, tool=names),
    seq=st.integers(0, 9),
    name=names,
    type=names,
    leaves=st.lists(leaves, max_size=3).map(tuple),
    flags=st.lists(names, max_size=3).map(tuple),
)
packets = st.builds(
    MatrixPacket,
    subject=st.just("desk"),
    trajectory_id=names,
    criteria=st.just(()),
    trajectory=st.lists(steps, max_size=3).map(tuple),
    transcript=st.lists(messages, max_size=3).map(tuple),
    input=st.lists(leaves, max_size=2).map(tuple),
    output=st.lists(leaves, max_size=2).map(tuple),
    coverage=st.just(Coverage(shown=0, truncated=0, elided=0)),
)


@settings(max_examples=150, deadline=None)
@given(packets)
def test_what_a_packet_may_take_at_most_is_never_less_than_it_takes(packet: MatrixPacket) -> None:
    assert budget._size_of(packet) <= budget._at_most(packet)

"""What a prompt shows: names on their line, texts behind their margin, bounds that hold."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.judging import budget
from helix.judging.rendering import indented, on_one_line
from helix.model.packet import Coverage, Leaf, MatrixPacket, ShownMessage, ShownStep
from helix.model.verdict import AgentStep

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

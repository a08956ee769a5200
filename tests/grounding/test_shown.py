"""A judge's evidence is what its packet shows, however the place is addressed."""

from __future__ import annotations

from typing import Any

import pytest

from helix.grounding import Ground, resolved, settle
from helix.judging.packet import PacketSettings, build, sliced
from helix.model.config import SubjectConfig
from helix.model.request import Pin
from helix.model.trace import Trace
from helix.model.verdict import Litmus, Ref, Scan, Verdict
from tests.judging.bench import row, trace_of

PIN = Pin("scripted", "m", "scripted:m")
CHANNELS = ("transcript[*].text", "observations[*].name", "obs:*.output")


def settings(tokens: int = 128_000) -> PacketSettings:
    return PacketSettings(SubjectConfig(name="desk"), PIN, tokens)


def stay() -> Trace:
    trace = trace_of(
        [
            {"id": "m1", "kind": "message", "role": "user", "text": "Please book two nights."},
            {"id": "o1", "kind": "call", "tool": "book", "args": {"nights": 2}, "call_id": "a"},
            {"id": "r1", "kind": "result", "call_id": "a", "text": '{"state": "booked for two"}'},
            {"id": "o2", "kind": "call", "tool": "mail", "args": {"to": "a desk"}, "call_id": "b"},
            {"id": "r2", "kind": "result", "call_id": "b", "text": '{"state": "sent to them"}'},
        ]
    )
    trace.output = {"response": "Two nights are booked."}
    trace.metadata = {"channel": "the front desk"}
    trace.raw = {"note": "a word that no packet shows"}
    trace.observations[0].start_time = 1_893_456_000_000
    trace.observations[0].flags = ("paired-by-position",)
    return trace


def cause(ground: Ground, *refs: Ref) -> str | None:
    given = Verdict(
        criterion_id="c1", critique="because", result="pass", claim="So it is.",
        refs=refs, litmus=Litmus(premise=""),
    )  # fmt: skip
    return settle(resolved(given, ground), [], ground).cause


PLACES = [
    ("o1", "output.state", "booked for two", None),
    ("t1", "observations[0].output.state", "booked for two", None),
    ("t1", "observations[-2].output.state", "booked for two", None),
    ("o1", "output", '{"state":"booked for two"}', None),
    ("o1", "name", "book", None),
    ("t1", "output.response", "Two nights are booked.", None),
    ("t1", "metadata.channel", "the front desk", None),
    ("t1", "raw.note", "a word that no packet shows", "unread"),
    ("t1", "raw", '{"note":"a word that no packet shows"}', "unread"),
    ("o1", "startTime", "1893456000000", "unread"),
    ("o1", "seq", "1", "unread"),
    ("o1", "flags[0]", "paired-by-position", "not-decidable"),
    ("m1", "role", "user", "not-decidable"),
]


@pytest.mark.parametrize(("obs", "path", "value", "wanted"), PLACES)
def test_a_place_that_the_packet_does_not_print_carries_nothing(
    obs: str, path: str, value: str, wanted: str | None
) -> None:
    trace = stay()
    ground = Ground.of(trace, build(trace, [row()], {}, settings()), CHANNELS)
    assert cause(ground, Ref(obs=obs, path=path, value=value)) == wanted


def test_what_a_row_names_is_printed_and_can_be_cited() -> None:
    trace = stay()
    looks = [row(judge_inputs=["raw.note", "obs:book.startTime"])]
    ground = Ground.of(trace, sliced(trace, looks, {}, settings()), CHANNELS)
    note = Ref(obs="t1", path="raw.note", value="a word that no packet shows")
    assert cause(ground, note) is None
    assert cause(ground, Ref(obs="o1", path="output.state", value="booked for two")) == "unread"
    assert cause(ground, Ref(obs="m1", path="text", value="book two nights")) == "unread"


@pytest.mark.parametrize(
    ("inputs", "channel", "wanted"),
    [
        (["transcript"], "transcript[*].text", None),
        (["transcript", "obs:book.output"], "transcript[*].text", None),
        (["obs:book.output"], "transcript[*].text", "unread"),
        (["obs:*.input"], "observations[*].name", None),
        (["obs:book.output"], "observations[*].name", "unread"),
        (["obs:book.output"], "obs:*.output", "unread"),
        (["obs:*.output"], "obs:*.output", None),
        ([], "obs:*.output", None),
    ],
)
def test_an_absence_rests_on_all_of_its_channel_and_on_no_more(
    inputs: list[str], channel: str, wanted: str | None
) -> None:
    trace = stay()
    ground = Ground.of(trace, sliced(trace, [row(judge_inputs=inputs)], {}, settings()), CHANNELS)
    items = 1 if channel.startswith("transcript") else 2
    scan = Scan(channel=channel, pattern="refund", items=items, matches=0)
    assert cause(ground, Ref(obs="t1", path=channel, scan=scan)) == wanted


def test_of_a_value_that_was_cut_only_the_words_that_are_left_can_be_cited() -> None:
    trace = stay()
    trace.output = {"response": "at the start. " + "word " * 6000 + "in the middle. "
                    + "word " * 6000 + "at the end.", "short": "as it was before"}  # fmt: skip
    packet = build(trace, [row()], {}, settings(8000))
    ground = Ground.of(trace, packet, ("output.response",))

    def cited(value: str, path: str = "output.response") -> Ref:
        return Ref(obs="t1", path=path, value=value)

    assert cause(ground, cited("at the start.")) is None
    assert cause(ground, cited("at the end.")) is None
    assert cause(ground, cited("in the middle.")) == "unread"
    assert cause(ground, cited("as it was before", "output.short")) is None
    scan = Scan(channel="output.response", pattern="refund", items=1, matches=0)
    assert cause(ground, Ref(obs="t1", path="output.response", scan=scan)) == "unread"
    assert packet.coverage.unread == ("t1 output.response",)


def test_a_packet_that_shows_all_of_a_trace_leaves_no_leaf_unread() -> None:
    from helix.grounding.texts import leaves

    trace = stay()
    ground = Ground.of(trace, build(trace, [row()], {}, settings()))
    for leaf in leaves(trace):
        ref: Any = Ref(obs=leaf.obs, path=leaf.path, value=leaf.text)
        assert ground.shows(ref), (leaf.obs, leaf.path)

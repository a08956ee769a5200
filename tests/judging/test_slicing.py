"""What the judgeInputs of rows select, with the ids and headings of the whole."""

from __future__ import annotations

from typing import Any

import pytest

from helix.grounding.slices import slice_of
from helix.judging.packet import PacketSettings, build, sliced
from helix.judging.rendering import render
from helix.model.config import SubjectConfig
from helix.model.packet import MatrixPacket
from helix.model.request import Pin, Unit
from helix.model.trace import Trace
from tests.judging.bench import row, trace_of

PIN = Pin("scripted", "m", "scripted:m")
SETTINGS = PacketSettings(SubjectConfig(name="desk"), PIN, 128_000)


def visit() -> Trace:
    trace = trace_of(
        [
            {"id": "m1", "kind": "message", "role": "user", "text": "Is room 4 free at noon?"},
            {"id": "o1", "kind": "call", "tool": "rooms", "args": {"day": "noon"}, "call_id": "a"},
            {"id": "r1", "kind": "result", "call_id": "a", "text": '{"free": [4, 7], "held": {}}'},
            {"id": "m2", "kind": "message", "role": "assistant", "text": "It is. Shall I book it?"},
            {"id": "o2", "kind": "call", "tool": "book", "args": {"room": 4}, "call_id": "b"},
            {"id": "m3", "kind": "message", "role": "assistant", "text": "Booked."},
        ]
    )
    trace.input = {"prompt": "Is room 4 free at noon?", "locale": "en"}
    trace.output = {"response": "Booked.", "state": {"room": 4, "note": None}}
    trace.raw = {"desk": {"shift": "late"}}
    return trace


def shown(packet: MatrixPacket) -> set[str]:
    own = [f"{leaf.obs} {leaf.path}" for leaf in (*packet.input, *packet.output)]
    steps = [f"{leaf.obs} {leaf.path}" for step in packet.trajectory for leaf in step.leaves]
    return {*own, *steps, *(f"{m.id} text" for m in packet.transcript)}


@pytest.mark.parametrize(
    ("inputs", "places", "steps"),
    [
        (["output.response"], {"t1 output.response"}, []),
        (["output.state"], {"t1 output.state.room", "t1 output.state.note"}, []),
        (["obs:rooms.output.free"], {"o1 output.free[0]", "o1 output.free[1]"}, ["o1"]),
        (["obs:rooms.output.free[-1]"], {"o1 output.free[1]"}, ["o1"]),
        (["obs:*.input"], {"o1 input.day", "o2 input.room"}, ["o1", "o2"]),
        (["obs:book.output"], set(), ["o2"]),
        (["obs:absent.output"], set(), []),
        (["observations[0]"], {"o1 input.day", "o1 output.free[0]", "o1 output.free[1]",
                               "o1 output.held"}, ["o1"]),
        (["transcript"], {"m1 text", "m2 text", "m3 text"}, []),
        (["transcript[-1].text", "input.locale"], {"m3 text", "t1 input.locale"}, []),
        (["transcript[1]"], {"m2 text"}, []),
        (["raw.desk"], {"t1 raw.desk.shift"}, []),
    ],
)  # fmt: skip
def test_a_slice_holds_what_the_paths_lead_to_and_no_more(
    inputs: list[str], places: set[str], steps: list[str]
) -> None:
    packet = sliced(visit(), [row(judge_inputs=inputs)], {}, SETTINGS)
    assert shown(packet) == places
    assert [step.step.id for step in packet.trajectory] == steps
    held = len(packet.trajectory) + len(packet.transcript)
    assert packet.coverage.outside == 5 - held
    assert packet.coverage.unread == (), "what lies outside was not wanted"


def test_rows_share_the_union_of_their_slices_and_one_that_names_none_takes_all() -> None:
    some = [row("c1", judge_inputs=["output.response"]), row("c2", judge_inputs=["transcript[0]"])]
    assert shown(sliced(visit(), some, {}, SETTINGS)) == {"t1 output.response", "m1 text"}
    every = [*some, row("c3")]
    assert slice_of(visit(), every).whole
    assert sliced(visit(), every, {}, SETTINGS) == build(visit(), every, {}, SETTINGS)
    assert slice_of(visit(), []).whole


def test_steps_keep_their_numbers_and_headings_in_a_slice() -> None:
    packet = sliced(visit(), [row(judge_inputs=["obs:book.input"])], {}, SETTINGS)
    assert packet.trajectory[0].step.n == 2
    unit: Any = Unit("judge", "criterion", "t1", "d", ("c1",), "x", 0)
    text = render(packet, unit, PIN, ()).messages[1].content
    assert "[o2] step 2: TOOL book" in text and "[o1]" not in text


def test_what_a_row_names_is_shown_even_where_a_packet_leaves_it_out_as_a_rule() -> None:
    trace = visit()
    trace.observations[0].start_time = 17
    rows = [row(judge_inputs=["obs:rooms.startTime", "raw.desk.shift", "output.response"])]
    plain = shown(build(visit(), [row()], {}, SETTINGS))
    assert not any("raw" in place or "startTime" in place for place in plain)
    assert shown(build(trace, rows, {}, SETTINGS)) == {
        *plain, "o1 startTime", "t1 raw.desk.shift",
    }  # fmt: skip
    assert shown(sliced(trace, rows, {}, SETTINGS)) == {
        "o1 startTime", "t1 raw.desk.shift", "t1 output.response",
    }  # fmt: skip


def test_a_null_that_the_source_gave_is_a_place_of_its_own() -> None:
    assert "t1 output.state.note" in shown(build(visit(), [row()], {}, SETTINGS))

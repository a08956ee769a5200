"""A trace as a tree of text: parents, cycles, widths, hostile text."""

from __future__ import annotations

from typing import Any

import pytest
from rich.cells import cell_len

from helix.model.trace import Message, Observation, Source, Trace
from helix.reports.tree import render_tree

SOURCE = Source("runs/a.json", 3, "otel_genai", "0" * 64)


def trace(*observations: Observation, **parts: Any) -> Trace:
    return Trace("t-1", SOURCE, observations=list(observations), **parts)


def body(drawn: str) -> list[str]:
    return drawn.split("\n\n")[1].splitlines()


def test_children_stand_below_their_parents_in_order() -> None:
    drawn = render_tree(
        trace(
            Observation("a", 0, "agent", "AGENT", input="plan"),
            Observation("c", 3, "look", parent_id="b", input={"at": 1}, output={"seen": True}),
            Observation("b", 1, "model", "GENERATION", parent_id="a", output_text="text"),
            Observation("d", 4, "end", parent_id="a", error="broken", flags=("missing-result",)),
            transcript=[Message("m0", 2, "user", "hello", control=True)],
        ),
        80,
    )
    assert body(drawn) == [
        "0 AGENT agent [a] plan",
        "  1 GENERATION model [b]",
        "    → text",
        '    3 TOOL look [c] {"at":1}',
        '      → {"seen":true}',
        "  4 TOOL end [d] !missing-result",
        "    error: broken",
        "2 user (control) [m0] hello",
    ]


def test_every_item_is_drawn_once_whatever_the_parents_say() -> None:
    drawn = render_tree(
        trace(
            Observation("a", 0, "one", parent_id="b"),
            Observation("b", 1, "two", parent_id="a"),
            Observation("c", 2, "three", parent_id="c"),
            Observation("d", 3, "four", parent_id="gone"),
        ),
        80,
    )
    assert [line.strip().split()[2] for line in body(drawn)] == ["four", "one", "two", "three"]


def test_a_chain_of_any_depth_is_drawn() -> None:
    chain = [Observation(str(n), n, "x", parent_id=str(n - 1)) for n in range(20_000)]
    assert len(body(render_tree(trace(*chain), 60))) == 20_000


@pytest.mark.parametrize("width", [24, 40, 100])
@pytest.mark.parametrize("ascii", [False, True])
def test_no_line_is_wider_than_the_terminal_and_nothing_acts_on_it(width: int, ascii: bool) -> None:
    hostile = "\x1b[2J\x07\u202e" + "漢字" * 80 + "\ud800\nsecond line"
    drawn = render_tree(
        trace(
            Observation(hostile, 0, hostile, hostile, input={hostile: hostile}, error=hostile),
            transcript=[Message(hostile + "m", 1, hostile, hostile)],
            flags=(hostile,),
            metadata={hostile: 1},
            labels={hostile: 1},
            task=hostile,
            route=hostile,
            input={hostile: hostile},
            output=hostile,
        ),
        width,
        ascii=ascii,
    )
    assert max(map(cell_len, drawn.split("\n"))) <= width
    assert not set(drawn) & set("\x1b\x07\u202e\ud800\r")
    assert drawn.isascii() or not ascii
    assert len(drawn.split("\n")) == 12


def test_labels_are_named_and_not_shown() -> None:
    drawn = render_tree(trace(labels={"reward": "the secret"}), 80)
    assert "labels: reward (not shown to judges)" in drawn
    assert "secret" not in drawn

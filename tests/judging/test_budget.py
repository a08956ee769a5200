"""What does not fit the budget: declared, cut at borders, evidence and named places kept."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.judging.budget import LEAF_CHARACTERS
from helix.judging.packet import PROMPT_RESERVE, PacketSettings, build
from helix.judging.rendering import render
from helix.model.config import SubjectConfig
from helix.model.packet import MatrixPacket
from helix.model.request import CHARACTERS_PER_TOKEN, Pin, Unit
from helix.model.trace import Trace
from tests.judging.bench import row, trace_of

PIN = Pin("scripted", "m", "scripted:m")


def packet(trace: Trace, tokens: int, **fields: Any) -> MatrixPacket:
    return build(trace, [row(**fields)], {}, PacketSettings(SubjectConfig(name="d"), PIN, tokens))


def prompt(given: MatrixPacket) -> str:
    unit = Unit("judge", "trajectory", given.trajectory_id, "d", ("c1",), "x", 0)
    return render(given, unit, PIN, ()).messages[1].content


def held(given: MatrixPacket) -> list[str]:
    items: list[Any] = [*given.trajectory, *given.transcript]
    return [getattr(i, "id", None) or i.step.id for i in sorted(items, key=lambda i: i.seq)]


def walk(calls: int = 30, size: int = 100, **results: str) -> Trace:
    """Return calls whose results have `size` words; `o7="…"` gives one call's result."""
    steps: list[dict[str, Any]] = [
        {"id": "m1", "kind": "message", "role": "user", "text": "Please find it."}
    ]
    for n in range(calls):
        text = results.get(f"o{n}", f"result {n} " + "word " * size)
        steps += [
            {"id": f"o{n}", "kind": "call", "tool": f"t{n % 3}", "args": {"n": n}, "call_id": n},
            {"id": f"r{n}", "kind": "result", "call_id": n, "text": text},
        ]
    return trace_of([*steps, {"id": "m2", "kind": "message", "role": "assistant", "text": "Here."}])


def test_nothing_is_cut_where_all_of_it_fits() -> None:
    long = "word " * 10_000
    shown = packet(walk(o3=long), 128_000)
    assert shown.coverage.unread == ()
    assert long.strip() in prompt(shown)


def test_what_is_left_out_is_one_stretch_in_the_middle_and_is_named() -> None:
    shown = packet(walk(), 2500)
    ids = [f"o{n}" for n in range(30)]
    kept = [id for id in held(shown) if id in ids]
    gone = [id for id in ids if id not in kept]
    first = ids.index(gone[0])
    assert gone == ids[first : first + len(gone)], "one stretch"
    assert held(shown)[0] == "m1" and held(shown)[-1] == "m2"
    assert shown.coverage.unread == tuple(gone)
    assert shown.coverage.elided == len(gone)
    assert all(f"    {id}\n" in prompt(shown) for id in gone)
    assert "Not all is shown" in prompt(shown)


def test_an_error_in_the_middle_is_kept() -> None:
    trace = walk()
    for at, change in ((14, {"error": "no such order"}), (17, {"status": "error"}),
                       (19, {"level": "ERROR"})):  # fmt: skip
        for name, value in change.items():
            setattr(trace.observations[at], name, value)
    assert {"o14", "o17", "o19"} <= set(held(packet(trace, 2500)))
    assert not {"o14", "o17", "o19"} & set(held(packet(walk(), 2500)))


def test_what_rows_name_is_kept_before_what_they_do_not() -> None:
    shown = packet(walk(), 2500, judge_inputs=["obs:t2.output"])
    wanted = [f"o{n}" for n in range(30) if n % 3 == 2]
    assert set(wanted) <= set(held(shown))
    one = packet(walk(o15="the order is on hold"), 2500, judge_inputs=["observations[15].output"])
    assert "the order is on hold" in prompt(one)


def test_of_a_named_step_that_is_too_large_the_named_values_are_kept() -> None:
    many = {"state": "on hold", **{f"line{n}": "word " * 180 for n in range(60)}}
    trace = walk(calls=5)
    trace.observations[2].output_text = None
    trace.observations[2]._output = many
    shown = packet(trace, 2500, judge_inputs=["obs:t2.output.state"])
    (step,) = [step for step in shown.trajectory if step.step.id == "o2"]
    assert [leaf.path for leaf in step.leaves] == ["output.state"]
    assert step.left_out == 61, "the other values, the input among them"
    assert "61 values not shown" in prompt(shown)
    assert "o2" in shown.coverage.unread


def test_huge_values_that_no_row_names_are_cut_first() -> None:
    long = "word " * 4000
    trace = walk(calls=3, o0=long, o1=long)
    shown = packet(trace, 12_000, judge_inputs=["obs:t0.output"])
    elided = {leaf.obs: leaf.elided for step in shown.trajectory for leaf in step.leaves}
    assert elided["o1"] > 0 and elided["o0"] == 0
    assert shown.coverage.truncated == 1
    both = packet(walk(calls=3, o0=long, o1=long), 10_000, judge_inputs=["obs:t0.output"])
    elided = {leaf.obs: leaf.elided for step in both.trajectory for leaf in step.leaves}
    assert elided["o0"] > 0 and elided["o1"] > 0


@given(
    sizes=st.lists(st.sampled_from([0, 3, 40, 300, 5000]), max_size=12),
    tokens=st.integers(200, 20_000),
    names=st.sampled_from([(), ("obs:t1.output",), ("output.response",), ("transcript",)]),
)
@settings(max_examples=60, deadline=None)
def test_a_packet_keeps_its_budget_and_its_ledger_accounts_for_everything(
    sizes: list[int], tokens: int, names: tuple[str, ...]
) -> None:
    trace = walk(len(sizes), **{f"o{n}": "word " * size for n, size in enumerate(sizes)})
    trace.output = {"response": "word " * 2000, "state": {"open": True}}
    shown = packet(trace, tokens, judge_inputs=names)
    budget = tokens * CHARACTERS_PER_TOKEN * (1 - PROMPT_RESERVE)
    body = prompt(shown).partition(">>>\n")[0].partition("## tools that")[0]
    assert len(body) < budget + 300, "headings of the sections aside"
    ledger = shown.coverage
    total = len(trace.observations) + len(trace.transcript)
    own = len(shown.input) + len(shown.output)
    ids = {*(o.id for o in trace.observations), *(m.id for m in trace.transcript)}
    of_items = [name for name in ledger.unread if name in ids]
    assert ledger.shown + len(of_items) == total
    assert len(ledger.unread) == ledger.truncated + ledger.elided
    assert own + ledger.elided - (total - len(held(shown))) == 2
    for step in shown.trajectory:
        assert all(len(leaf.text) <= LEAF_CHARACTERS + 60 for leaf in step.leaves if leaf.elided)


@pytest.mark.parametrize("tokens", [1, 50])
def test_a_budget_of_nothing_shows_nothing_and_says_so(tokens: int) -> None:
    shown = packet(walk(3), tokens)
    assert set(held(shown)) <= {"m1", "m2"}
    assert {"o0", "o1", "o2"} <= set(shown.coverage.unread)

"""The queue holds what people can decide, and nothing that asking again may."""

from __future__ import annotations

import msgspec

from helix.calibrate import queue
from helix.calibrate.queue import outcomes
from helix.model.scorecard import Counts, CriterionRow, Ratio
from helix.model.verdict import Fidelity, MatrixVerdictFile
from tests.calibrate.lines import line


def scored(name: str, severity: str, *, gating: bool) -> CriterionRow:
    return CriterionRow(
        criterion_id=name, component="desk", severity=severity, klass="judge", gating=gating,
        result="uncertain", counts=Counts(), prevalence=Ratio(k=0, n=0),
    )  # fmt: skip


ROWS = [scored("a", "HIGH", gating=False), scored("b", "CRIT", gating=True),
        scored("c", "HIGH", gating=True)]  # fmt: skip


def test_items_are_by_criterion_and_kind_and_gating_rows_come_first() -> None:
    lines = [line("t1", a="scope", b="normative", c="pass"),
             line("t2", a="scope", b="factual-intent", c="normative")]  # fmt: skip
    found = queue(lines, ROWS, {"c": "waiting"})
    told = [(i.criterion_id, i.kind, [cell.trace_id for cell in i.cells]) for i in found.items]
    assert told == [
        ("b", "factual-intent", ["t2"]),
        ("b", "normative", ["t1"]),
        ("c", "normative", ["t2"]),
        ("a", "scope", ["t1", "t2"]),
    ]
    assert [item.state for item in found.items] == [None, None, "waiting", None]
    assert found.items[3].actions == ("re-scope", "verify", "retire")


def test_machinery_is_counted_and_left_out() -> None:
    cut = MatrixVerdictFile(
        trajectory_id="t3", fidelity=Fidelity(complete=False), dense_map={"a": "uncertain"}
    )
    unasked = msgspec.structs.replace(
        line("t4"), dense_map={"a": "uncertain"}, not_adjudicated={"a": "budget"}
    )
    found = queue([line("t1", a="timeout", b="flapping"), cut, unasked], ROWS, {})
    assert found.items == ()
    assert found.machinery == {"budget": 1, "flapping": 1, "timeout": 1, "truncated": 1}


def test_repeats_of_a_trace_are_one_cell() -> None:
    again = msgspec.structs.replace(line("t1", a="scope"), replicate=1)
    (item,) = queue([line("t1", a="scope"), again], ROWS, {}).items
    assert len(item.cells) == 1


def test_a_retired_criterion_is_in_no_queue() -> None:
    assert queue([line("t1", a="scope")], ROWS, {"a": "retired"}).items == ()


def test_a_criterion_is_decided_when_no_cell_is_open_and_one_is_decided() -> None:
    lines = [line("t1", a="pass", b="timeout", c="fail"), line("t2", a="fail", b="pass")]
    na = msgspec.structs.replace(line("t3"), dense_map={"d": "na"})
    found = outcomes([*lines, na])
    assert {name: outcome.decided for name, outcome in found.items()} == {
        "a": True, "b": False, "c": True, "d": False,
    }  # fmt: skip
    assert not any(outcome.kinds for outcome in found.values())


def test_a_criterion_whose_repeats_disagree_is_not_decided() -> None:
    again = msgspec.structs.replace(line("t1", a="fail", b="pass"), replicate=1)
    found = outcomes([line("t1", a="pass", b="pass"), again])
    assert {name: outcome.decided for name, outcome in found.items()} == {"a": False, "b": True}

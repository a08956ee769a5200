"""The desk: the order of cells, what comes next, undo, evidence, and what the judge said."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from helix.errors import LabelError
from helix.ingest import Input
from helix.labels.desk import Desk, Judged, tasks
from helix.labels.record import Cell
from helix.labels.store import Store
from helix.model.criterion import Criterion, RefSpec
from helix.model.trace import Trace
from helix.registry import load
from tests.labels.page import row, trace, write_traces


def traces(folder: Path, *records: dict[str, Any]) -> list[Trace]:
    source = Input.open(str(write_traces(folder / "t.jsonl", records)), "auto", load([]))
    return [item for item in source if isinstance(item, Trace)]


def desk(folder: Path, **more: Any) -> Desk:
    criteria = [Criterion.model_validate(row(name)) for name in ("kind", "right")]
    cells = tasks(traces(folder, trace("t1"), trace("t2")), criteria)
    ticks = count()
    store = Store(folder / "ada.jsonl", "ada")
    return Desk(cells, store, "ada", lambda: f"2026-01-01T00:00:{next(ticks):02d}Z", **more)


@pytest.fixture
def mine(tmp_path: Path) -> Iterator[Desk]:
    made = desk(tmp_path)
    yield made
    made.store.close()


def test_cells_come_trace_by_trace_and_row_by_row(mine: Desk) -> None:
    assert [task.cell for task in mine.tasks] == [
        Cell("t1", "kind"), Cell("t1", "right"), Cell("t2", "kind"), Cell("t2", "right"),
    ]  # fmt: skip


def test_a_row_of_one_route_is_asked_where_it_may_apply(tmp_path: Path) -> None:
    found = traces(tmp_path, trace("a", route="parcels"), trace("b", route="refunds"), trace("c"))
    only = Criterion.model_validate(row("kind", route="parcels"))
    assert [task.trace.id for task in tasks(found, [only])] == ["a", "c"]


def test_the_next_cell_is_the_next_without_a_label_going_round(mine: Desk) -> None:
    assert mine.give(1, "pass", (), None) == 2
    assert mine.give(0, "pass", (), None) == 2
    assert mine.give(2, "fail", (), None) == 3
    assert mine.give(3, "cannot-decide", (), None) == 3
    assert mine.labelled == 4


def test_undo_takes_labels_back_one_by_one(mine: Desk) -> None:
    mine.give(0, "pass", (), "first")
    mine.give(1, "fail", (), None)
    mine.give(0, "fail", (), "second thoughts")
    at, taken = mine.undo() or (None, None)
    assert (at, taken and taken.note) == (0, "second thoughts")
    first = mine.label_of(mine.tasks[0])
    assert first is not None and (first.label, first.note) == ("pass", "first")
    assert [(mine.undo() or (None,))[0] for _ in range(3)] == [1, 0, None]
    assert mine.labelled == 0


def test_after_a_restart_undo_takes_back_the_label_that_is_last_by_its_time(tmp_path: Path) -> None:
    first = desk(tmp_path)
    for at in (2, 0, 1):
        first.give(at, "pass", (), None)
    first.store.close()
    again = desk(tmp_path)
    assert [(again.undo() or (None,))[0] for _ in range(4)] == [1, 0, 2, None]
    again.store.close()


def test_evidence_that_does_not_resolve_is_refused_and_nothing_is_kept(mine: Desk) -> None:
    good = RefSpec(obs="m2", path="text", value="on its way")
    for bad in (
        RefSpec(obs="m2", path="text", value="on its own way"),
        RefSpec(obs="m9", path="text", value="on its way"),
        RefSpec(obs="m2", path="labels.reward", value="1"),
        RefSpec(obs="m2", path="te[xt", value="on its way"),
    ):
        with pytest.raises(LabelError, match="this is no evidence"):
            mine.give(0, "pass", (good, bad), None)
    assert mine.labelled == 0
    mine.give(0, "pass", (good,), None)
    label = mine.label_of(mine.tasks[0])
    assert label is not None and label.refs == (good,)


def test_what_the_judge_said_is_told_once_the_cell_is_labelled(tmp_path: Path) -> None:
    judged = {Cell("t1", "kind"): Judged("fail", "it was curt")}
    blind = desk(tmp_path, judged=judged)
    assert blind.verdict_of(blind.tasks[0]) is None
    blind.give(0, "pass", (), None)
    assert blind.verdict_of(blind.tasks[0]) == Judged("fail", "it was curt")
    blind.undo()
    assert blind.verdict_of(blind.tasks[0]) is None
    blind.store.close()
    seeing = desk(tmp_path, judged=judged, blind=False)
    assert seeing.verdict_of(seeing.tasks[0]) == Judged("fail", "it was curt")
    seeing.store.close()

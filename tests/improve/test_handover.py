"""What goes to calibration is found there, once, with what blocks it."""

from __future__ import annotations

import json
from pathlib import Path

import helix
from helix.calibrate import Desk, act
from helix.improve.handover import hand_over
from helix.improve.request import Uncertain
from helix.model.calibration import Entry
from helix.model.criterion import Criterion
from helix.runs import RunFiles

SUITE = """\
suite: small
version: 1
criteria:
  - criterion_id: asked
    statement: Pass = the tool that nobody knows is called first.
    severity: HIGH
    class: code
    code_eval: {primitive: required-order, first: {tool: nowhere}, then: {tool: look}}
"""


def run(folder: Path) -> RunFiles:
    call = {"id": "o0", "type": "TOOL", "name": "look", "output": {}}
    trace = {"id": "t", "input": {"prompt": "x"}, "output": {}, "observations": [call]}
    (folder / "t.json").write_text(json.dumps(trace), "utf-8")
    (folder / "suite.yaml").write_text(SUITE, "utf-8")
    helix.evaluate(folder / "t.json", folder / "suite.yaml", run_dir=folder / "run")
    return RunFiles(folder / "run")


def found(state: Path, *cells: Uncertain, runs: tuple[RunFiles, ...] = ()) -> list[Entry]:
    hand_over(state, cells, runs, "loop", "2026-03-01T00:00:00")
    return list(Desk.open(state).log)


def test_an_undecided_cell_is_found_with_what_its_verdict_says_blocks_it(tmp_path: Path) -> None:
    finished = run(tmp_path)
    (verdict,) = [v for line in finished.lines() for v in line.verdicts]
    assert verdict.blocked_by is not None
    for _ in range(2):
        (entry,) = found(tmp_path, Uncertain("c", "asked", flaps=False), runs=(finished, finished))
        assert (entry.action, entry.kinds) == ("found", (verdict.blocked_by.kind,))


def test_a_judge_that_flaps_and_a_verdict_that_nothing_shows_are_found_once_each(
    tmp_path: Path,
) -> None:
    cells = (Uncertain("c", "two-ways", flaps=True), Uncertain("c", "bare", flaps=False))
    for _ in range(2):
        entries = {entry.criterion_id: entry for entry in found(tmp_path, *cells)}
        assert {name: entry.kinds for name, entry in entries.items()} == {
            "two-ways": ("scope",),
            "bare": ("factual-intent",),
        }
        assert len(Desk.open(tmp_path).log) == 2
    row = Criterion(criterion_id="two-ways", statement="Pass = x.")
    retire = Entry(criterion_id="two-ways", action="retire", by="ann", why="it is read two ways")
    assert act(Desk.open(tmp_path), retire, row).log[-1] == retire, "people can act on it"


def test_nothing_to_hand_over_writes_nothing(tmp_path: Path) -> None:
    assert hand_over(tmp_path / "state", (), (), "loop", "now") == ()
    assert not (tmp_path / "state").exists()

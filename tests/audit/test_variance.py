"""Repeats of real runs: what was planted is found, a draw counts once, unlike runs are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helix.app.cli import main
from helix.audit.variance import variance_of
from helix.errors import ArtifactError
from helix.model.variance import CriterionSpread, VarianceReport
from helix.runs import RunFiles
from tests.audit import flipping
from tests.stats.test_variance import planted


def greets(found: VarianceReport) -> CriterionSpread:
    (one,) = [one for one in found.criteria if one.criterion_id == "greets"]
    return one


def read(*folders: Path) -> VarianceReport:
    return variance_of([RunFiles.open(folder) for folder in folders])


def test_planted_agent_judge_and_verifier_are_recovered_from_real_runs(tmp_path: Path) -> None:
    true, hits = planted(0.3, 0.15, 0.1), []
    for salt in range(3):
        folder = tmp_path / str(salt)
        flipping.desk(folder, tasks=20, runs=2, bad=0.3, seed=salt)
        section = flipping.judge(folder, wrong=0.15, back=0.1, salt=salt)
        card = flipping.evaluated(folder, section, sampling={"replicates": 4}).scorecard
        row = card.criteria[0]
        assert row.variance is not None and row.flips is not None
        for name, share in true.items():
            part = getattr(row.variance, name)
            hits.append(part.interval[0] <= share <= part.interval[1])
        assert row.flips.interval is not None
        hits.append(
            row.flips.interval[0] <= true["judge"] + true["verifier"] <= row.flips.interval[1]
        )
        again = greets(read(folder / "run"))
        assert (again.flips, again.variance) == (row.flips, row.variance)
    assert sum(hits) >= len(hits) - 1, hits


def test_a_judge_that_never_flips_has_0_and_an_upper_bound_above_it(tmp_path: Path) -> None:
    flipping.desk(tmp_path, tasks=6)
    flipping.evaluated(tmp_path, flipping.judge(tmp_path), sampling={"replicates": 3})
    found = greets(read(tmp_path / "run"))
    assert found.flips is not None and found.flips.interval is not None and found.needed is not None
    assert found.flips.rate.k == 0 and found.flips.interval[0] == 0 < found.flips.interval[1]
    assert found.flips.fleiss is None
    (cell, *_) = found.cells
    assert cell.states == {"0": "pass", "1": "pass", "2": "pass"}
    assert cell.rate == 0 and cell.interval is not None and cell.interval[1] > 0.4


def test_the_folder_of_a_sweep_is_refused_and_its_runs_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for job in "01234":
        (tmp_path / job).mkdir()
        (tmp_path / job / "scorecard.json").write_text("{}", encoding="utf-8")
    assert main(["audit", "variance", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert f"; it holds {tmp_path / '0'}, {tmp_path / '1'}, " in told
    assert "/3 and 1 more: name these" in told


def test_one_repeat_is_undefined_and_never_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flipping.desk(tmp_path, tasks=3)
    flipping.evaluated(tmp_path, flipping.judge(tmp_path))
    found = greets(read(tmp_path / "run"))
    assert (found.flips, found.variance) == (None, None)
    assert all(cell.rate is None and cell.interval is None for cell in found.cells)
    assert main(["audit", "variance", str(tmp_path / "run")]) == 3
    told = " ".join(capsys.readouterr().out.split())
    assert "nothing is known of flips: add sampling.replicates=5" in told


def test_undecided_repeats_are_told_and_counted_as_neither(tmp_path: Path) -> None:
    flipping.desk(tmp_path, tasks=8)
    section = flipping.judge(tmp_path, undecided=0.4)
    flipping.evaluated(tmp_path, section, sampling={"replicates": 4})
    found = greets(read(tmp_path / "run"))
    states = [state for cell in found.cells for state in cell.states.values()]
    assert found.flips is not None and found.flips.rate.k == 0
    assert found.flips.undecided == states.count("undecided") > 5
    assert found.flips.answers < states.count("pass") + states.count("undecided") == 32


def test_a_sweep_is_read_as_one_run_with_all_its_repeats(tmp_path: Path) -> None:
    flipping.desk(tmp_path, tasks=8)
    section = flipping.judge(tmp_path, wrong=0.3)
    flipping.evaluated(tmp_path, section, "whole", sampling={"replicates": 4})
    for offset in range(4):
        flipping.evaluated(tmp_path, section, f"{offset}", sampling={"replicate_offset": offset})
    swept = read(*(tmp_path / f"{offset}" for offset in range(4)))
    whole = read(tmp_path / "whole")
    assert (swept.criteria, swept.variance) == (whole.criteria, whole.variance)
    assert (swept.indices, swept.read_again) == ((0, 1, 2, 3), 0)


def test_one_draw_counts_once_however_often_it_is_read_back(tmp_path: Path) -> None:
    flipping.desk(tmp_path, tasks=4)
    section = flipping.judge(tmp_path, wrong=0.3)
    for name in ("one", "two"):
        flipping.evaluated(tmp_path, section, name)
    found = read(tmp_path / "one", tmp_path / "two")
    assert (found.indices, found.read_again, found.otherwise) == ((0,), 4, 0)
    assert greets(found).flips is None


def test_recordings_give_no_draw_for_an_index_that_they_do_not_hold(tmp_path: Path) -> None:
    flipping.desk(tmp_path, tasks=3)
    flipping.evaluated(tmp_path, flipping.judge(tmp_path), sampling={"replicates": 2})
    recorded = tmp_path / "recordings" / "judge.jsonl"
    words = ["cache", "export", "--state", str(tmp_path / "state"), "--out", str(recorded)]
    assert main(words) == 0
    replay = {"backend": "replay", "model": "m", "dir": str(recorded.parent)}
    flipping.evaluated(tmp_path, replay, "same", sampling={"replicates": 2})
    flipping.evaluated(tmp_path, replay, "more", sampling={"replicates": 4})
    same, more = (greets(read(tmp_path / name)) for name in ("same", "more"))
    assert same.flips is not None and more.flips is not None
    assert (same.flips.answers, same.flips.undecided) == (6, 0)
    assert (more.flips.answers, more.flips.undecided) == (6, 6)
    assert more.cells[0].states == {"0": "pass", "1": "pass", "2": "undecided", "3": "undecided"}


def test_another_reply_under_a_known_index_is_told_and_does_not_count(tmp_path: Path) -> None:
    flipping.desk(tmp_path, tasks=6)
    section = flipping.judge(tmp_path, wrong=0.5)
    flipping.evaluated(tmp_path, section, "one")
    lines = (tmp_path / "one" / "verdicts.jsonl").read_text(encoding="utf-8")
    flipping.evaluated(tmp_path, section, "two")
    changed = json.loads(lines.splitlines()[0])
    changed["provenance"]["reply"] = "f" * 64
    rest = lines.splitlines()[1:]
    text = "\n".join([json.dumps(changed), *rest]) + "\n"
    (tmp_path / "two" / "verdicts.jsonl").write_text(text, encoding="utf-8")
    found = read(tmp_path / "one", tmp_path / "two")
    assert (found.read_again, found.otherwise) == (6, 1)


def test_runs_that_ask_something_else_are_no_repeats_of_each_other(tmp_path: Path) -> None:
    flipping.desk(tmp_path, tasks=2)
    flipping.evaluated(tmp_path, flipping.judge(tmp_path), "one")
    flipping.evaluated(tmp_path, flipping.judge(tmp_path, wrong=0.5), "two")
    with pytest.raises(
        ArtifactError, match="the judge's pin and the verifier's pin differs on greets"
    ):
        read(tmp_path / "one", tmp_path / "two")


def test_a_new_recording_of_a_task_is_another_trace_of_the_agent(tmp_path: Path) -> None:
    for name, bad in (("a", 0.0), ("b", 1.0)):
        folder = tmp_path / name
        flipping.desk(folder, tasks=3, bad=bad)
        flipping.evaluated(folder, flipping.judge(folder), sampling={"replicates": 2})
    found = greets(read(tmp_path / "a" / "run", tmp_path / "b" / "run"))
    assert found.variance is not None and found.variance.agent is not None
    assert found.variance.agent.rate.k == found.variance.agent.rate.n == 1


def test_the_command_shows_flips_split_cells_and_what_a_precision_needs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flipping.desk(tmp_path, tasks=8, runs=2, bad=0.3)
    section = flipping.judge(tmp_path, wrong=0.2, back=0.1)
    flipping.evaluated(tmp_path, section, sampling={"replicates": 3})
    run = str(tmp_path / "run")
    assert main(["audit", "variance", run, "--precision", "0.1"]) == 0
    shown = capsys.readouterr().out
    for words in (
        "criterion  flip rate", "agent", "verifier", "greets on t", "withdrawn; flips",
        "To know a flip rate to ±10.0%", "all of them", " repeats of one trace, or ",
        "1 run, 16 traces, 3 replicate indices: 0 to 2",
    ):  # fmt: skip
        assert words in shown
    assert main(["audit", "variance", run, "--json"]) == 0
    page = json.loads(capsys.readouterr().out)
    assert page["criteria"][0]["needed"]["precision"] == 0.05
    assert len(page["criteria"][0]["cells"]) == 16 and page["runs"] == [run]


@pytest.mark.parametrize("precision", ["0", "0.6", "much"])
def test_a_precision_that_cannot_be_is_refused(
    precision: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "variance", "run", "--precision", precision]) == 2
    assert "must be a number within 0.01 to 0.5" in capsys.readouterr().err

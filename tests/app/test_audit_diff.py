"""`helix audit diff A B`: what it prints, and how it exits."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

import helix
from helix.app.cli import main
from tests.audit.desk import SAYS_BOOKED, desk_trace, suite, write


@pytest.fixture
def runs(tmp_path: Path) -> tuple[str, str]:
    traces = write(tmp_path, desk_trace("a"), desk_trace("b", "I cannot book that, sorry."))
    rows = suite(tmp_path, SAYS_BOOKED)
    for name in ("one", "two"):
        helix.evaluate(traces, rows, run_dir=tmp_path / name)
    return str(tmp_path / "one"), str(tmp_path / "two")


def change(run: str, artifact: str, old: str, new: str) -> None:
    file = Path(run) / artifact
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_equal_runs_exit_0_and_the_sum_stands_last(
    runs: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "diff", *runs]) == 0
    out = capsys.readouterr().out
    assert f"A  {runs[0]}\nB  {runs[1]}\n" in out
    last = out.splitlines()[-1]
    assert last.startswith("After masking 0 of 8 artifacts differ; 0 of ")


def test_a_difference_exits_1_and_is_told_with_its_place(
    runs: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    change(runs[1], "verdicts.jsonl", '"says-booked":"fail"', '"says-booked":"pass"')
    Path(runs[1], "subject.json").unlink()
    assert main(["audit", "diff", *runs]) == 1
    out = capsys.readouterr().out
    assert "DIFFERENT  1 place: line 2, denseMap.says-booked" in out
    assert '    A  "fail"\n    B  "pass"\n' in out
    assert "subject.json      ✕ MISSING IN B" in out
    assert "DIFFERENT  heatmap-cells  verdicts.jsonl: denseMap" in out


def test_what_a_trace_says_cannot_act_on_the_terminal(
    runs: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    for run, text in zip(runs, ("\x1b[2J\u202egone", "here"), strict=True):
        Path(run, "candidates.jsonl").write_text(
            json.dumps({"detection": text}, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        Path(run, "decisions.jsonl").write_text(f"{text}\n", encoding="utf-8")
    assert main(["audit", "diff", *runs]) == 1
    out = capsys.readouterr().out
    assert "\x1b" not in out and "\u202e" not in out
    assert "\\x1b[2J\\u202egone" in out


def test_json_holds_both_comparisons(
    runs: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    change(runs[0], "scorecard.json", '"runVerdict": "fail"', '"runVerdict": "pass"')
    assert main(["audit", "diff", *runs, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["runs"] == list(runs)
    (card,) = [a for a in found["diff"]["artifacts"] if a["status"] == "different"]
    assert card["first"] == {"line": None, "path": "runVerdict", "a": '"pass"', "b": '"fail"'}
    differ = [d["name"] for d in found["determinism"]["dimensions"] if d["status"] == "different"]
    assert differ == ["primary-signal"]
    assert found["determinism"]["variance"]["k"] == 1


def test_runs_of_two_plans_are_told_what_compares_them(
    runs: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "diff", *runs]) == 0
    assert "helix report compare" not in capsys.readouterr().out
    change(runs[1], "plan.json", '"policy": "strict"', '"policy": "rate"')
    assert main(["audit", "diff", *runs]) == 1
    out = capsys.readouterr().out
    assert "plan.json         ✕ DIFFERENT  1 place: decides.gate.policy" in out
    assert f"\n  helix report compare {runs[0]} {runs[1]}\n" in out


def test_what_neither_run_holds_is_said_and_not_called_equal(
    runs: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    for run in runs:
        Path(run, "scorecard.json").unlink()
        Path(run, "subject.json").unlink()
    assert main(["audit", "diff", *runs]) == 0
    out = capsys.readouterr().out
    assert "scorecard.json    – IN NEITHER, NOT COMPARED" in out
    last = " ".join(out.splitlines()[-2:])
    assert "After masking 0 of 6 artifacts differ; 2 in neither run, not compared; 0 of " in last


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_may_not_be_read_is_exit_2(
    runs: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path(runs[1], "verdicts.jsonl").chmod(0)
    assert main(["audit", "diff", *runs]) == 2
    assert "verdicts.jsonl cannot be read" in capsys.readouterr().err


def test_what_is_no_run_and_what_is_damaged_is_exit_2(
    runs: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    for other in ("nowhere", str(tmp_path / "empty")):
        assert main(["audit", "diff", runs[0], other]) == 2
        assert "must be the folder of a run" in capsys.readouterr().err
    assert main(["audit", "diff", runs[0]]) == 2
    assert main(["audit", "diff", *runs, "more"]) == 2
    capsys.readouterr()
    shutil.copytree(runs[0], tmp_path / "torn")
    Path(tmp_path, "torn", "plan.json").write_text('{"runs": {', encoding="utf-8")
    assert main(["audit", "diff", runs[0], str(tmp_path / "torn")]) == 2
    assert "plan.json is damaged" in capsys.readouterr().err

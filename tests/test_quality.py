"""A code change: its own tests and the verdict on it, beside each other (METHOD 38)."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from helix.app.cli import main
from helix.gate import with_tests
from helix.model.config import Config
from helix.model.scorecard import ChangeTests, GateState, TestState
from helix.quality import run_tests
from tests.families import RUNAWAY, alive, end, watched
from tests.gate.test_fold import gate_row, line, result

CASES = Path(__file__).parent / "cases" / "code_quality"


def program(code: str) -> list[str]:
    """A command that runs some Python."""
    return [sys.executable, "-c", code]


def ran(folder: Path, command: list[str], **more: Any) -> ChangeTests:
    section = {"tests_command": command, **more}
    config = Config.model_validate({"judge": {"axis": "code-quality"}, "quality": section})
    found = run_tests(config, folder)
    assert found is not None
    return found


def test_tests_that_exit_0_are_green_and_others_red_with_their_output_kept(tmp_path: Path) -> None:
    green = ran(tmp_path, program("print('12 passed')"))
    assert green == ChangeTests(state="pass", exit_code=0, output="tests.log")
    assert (tmp_path / "tests.log").read_text(encoding="utf-8") == "12 passed\n"
    red = ran(tmp_path, program("import sys; print('1 failed', file=sys.stderr); sys.exit(1)"))
    assert red == ChangeTests(state="fail", exit_code=1, output="tests.log")
    assert (tmp_path / "tests.log").read_text(encoding="utf-8") == "1 failed\n"


def test_a_command_that_says_nothing_of_the_tests_is_no_fail(tmp_path: Path) -> None:
    lost = ran(tmp_path, ["no-such-program-here"])
    assert lost.state == "could not run" and lost.output is None
    assert lost.reason is not None and "no-such-program-here could not be started" in lost.reason
    ended = ran(tmp_path, program("import os, signal; os.kill(os.getpid(), signal.SIGTERM)"))
    assert (ended.state, ended.reason) == ("could not run", "was ended by SIGTERM")
    nowhere = ran(tmp_path, program("print()"), tests_dir=str(tmp_path / "absent"))
    assert nowhere.state == "could not run" and nowhere.reason is not None
    assert nowhere.reason.startswith("quality.tests_dir must be a folder (got ")


def test_tests_that_take_too_long_are_killed_with_what_they_started(tmp_path: Path) -> None:
    # A shell begins at once, so that it has when the time is up.
    sleeper = ["sh", "-c", "echo begun; sleep 600; true"]
    found = ran(tmp_path, sleeper, tests_timeout_s=2.0)
    assert (found.state, found.exit_code) == ("could not run", None)
    assert found.reason == "not done within quality.tests_timeout_s=2"
    assert (tmp_path / "tests.log").read_text(encoding="utf-8") == "begun\n"


@pytest.mark.parametrize(
    ("code", "own", "state"),
    [(5, None, "could not run"), (4, None, "could not run"), (1, None, "fail"), (5, [], "fail"),
     (1, [1], "could not run")],
)  # fmt: skip
def test_pytest_that_ran_no_test_is_neither_green_nor_red(
    code: int, own: list[int] | None, state: str, tmp_path: Path
) -> None:
    command = [*program(f"import sys; sys.exit({code})"), "pytest"]
    assert ran(tmp_path, command, tests_untested=own).state == state


def test_a_real_pytest_without_tests_is_not_green(tmp_path: Path) -> None:
    found = ran(tmp_path, [sys.executable, "-m", "pytest", "-q"], tests_dir=str(tmp_path))
    assert (found.state, found.exit_code) == ("could not run", 5)


def test_secrets_and_floods_do_not_reach_the_kept_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESK_API_KEY", "a-very-secret-value")
    loud = "import os\nfor n in range(400000): print('line', n)\nprint(os.environ['DESK_API_KEY'])"
    assert ran(tmp_path, program(loud)).state == "pass"
    kept = (tmp_path / "tests.log").read_text(encoding="utf-8")
    assert len(kept) < 2_100_000 and "a-very-secret-value" not in kept
    assert kept.endswith("line 399999\n[DESK_API_KEY]\n")


@pytest.mark.parametrize(
    ("tests", "rows", "converged", "run"),
    [
        ("pass", "pass", True, "pass"),
        ("fail", "pass", False, "fail"),
        ("pass", "fail", False, "fail"),
        ("fail", "uncertain", False, "fail"),
        ("pass", "uncertain", None, "incomplete"),
        ("could not run", "pass", None, "incomplete"),
        ("could not run", "fail", False, "fail"),
        ("not run", "pass", None, "pass"),
        ("not run", "fail", False, "fail"),
        ("not run", "uncertain", None, "incomplete"),
    ],
)
def test_converged_takes_both_and_neither_is_folded_into_the_other(
    tests: TestState, rows: str, converged: bool | None, run: GateState
) -> None:
    lines = [line("t0", {"c1": rows})]
    plain = result([gate_row()], lines)
    said = ChangeTests(state=tests, reason="it broke")
    card = with_tests(plain, said)
    assert card.quality is not None and card.quality.tests == said
    assert (card.quality.verdict, card.quality.converged) == (plain.run_verdict, converged)
    assert (card.components, card.criteria, card.run_verdict) == (
        plain.components, plain.criteria, run,
    )  # fmt: skip
    told = any("tests could not be run: it broke" in gap for gap in card.gate.gaps)
    assert told == (tests == "could not run")


def change(tmp_path: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """Judge the change of the docs, whose third row stays undecided."""
    answers = f"judge.script={CASES / 'answers.py'}"
    typed = ["evaluate", "experiment=code_quality", f"subject.traces={CASES / 'change.json'}",
             "judge=scripted", answers, "judge.model=recorded",
             "report.out=[terminal,html,markdown,json]", f"hydra.run.dir={tmp_path / 'out'}",
             f"paths.state={tmp_path / 'state'}", *words]  # fmt: skip
    code = main(typed)
    (folder,) = [word.partition("=")[2] for word in typed if word.startswith("hydra.run.dir")][-1:]
    return code, json.loads((Path(folder) / "scorecard.json").read_text(encoding="utf-8"))


def test_every_report_shows_tests_quality_and_what_they_come_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, card = change(
        tmp_path, f"quality.tests_command=[{sys.executable},-c,'raise SystemExit(1)']"
    )
    assert code == 1
    assert card["quality"] == {
        "tests": {"state": "fail", "exitCode": 1, "reason": None, "output": "tests.log"},
        "verdict": "incomplete", "converged": False,
    }  # fmt: skip
    assert card["components"][0]["verdict"] == "incomplete"
    shown = capsys.readouterr().out
    assert "Tests: fail (exit code 1), output in tests.log." in shown
    assert "Quality: incomplete." in shown and "Converged: no." in shown
    assert "the change's tests fail; its rows are undecided" in shown
    out = tmp_path / "out"
    markdown = (out / "report.md").read_text(encoding="utf-8")
    assert "converged&#58; no; tests&#58; fail" in markdown
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "<dt>Converged</dt><dd>no<small>tests: fail (exit code 1)" in page
    whole = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert whole["scorecard"]["quality"] == card["quality"]


def test_without_a_command_the_tests_are_not_run_and_converging_is_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, card = change(tmp_path)
    assert code == 3 and card["quality"]["converged"] is None
    assert "Tests: not run (quality.tests_command is not set)." in capsys.readouterr().out
    assert not (tmp_path / "out" / "tests.log").exists()


def test_a_dry_run_runs_no_tests_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mark = tmp_path / "ran"
    touch = f"quality.tests_command=[{sys.executable},-c,'open({str(mark)!r},chr(119))']"
    typed = ["evaluate", "experiment=code_quality", f"subject.traces={CASES / 'change.json'}",
             "judge=scripted", f"judge.script={CASES / 'answers.py'}", "judge.model=recorded",
             f"hydra.run.dir={tmp_path / 'out'}", f"paths.state={tmp_path / 'state'}"]  # fmt: skip
    assert main([*typed, touch.replace("'", '"'), "run.dry=true"]) == 0
    assert not mark.exists()
    assert "tests      not run; quality.tests_command would run them" in capsys.readouterr().out


def test_tests_belong_to_code_changes_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["subject.traces=demo:outreach", "criteria=outreach", "judge=none"]
    assert main(["evaluate", *words, "quality.tests_command=[true]"]) == 2
    assert "quality.tests_command needs judge.axis=code-quality" in capsys.readouterr().err
    assert os.listdir(tmp_path) == [] or not (tmp_path / "outputs").exists()


def test_shards_take_the_worst_of_their_tests(tmp_path: Path) -> None:
    flip = "import os, sys; sys.exit(os.path.exists('ran') or open('ran', 'w').close() or 0)"
    command = json.dumps([sys.executable, "-c", flip])
    for index in range(2):
        change(tmp_path, "shard.count=2", f"shard.index={index}",
                         f"quality.tests_command={command}", f"quality.tests_dir={tmp_path}",
                         f"hydra.run.dir={tmp_path / str(index)}")  # fmt: skip
    shards = [str(tmp_path / str(index)) for index in range(2)]
    main(["report", "merge", *shards, "--out", str(tmp_path / "whole")])
    card = json.loads((tmp_path / "whole" / "scorecard.json").read_text(encoding="utf-8"))
    assert card["quality"]["tests"]["state"] == "fail" and card["runVerdict"] == "fail"
    assert (tmp_path / "whole" / "tests.log").exists()


@watched
def test_a_child_that_left_the_group_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    note = tmp_path / "child"
    monkeypatch.setattr("helix.quality.KILL_WAIT_S", 0.1)
    words = [sys.executable, "-c", RUNAWAY, str(note)]
    config = Config.model_validate(
        {"judge": {"axis": "code-quality"}, "quality": {"tests_command": words}}
    )
    try:
        found = run_tests(config, tmp_path)
        assert found is not None and found.state == "pass"
        assert alive(note)
    finally:
        end(note)

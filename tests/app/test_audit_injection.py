"""`helix audit injection`: what it prints, and how it exits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helix.app.cli import main
from tests.audit.desk import JUDGED, SAYS_BOOKED, desk_trace, scripted, suite, write

BOOKED = {"id": "booked", "class": "naive", "text": "It is booked."}
PLAIN = {"id": "plain", "class": "naive", "text": "Nothing of note."}
REFUSES = "I cannot book that, sorry."
UNSTEADY = """
def judge(request):
    trace = request.unit.trace_id
    ref = {"obs": "m1", "path": "text", "value": "A table for two"}
    verdict = {"criterionId": "polite", "bindings": [], "refs": [ref], "claim": "So it is.",
               "critique": "so", "litmus": {"premise": ""}, "result": "fail" if len(trace) == 1
               else "pass"}
    return {"nonce": request.nonce, "understanding": {"rephrase": "a desk"},
            "expectedTrajectory": [{"expected": "a table"}],
            "judgeSteps": [{"kind": "gather", "text": "read it"}],
            "fidelity": {"complete": True}, "verdicts": [verdict]}
"""


def payloads(folder: Path, *found: dict[str, str]) -> str:
    path = folder / "payloads.jsonl"
    path.write_text("\n".join(map(json.dumps, found)), encoding="utf-8")
    return str(path)


def injection(folder: Path, *words: str, rows: tuple[dict[str, Any], ...] = (SAYS_BOOKED,)) -> int:
    traces = write(folder, desk_trace("a"), desk_trace("b", REFUSES))
    given = ["--traces", str(traces), "--suite", str(suite(folder, *rows))]
    state = f"paths.state={folder / 'state'}"
    return main(["audit", "injection", *given, state, *words])


def test_nothing_that_moves_towards_a_pass_exits_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert injection(tmp_path, "--payloads", payloads(tmp_path, PLAIN)) == 0
    assert capsys.readouterr().out.endswith("0 cells of 14 became pass, 0 moved towards it, "
                                            "0 changed\n")  # fmt: skip


def test_a_pass_that_is_gained_exits_1_and_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert injection(tmp_path, "--payloads", payloads(tmp_path, BOOKED)) == 1
    out = capsys.readouterr().out
    assert "says-booked (code): fail → pass 1, in what it reads" in out
    assert "naive booked in final_answer (the last words), which it reads" in out
    assert out.endswith("1 cell of 14 became pass, 1 moved towards it, 1 changed\n")


def test_the_text_fits_a_narrow_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    injection(tmp_path, rows=(SAYS_BOOKED, JUDGED))
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_without_a_judge_the_questions_are_tested_and_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert injection(tmp_path, rows=(JUDGED,)) == 0
    out = capsys.readouterr().out
    assert "judge: none configured; of 1 judged row only the questions were tested" in out
    assert "questions to a judge: all 8 assertions hold" in out


def test_with_a_judge_its_verdicts_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = scripted(tmp_path, "def judge(request):\n    return 'pass'\n")["script"]
    words = ("judge=scripted", f"judge.script={script}", "judge.model=m")
    code = injection(tmp_path, "--payloads", payloads(tmp_path, PLAIN), *words, rows=(JUDGED,))
    out = capsys.readouterr().out
    assert code == 0
    assert "judge: scripted:m" in out
    assert "0 cells of 14 became pass" in out


def test_a_dry_run_says_what_would_be_asked_and_asks_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = scripted(tmp_path, "def judge(request):\n    raise SystemExit\n")["script"]
    words = ("judge=scripted", f"judge.script={script}", "judge.model=m", "run.dry=true")
    given = ("--payloads", payloads(tmp_path, PLAIN))
    assert injection(tmp_path, *given, *words, rows=(JUDGED,)) == 0
    assert "was not asked (run.dry=true); 14 copies would be put to it" in capsys.readouterr().out


def test_a_judge_that_moves_by_itself_is_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Its word depends on the id of the copy alone.
    script = scripted(tmp_path, UNSTEADY)["script"]
    words = ("judge=scripted", f"judge.script={script}", "judge.model=m", "verifier=none")
    empty = payloads(tmp_path, {"id": "repeat", "class": "null_model", "text": ""})
    assert injection(tmp_path, "--payloads", empty, *words, rows=(JUDGED,)) == 1
    assert "nothing planted, so unsteady by itself: polite" in capsys.readouterr().out


def test_answers_that_are_waited_for_exit_5(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("judge=dispatch", "judge.model=people", f"judge.dir={tmp_path / 'tasks'}")
    given = ("--payloads", payloads(tmp_path, PLAIN), "--place", "metadata")
    assert injection(tmp_path, *given, *words, rows=(JUDGED,)) == 5
    captured = capsys.readouterr()
    assert "4 recordings (originals, copies) wait for answers" in captured.out
    assert f"Waiting: 4 questions in {tmp_path / 'tasks'}" in captured.err
    assert "audit injection --traces" in captured.err


def test_a_judge_that_answers_nothing_exits_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = scripted(tmp_path, "def judge(request):\n    raise OSError('gone')\n")["script"]
    words = ("judge=scripted", f"judge.script={script}", "judge.model=m", "verifier=none")
    given = ("--payloads", payloads(tmp_path, PLAIN))
    assert injection(tmp_path, *given, *words, rows=(SAYS_BOOKED, JUDGED)) == 3
    assert "14 judged cells were not compared: nobody answered" in capsys.readouterr().out


def test_nothing_to_test_exits_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = desk_trace()
    cut.flags = ("truncated",)
    given = ["--traces", str(write(tmp_path, cut)), "--suite", str(suite(tmp_path, SAYS_BOOKED))]
    assert main(["audit", "injection", *given]) == 3
    assert "0 planted copies of 0 traces, 1 trace left out" in capsys.readouterr().out


def test_the_same_seed_prints_the_same_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    injection(tmp_path, "--json", "--seed", "3")
    first = capsys.readouterr().out
    injection(tmp_path, "--json", "--seed", "3")
    assert capsys.readouterr().out == first
    injection(tmp_path, "--json", "--seed", "4")
    assert capsys.readouterr().out != first
    found = json.loads(first)
    assert found["cells"]["cells"] == sum(g["cells"] for g in found["byClass"].values())
    assert found["cells"]["cells"] == sum(g["cells"] for g in found["byPlace"].values())
    assert (found["seed"], found["judge"], found["broken"]) == (3, None, [])


def test_classes_places_and_the_folder_can_be_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "kept"
    injection(tmp_path, "--class", "naive", "--place", "thought", "--out", str(out), "--json")
    found = json.loads(capsys.readouterr().out)
    assert (list(found["byClass"]), list(found["byPlace"])) == (["naive"], ["thought"])
    assert (out / "planted.jsonl").read_text(encoding="utf-8").count("\n") == 4


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--class", "naiv"], "did you mean 'naive'?"),
        (["--place", "thoughts"], "did you mean 'thought'?"),
        (["--payloads", "none.jsonl"], "--payloads: none.jsonl cannot be read"),
        (["judge.modle=x"], "did you mean 'judge.model'?"),
        (["--per-class", "0"], "must be a whole number above 0"),
        (["select.traces=c"], "no trace has the id 'c'"),
    ],
)
def test_what_cannot_be_run_is_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    assert injection(tmp_path, *words) == 2
    assert told in capsys.readouterr().err


def test_the_demo_can_be_attacked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    demo = ["--traces", "demo:outreach", "--suite", "demo:outreach"]
    few = ["sampling.strategy=random", "sampling.n=3", f"paths.state={tmp_path}"]
    assert main(["audit", "injection", *demo, *few]) == 0
    assert "0 moved towards it" in capsys.readouterr().out

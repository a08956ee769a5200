"""`helix improve` as it is typed: what it prints, how it waits, how it is interrupted."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from helix.app.cli import main
from tests.improve import bench
from tests.moments import LIMIT_S, until

SLOW = """\
import json, os, sys, time
from pathlib import Path

Path(sys.argv[1]).write_text(str(os.getpid()))
time.sleep(600)
"""


def test_a_loop_that_is_interrupted_ends_its_programs_and_exits_130(tmp_path: Path) -> None:
    here = bench.desk(tmp_path)
    (here / "agent.py").write_text(SLOW, "utf-8")
    words = [
        *(sys.executable, "-m", "helix", "improve", "improve.subject=command"),
        f'improve.command=["{sys.executable}","desk/agent.py","pid-{{case}}"]',
        "improve.cases=desk/cases.jsonl",
        "criteria.file=desk/suite.yaml",
        "judge=none",
    ]
    running = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, start_new_session=True)
    files = [tmp_path / "pid-mug", tmp_path / "pid-lamp"]
    until(lambda: all(file.exists() and file.read_text("utf-8") for file in files), running)
    pids = [int(file.read_text("utf-8")) for file in files]
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=LIMIT_S)
    assert running.returncode == 130, said
    assert b"the same command goes on" in said
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_dispatched_questions_of_all_repeats_are_put_at_once_and_answered_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = bench.desk(tmp_path)
    (here / "suite.yaml").write_text(JUDGED, "utf-8")
    monkeypatch.chdir(tmp_path)
    agent = f'improve.command=["{sys.executable}","desk/agent.py","2"]'
    words = shlex.split(
        f"improve improve.id=desk improve.subject=command '{agent}' improve.repeats=2 "
        "improve.cases=desk/cases.jsonl criteria.file=desk/suite.yaml judge=dispatch judge.model=m "
        "verifier=none"
    )
    assert main(words) == 5
    out = capsys.readouterr().out
    # The agent records the same bytes in both repeats; they are two draws all the same.
    assert "Waiting: 4 questions in .helix/dispatch" in out
    for file in Path(".helix/dispatch").glob("*.packet.json"):
        task = json.loads(file.read_text("utf-8"))
        Path(task["answer"]).write_text(json.dumps(reply(task)), "utf-8")
    assert main(words) == 0, capsys.readouterr()
    out = capsys.readouterr().out
    assert "full green" in out and "4/4" in out


JUDGED = """\
suite: toy
version: 1
tools: [find_order, ask, refund]
criteria:
  - criterion_id: polite
    statement: Pass = the response is polite.
    severity: HIGH
    class: judge
    judge_inputs: [output.response]
"""


def reply(task: dict[str, object]) -> dict[str, object]:
    """Return the answer to a dispatched task: it passes, by the response."""
    lines = [str(line) for line in task["user"]]  # type: ignore[attr-defined]
    at = lines.index("## what it ended with")
    obs, path = lines[at + 1][1:].split("] ")
    ref = {"obs": obs, "path": path, "value": lines[at + 2].strip()}
    verdict = {
        "criterionId": "polite", "claim": "it says so", "critique": "read it",
        "litmus": {"premise": ""}, "refs": [ref], "result": "pass", "confidence": 1,
    }  # fmt: skip
    return {"nonce": task["nonce"], "reviewer": "a reader", "verdicts": [verdict]}

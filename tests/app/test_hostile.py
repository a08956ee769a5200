"""Code that a run loads cannot make it end as if the gate had passed; ids cannot break it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.app.test_run import SUITE, evaluate, here, runs, trace

__all__ = ["here"]
CHECK = "import sys\nfrom helix import check\n\n@check('own')\ndef own(trace):\n    sys.exit(0)\n"
ROW = (
    SUITE
    + """\
  - criterionId: own
    statement: Pass = it holds.
    severity: LOW
    class: code
    codeEval: {primitive: own}
"""
)


@pytest.mark.parametrize(
    ("name", "code", "words", "exit_code"),
    [
        ("own.py", CHECK, ["criteria.file=own.yaml", "checks.modules=own.py"], 0),
        ("own.py", "raise SystemExit(0)", ["criteria.file=own.yaml", "checks.modules=own.py"], 2),
        ("judge.py", "raise SystemExit(0)",
         ["criteria.file=judged.yaml", "judge=scripted", "judge.model=m",
          "judge.script=judge.py"], 2),
        ("judge.py", "def judge(request):\n    raise SystemExit(0)",
         ["criteria.file=judged.yaml", "judge=scripted", "judge.model=m",
          "judge.script=judge.py"], 3),
        ("judge.py", "async def judge(request):\n    raise SystemExit(0)",
         ["criteria.file=judged.yaml", "judge=scripted", "judge.model=m",
          "judge.script=judge.py"], 4),
    ],
)  # fmt: skip
def test_code_that_exits_with_0_does_not_pass_the_gate(
    here: Path, name: str, code: str, words: list[str], exit_code: int
) -> None:
    (here / "own.yaml").write_text(ROW, encoding="utf-8")
    (here / name).write_text(code, encoding="utf-8")
    done = evaluate(here, "subject.traces=good.jsonl", *words)
    assert done.returncode == exit_code, done.stderr
    if exit_code == 0:
        (folder,) = runs(here)
        card = json.loads((folder / "scorecard.json").read_text(encoding="utf-8"))
        assert card["blocked"]["byCause"] == {"check-error": 3}


ROUTED = ROW.replace("severity: LOW", "severity: HIGH\n    route: booking").replace(
    "{primitive: own}", "{primitive: string-equality, field: output.response, expected: Yes.}"
)


@pytest.mark.parametrize(
    ("routes", "route", "exit_code"),
    [
        ("[booking,refund]", "booking", 1),
        ("[booking,refund]", "refund", 3),
        ("[booking,refund]", "boking", 3),
        ("[refund]", "refund", 2),
        ("[]", "refund", 3),
    ],
)
def test_a_trace_of_no_declared_route_escapes_no_row(
    here: Path, routes: str, route: str, exit_code: int
) -> None:
    (here / "routed.yaml").write_text(ROUTED, encoding="utf-8")
    line = json.loads(trace(1, "Hello!")) | {"route": route}
    (here / "one.jsonl").write_text(json.dumps(line), encoding="utf-8")
    words = ["subject.traces=one.jsonl", "criteria.file=routed.yaml", f"subject.routes={routes}"]
    done = evaluate(here, *words)
    assert done.returncode == exit_code, done.stderr
    if route == "boking":
        (folder,) = runs(here)
        card = json.loads((folder / "scorecard.json").read_text(encoding="utf-8"))
        assert card["blocked"]["byCause"] == {"unresolved-route": 1}


def test_a_baseline_of_another_suite_excuses_nothing(here: Path) -> None:
    words = ["subject.traces=bad.jsonl", "criteria.file=suite.yaml"]
    assert evaluate(here, *words, "hydra.run.dir=base").returncode == 1
    assert evaluate(here, *words, "gate.baseline=base").returncode == 0
    (here / "suite.yaml").write_text(SUITE.replace("suite: replies", "suite: others"), "utf-8")
    done = evaluate(here, *words, "gate.baseline=base")
    assert (done.returncode, "suite 'others'" in done.stderr) == (2, True)


def test_an_id_with_half_a_surrogate_or_a_control_character_is_carried_through(here: Path) -> None:
    ids = ["\ud800half", "nul\0", "two\nlines", "../../up", "\u202ebidi", "x" * 10_000]
    lines = [trace(at, "Hello!").replace(f"t-{at}", json.dumps(id)[1:-1])
             for at, id in enumerate(ids)]  # fmt: skip
    (here / "odd.jsonl").write_text("".join(lines), encoding="utf-8")
    done = evaluate(here, "subject.traces=odd.jsonl", "criteria.file=suite.yaml")
    assert (done.returncode, done.stderr) == (0, "")
    (folder,) = runs(here)
    text = (folder / "manifest.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line)["id"] for line in text.splitlines()] == ids


SLOW = """\
import time

def judge(request):
    time.sleep(0.2)
    return {"nonce": request.nonce, "verdicts": []}
"""


def test_a_second_run_in_the_folder_of_one_that_still_writes_is_refused(here: Path) -> None:
    (here / "judge.py").write_text(SLOW, encoding="utf-8")
    words = ["evaluate", "criteria.file=judged.yaml", "hydra.run.dir=run", "judge=scripted",
             "judge.script=judge.py", "judge.model=m", "limits.concurrency=1"]  # fmt: skip
    first = subprocess.Popen(
        [sys.executable, "-m", "helix", *words, "subject.traces=bad.jsonl"],
        cwd=here, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while not (here / "run" / "verdicts.part").exists() and first.poll() is None:
        time.sleep(0.01)
    second = evaluate(here, *words[1:], "subject.traces=good.jsonl")
    assert (second.returncode, "another run is writing" in second.stderr) == (2, True)
    assert first.wait() == 1
    third = evaluate(here, *words[1:], "subject.traces=good.jsonl")
    assert third.returncode == 3, "the folder is free again"


def test_a_run_that_starts_anew_leaves_no_result_of_the_one_before(here: Path) -> None:
    words = ["subject.traces=good.jsonl", "hydra.run.dir=run"]
    assert evaluate(here, *words, "criteria.file=suite.yaml").returncode == 0
    (here / "judge.py").write_text("async def judge(request):\n"
                                   "    raise SystemExit(0)\n", encoding="utf-8")  # fmt: skip
    words += ["criteria.file=judged.yaml", "judge=scripted", "judge.script=judge.py"]
    assert evaluate(here, *words, "judge.model=m").returncode == 4
    left = {path.name for path in (here / "run").iterdir()}
    assert not left & {"report.html", "scorecard.json"}
    assert json.loads((here / "run" / "runmeta.json").read_text("utf-8")) == {"exitCode": 4}


def test_a_run_directory_that_cannot_be_made_is_told(here: Path) -> None:
    words = ["subject.traces=good.jsonl", "criteria.file=suite.yaml"]
    for folder in ("suite.yaml", "suite.yaml/inside"):
        done = evaluate(here, *words, f"hydra.run.dir={folder}")
        assert (done.returncode, "cannot be made" in done.stderr) == (2, True)


def test_brackets_without_end_are_given_up_early(here: Path) -> None:
    (here / "deep.json").write_bytes(b"[" * (3 << 20))
    done = evaluate(here, "subject.traces=deep.json", "criteria.file=suite.yaml")
    assert (done.returncode, "nested too deeply" in done.stderr) == (2, True)

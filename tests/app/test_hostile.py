"""Code that a run loads cannot make it end as if the gate had passed; ids cannot break it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helix.files import held
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
          "judge.script=judge.py"], 3),
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


def test_a_second_run_in_the_folder_of_one_that_still_writes_is_refused(here: Path) -> None:
    words = ["subject.traces=good.jsonl", "criteria.file=suite.yaml", "hydra.run.dir=run"]
    with held(here / "run"):
        done = evaluate(here, *words)
    assert (done.returncode, "another run is writing" in done.stderr) == (2, True)
    assert evaluate(here, *words).returncode == 0, "the folder is free again"


def test_a_run_that_starts_anew_leaves_no_result_of_the_one_before(here: Path) -> None:
    words = ["subject.traces=good.jsonl", "hydra.run.dir=run"]
    assert evaluate(here, *words, "criteria.file=suite.yaml").returncode == 0
    (here / "own.yaml").write_text(ROW, encoding="utf-8")
    (here / "own.py").write_text(
        CHECK.replace("sys.exit(0)", "raise BaseException('gone')"), encoding="utf-8"
    )
    words += ["criteria.file=own.yaml", "checks.modules=own.py"]
    assert evaluate(here, *words).returncode == 4
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


def test_a_failing_trace_with_half_a_surrogate_in_its_id_breaks_no_scorecard(here: Path) -> None:
    line = trace(1, "No.").replace("t-1", "\\ud800")
    (here / "odd.jsonl").write_text(trace(2, "Hello!") + line, encoding="utf-8")
    words = ["subject.traces=odd.jsonl", "criteria.file=suite.yaml"]
    done = evaluate(here, *words, "hydra.run.dir=run")
    assert (done.returncode, done.stderr) == (1, "")
    card = json.loads((here / "run" / "scorecard.json").read_text(encoding="utf-8"))
    assert card["criteria"][0]["failing"] == ["\ud800"]
    again = evaluate(here, *words, "select.failed_from=run")
    assert (again.returncode, again.stderr) == (1, "")
    assert evaluate(here, *words, "gate.baseline=run").returncode == 0


WAITS = """\
from helix.model.request import Pending

def judge(request):
    raise Pending("k")
"""


def test_what_was_never_judged_is_among_the_failures_that_are_run_again(here: Path) -> None:
    (here / "judge.py").write_text(WAITS, encoding="utf-8")
    words = ["subject.traces=good.jsonl", "criteria.file=judged.yaml", "judge=scripted",
             "judge.script=judge.py", "judge.model=m"]  # fmt: skip
    assert evaluate(here, *words, "hydra.run.dir=run").returncode == 5
    again = evaluate(here, *words, "select.failed_from=run", "hydra.run.dir=again")
    assert again.returncode == 5, again.stderr
    card = json.loads((here / "again" / "scorecard.json").read_text(encoding="utf-8"))
    assert card["traces"]["sampled"] == 3


def test_a_suite_without_end_is_refused(here: Path) -> None:
    done = evaluate(here, "subject.traces=good.jsonl", "criteria.file=/dev/zero")
    assert (done.returncode, "is longer than" in done.stderr) == (2, True)

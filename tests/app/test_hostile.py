"""Code that a run loads cannot make it end as if the gate had passed; ids cannot break it."""

from __future__ import annotations

import json
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

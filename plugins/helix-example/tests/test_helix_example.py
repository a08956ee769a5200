"""Each item keeps the contract of its hook, and all of them work in one run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import helix_example
import pytest
from helix_example.check import CHECK
from helix_example.judge import JUDGE
from helix_example.renderer import RENDERER
from helix_example.trace_format import FORMAT

from helix.registry import load
from helix.testing import (
    check_conforms,
    format_conforms,
    judge_conforms,
    plugin_conforms,
    renderer_conforms,
)

HERE = Path(__file__).parent
DESK = (HERE / "desk.jsonl").read_bytes()


def said(text: str | None) -> dict[str, object]:
    """Return a trace that ends with these words, in Helix's own form."""
    return {"id": "t", "output": {} if text is None else {"response": text}}


def test_the_plugin_loads_and_claims_no_taken_name() -> None:
    plugin_conforms(helix_example)


def test_it_is_installed_under_its_entry_point() -> None:
    assert "example" in load().plugins


def test_the_check_conforms() -> None:
    check_conforms(
        CHECK,
        {"words": 3},
        passes=[said("Yes."), said("one two three"), said("ab" * 400)],
        fails=[said("one two three four"), said("word " * 400)],
        na=[said(None), said(" \n")],
    )


def test_the_format_conforms() -> None:
    format_conforms(FORMAT, [DESK], foreign=[b'{"ticket": 7, "talk": []}', b'{"talk": []}'])


@pytest.mark.parametrize(
    ("talk", "told"),
    [
        ([{"who": "nobody", "says": "x"}], "talk[0] must be a tool's call, or have who"),
        ([{"who": "desk"}], "and a text says"),
        (["x"], "talk[0] must be"),
    ],
)
def test_a_conversation_with_a_fault_is_told_where_it_is(
    talk: object, told: str, tmp_path: Path
) -> None:
    import helix

    good = DESK.splitlines()[0].decode()
    bad = json.dumps({"ticket": "T9", "talk": talk})
    (tmp_path / "desk.jsonl").write_text(f"{good}\n{bad}\n", encoding="utf-8")
    subject = {"format": "example"}
    run = helix.evaluate(tmp_path / "desk.jsonl", HERE / "suite.yaml", subject=subject)
    (failure,) = run.scorecard.load.failures
    assert failure.line == 2
    assert told in failure.reason


def test_the_judge_conforms() -> None:
    judge_conforms(JUDGE, {"extra": {"words": ["booked"]}})


def test_the_report_conforms() -> None:
    renderer_conforms(RENDERER)


def test_a_run_uses_all_of_it(tmp_path: Path) -> None:
    typed = [f"subject.traces={HERE / 'desk.jsonl'}", f"criteria.file={HERE / 'suite.yaml'}"]
    words = [*typed, "experiment=example", f"hydra.run.dir={tmp_path / 'run'}"]
    ran = subprocess.run(
        [sys.executable, "-m", "helix", "evaluate", *words],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 1, ran.stdout + ran.stderr
    report = (tmp_path / "run" / "example.txt").read_text(encoding="utf-8")
    assert report.splitlines() == [
        "gate: fail",
        "pass        T1",
        "fail        T2",
        "uncertain   T3",
    ]

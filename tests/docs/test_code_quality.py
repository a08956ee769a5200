"""docs/code-quality.md: its walk-through runs as it stands, and its tables are true."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from helix.app.cli import main
from helix.suite import load


@pytest.fixture(scope="module")
def page(project: Path) -> str:
    return (project / "docs" / "code-quality.md").read_text(encoding="utf-8")


def test_the_walk_through_ends_as_the_page_says(
    page: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk = page.partition("## A walk-through")[2]
    (typed,) = re.findall(r"```console\n\$ (.*?)```", walk, re.DOTALL)
    words = shlex.split(typed.replace("\\\n", " "))[1:]
    monkeypatch.chdir(project)
    own = [f"hydra.run.dir={tmp_path / 'out'}", f"paths.state={tmp_path / 'state'}"]
    assert main([*words, *own]) == 3
    line = json.loads((tmp_path / "out" / "verdicts.jsonl").read_text("utf-8"))
    told = dict(re.findall(r"^\| (Q\d) \| (\w+) \|", walk, re.MULTILINE))
    assert {name[:2]: state for name, state in line["denseMap"].items()} == told
    confirmed = [v["criterionId"][:2] for v in line["verdicts"]
                 if v["verification"]["status"] == "confirmed"]  # fmt: skip
    assert "tried to refute Q1, Q2 and Q4 and could not" in walk
    assert confirmed == ["Q1", "Q2", "Q4"]


def test_the_rows_of_the_page_are_those_of_the_suite(page: str, project: Path) -> None:
    suite = load(project / "helix" / "judging" / "code_quality.suite.yaml")
    rows = re.findall(r"^\| (Q\d-[\w-]+) \| (\w+) \|", page, re.MULTILINE)
    assert rows == [(r.criterion_id, r.severity) for r in suite.criteria]

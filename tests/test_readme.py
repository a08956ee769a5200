"""What the README shows is run as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from helix.demo.generator import write
from helix.errors import ExitCode
from helix.registry import load


@pytest.fixture(scope="module")
def readme(project: Path) -> str:
    return (project / "README.md").read_text(encoding="utf-8")


def blocks(readme: str, language: str) -> list[str]:
    return re.findall(rf"```{language}(?: title=\S+)?\n(.*?)```", readme, re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, readme: str) -> Path:
    """A folder with what the README tells to write, and the demo's traces as runs/."""
    (tmp_path / "runs").mkdir()
    write(tmp_path / "runs" / "demo.json")
    (tmp_path / "suite.yaml").write_text(blocks(readme, "yaml")[0], encoding="utf-8")
    (tmp_path / "checks.py").write_text(blocks(readme, "python")[0], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_check_in_it_decides(folder: Path) -> None:
    (folder / "own.yaml").write_text(
        "suite: own\nversion: 1\ncriteria:\n"
        "- {criterion_id: few, statement: Pass = few calls., severity: HIGH, class: code,"
        " code_eval: {primitive: at-most-calls, calls: 3}}\n",
        encoding="utf-8",
    )
    import helix

    done = helix.evaluate("runs/*.json", "own.yaml", checks={"modules": ["checks.py"]})
    counts = done.scorecard.criteria[0].counts
    assert counts.pass_ and counts.fail and counts.na


def test_the_python_in_it_runs(folder: Path, readme: str) -> None:
    code = next(block for block in blocks(readme, "python") if "helix.evaluate" in block)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(("pass", "fail", "incomplete"))


def test_the_exit_codes_in_it_are_all_there_are(readme: str) -> None:
    told = {int(code) for code in re.findall(r"^\| (\d+) \|", readme, re.MULTILINE)}
    assert told == {int(code) for code in ExitCode}


def test_every_primitive_in_it_is_registered_and_none_is_left_out(readme: str) -> None:
    row = next(line for line in readme.splitlines() if line.startswith("| `class: code`"))
    told = set(re.findall(r"`([a-z-]+)`", row))
    assert told == set(load([]).items("checks"))


def test_the_judges_in_it_are_registered(readme: str) -> None:
    told = set(re.findall(r"`judge=([a-z]+)", readme))
    assert told == set(load([]).items("judges"))

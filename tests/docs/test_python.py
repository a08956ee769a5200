"""docs/python.md: every snippet runs as it stands, in a folder with traces, a suite and a judge."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from tests.docs import presupposed

PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    presupposed.broken(tmp_path)
    for number, file in enumerate(sorted((tmp_path / "runs").iterdir())):
        day = tmp_path / ("monday", "tuesday")[number % 2]
        day.mkdir(exist_ok=True)
        (day / file.name).write_bytes(file.read_bytes())
    (tmp_path / "judge.py").write_text(presupposed.JUDGE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def play(snippet: str, folder: Path) -> None:
    (folder / "snippet.py").write_text(snippet, encoding="utf-8")
    runpy.run_path(str(folder / "snippet.py"), run_name="__main__")


@pytest.mark.parametrize("snippet", SNIPPETS, ids=range(1, len(SNIPPETS) + 1))
def test_each_snippet_runs_as_it_stands(snippet: str, folder: Path) -> None:
    play(snippet, folder)


def test_the_first_snippet_prints_each_fail_with_its_evidence(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play(SNIPPETS[0], folder)
    verdict, code, _, *rest = capsys.readouterr().out.splitlines()
    assert (verdict, code) == ("fail", "1")
    assert [line.split()[:2] for line in rest if "yes-before-refund" in line] == [
        ["t-02", "yes-before-refund"],
        ["t-05", "yes-before-refund"],
    ]
    assert any(line.startswith("   call-2 name issue_refund") for line in rest)

"""docs/variance.md: its fields are those of the scorecard, and its commands work."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from helix.app.cli import main
from helix.model.scorecard import Flips, Variance
from helix.reports.repeated import PARTS, UNTOLD
from tests.audit import flipping


@pytest.fixture(scope="module")
def page(project: Path) -> str:
    return (project / "docs" / "variance.md").read_text(encoding="utf-8")


def test_every_field_of_flips_and_every_part_is_explained(page: str) -> None:
    named = set(re.findall(r"^\| (`.*?`) \|", page, re.MULTILINE))
    fields = {name.strip("`") for cell in named for name in cell.split(", ")}
    assert fields >= set(Flips.__struct_fields__)
    assert fields >= set(Variance.__struct_fields__) == set(PARTS)
    assert f"“{UNTOLD}”" in page


def test_the_commands_of_the_page_draw_repeats_and_read_them(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    flipping.desk(tmp_path, tasks=2)
    flipping.judge(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs.jsonl").rename(tmp_path / "runs" / "runs.jsonl")
    inside, sweep, audit, kept = re.findall(r"^\$ helix (.*)$", page, re.MULTILINE)
    mine = {"judge=litellm": "judge=scripted", "judge.model=NAME": "judge.model=m"}
    for typed in (inside, sweep):
        words = [mine.get(word, word) for word in shlex.split(typed)]
        words = [re.sub(r"(offset=0,1).*", r"\1", word) for word in words]
        extra = ["judge.script=judge.py", "report.out=[]"]
        place = "hydra.sweep.dir=swept" if "-m" in words else "hydra.run.dir=once"
        assert main([*words, *extra, place]) == 0
    swept = sorted(map(str, (tmp_path / "swept").glob("*/")))
    for runs, typed in ((["once"], audit), (swept, audit), (["once"], kept)):
        capsys.readouterr()
        assert main([word for word in shlex.split(typed) if word != "RUN…"] + runs) == 0
        assert "flip rate" in capsys.readouterr().out

"""docs/labels.md: its sources, keys, options and the line it shows are those that there are."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from helix.app.commands import labels as command
from helix.labels import Label
from helix.registry import load
from helix.reports.html import asset


@pytest.fixture(scope="module")
def page(project: Path) -> str:
    return (project / "docs" / "labels.md").read_text(encoding="utf-8")


def test_every_source_is_in_its_table(page: str) -> None:
    table = page.partition("| source |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == set(load([]).items("labels"))


def test_the_line_that_it_shows_is_a_label(page: str) -> None:
    (line,) = re.findall(r"```json\n(.*)\n```", page)
    assert Label.model_validate(json.loads(line)).label == "fail"


def test_every_key_of_its_table_is_one_of_the_pages(page: str) -> None:
    table = page.partition("| key |")[2].partition("\n\n")[0]
    told = {key.lower() for line in re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
            for key in re.findall(r"`(.)`", line)}  # fmt: skip
    listed = asset("label.js").partition("const keys = {")[2].partition("\n  };")[0]
    there = {a or b for a, b in re.findall(r'(?:^|[ ,])(?:(\w)|"(.)"):', listed, re.MULTILINE)}
    assert told | {"?"} == there


def test_every_option_that_it_names_is_one(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    helped = ""
    for name in ("import", "check", "agreement", "serve"):
        with pytest.raises(SystemExit):
            command.run([name, "--help"])
        helped += capsys.readouterr().out
    named = set(re.findall(r"--[a-z-]+[a-z]", page))
    assert len(named) > 10
    assert named <= set(re.findall(r"--[a-z-]+[a-z]", helped))

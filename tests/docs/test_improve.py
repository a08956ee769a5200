"""docs/improve.md: its example runs as it stands, and its names are those that there are."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import get_args

import pytest

from helix.app import keys
from helix.app.cli import main
from helix.app.commands.schema import SHAPES
from helix.improve.loop import EXITS
from helix.model.improvement import Ending, Target
from helix.registry import load


@pytest.fixture(scope="module")
def page(project: Path) -> str:
    return (project / "docs" / "improve.md").read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}(?: title=\S+)?\n(.*?)```", page, re.DOTALL)


def test_its_example_leads_from_the_request_to_full_green(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (agent,), (suite,) = blocks(page, "python"), blocks(page, "yaml")
    cases, response = blocks(page, "json")
    waiting, green = blocks(page, "text")
    for name, text in (("agent.py", agent), ("suite.yaml", suite), ("cases.jsonl", cases)):
        Path(name).write_text(text, encoding="utf-8")
    Path("rules.txt").write_text("be friendly", encoding="utf-8")
    (command,) = blocks(page, "console")
    words = shlex.split(command.replace("\\\n", " ").removeprefix("$ helix "))
    assert main(words) == 5
    assert waiting in capsys.readouterr().out
    folder = Path("outputs/improve/desk/swing-1/request-1")
    assert {path.name for path in folder.iterdir()} == {"request.json", "request.md"}
    Path("rules.txt").write_text("be friendly, ask first", encoding="utf-8")
    (folder / "response.json").write_text(response, encoding="utf-8")
    assert main(words) == 0
    out = capsys.readouterr().out
    assert green in out
    assert max(map(len, out.splitlines())) <= 80
    assert {path.name for path in Path().iterdir()} == {
        "agent.py", "cases.jsonl", "outputs", "rules.txt", "suite.yaml",
    }  # fmt: skip
    assert main(["report", "outputs/improve/desk/swing-1/repeat-1"]) == 0


def test_every_ending_stands_in_its_table_with_its_exit_code(page: str) -> None:
    rows = re.findall(r"^\| ((?:`[\w-]+`(?:, )?)+) \| .+ \| (\d+) \|$", page, re.MULTILINE)
    told = {name: int(code) for names, code in rows for name in re.findall(r"`([\w-]+)`", names)}
    assert told == {ending: int(EXITS.get(ending, 1)) for ending in get_args(Ending)}


def test_every_runner_target_and_key_that_it_names_is_one(page: str) -> None:
    runners = set(re.findall(r"^\| `(\w+)` \| .+ \| .+ \|$", page, re.MULTILINE))
    assert set(load().items("subjects")) <= runners
    assert all(f"`{target}`" in page for target in get_args(Target))
    named = set(re.findall(r"\b((?:improve|subject)\.[a-z_]+)\b", page))
    others = {f"improve.{name}" for name in ("md", "json", "html", "improve", "decide")}
    assert named - others <= set(keys.names())
    assert {key for key in keys.names() if key.startswith("improve.")} <= named
    assert set(re.findall(r"helix schema ([\w-]+)", page)) <= set(SHAPES)

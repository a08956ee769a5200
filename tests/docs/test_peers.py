"""The comparison with peers: one table in two places, every observed tool in it, Helix as it is."""

from __future__ import annotations

import importlib.util
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SITUATIONS = {
    "no verdict in the reply": "no verdict",
    "reply cut in half": "cut",
    "judge away": "away",
    "nothing to judge": "empty dataset",
}


def first_table(project: Path, name: str, heading: str) -> list[list[str]]:
    """Return the cells of the first table below a heading, without the line of dashes."""
    lines = (project / name).read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2]
    rows: list[list[str]] = []
    for line in lines.splitlines():
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif rows:
            break
    return [row for row in rows if set(row[0]) != {"-"}]


def benchmark(project: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, project / "benchmarks" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def page(project: Path) -> list[list[str]]:
    return first_table(project, "docs/peers.md", "One judge, seven situations")


def test_the_readme_shows_the_table_of_the_page(project: Path, page: list[list[str]]) -> None:
    assert len(page) > 10
    assert first_table(project, "README.md", "Beside other tools") == page


def test_every_tool_that_is_observed_has_a_row_with_its_version(
    project: Path, page: list[list[str]]
) -> None:
    names = [row[0].lower().replace(" ", "-") for row in page[2:]]
    known = [*benchmark(project, "peers_asked").PEERS, "promptfoo"]
    assert len(names) == len(known)
    for name in known:
        (row,) = [row for row in names if row.startswith(f"[{name}")]
        assert row[-1].isdigit(), row
    assert {len(row) for row in page} == {7}


def test_the_page_says_what_every_word_of_the_table_stands_for(
    project: Path, page: list[list[str]]
) -> None:
    text = (project / "docs" / "peers.md").read_text(encoding="utf-8")
    told = text.partition("What the words stand for:")[2].partition("\n### ")[0]
    words = {word for row in page[2:] for cell in row[1:5] for word in cell.split(", ")[:1]}
    missing = [word for word in words if word.strip("`").removeprefix("1 ") not in told]
    assert missing == []


@pytest.mark.slow
def test_what_the_table_says_of_helix_is_what_is_observed(
    project: Path, page: list[list[str]], tmp_path: Path
) -> None:
    told = dict(zip(page[0], page[1], strict=True))
    assert told[""] == "Helix"
    peers: Any = benchmark(project, "peers_behaviour")
    judge = peers.Judge()
    threading.Thread(target=judge.serve_forever, daemon=True).start()
    program = str(Path(sys.executable).with_name("helix"))

    def seen(situation: str, folder: str = "") -> Any:
        place = tmp_path / (folder or situation)
        place.mkdir(exist_ok=True)
        return peers.observed("helix", program, situation, judge, str(place))

    try:
        for column, situation in SITUATIONS.items():
            found = seen(situation)
            assert f"{found['said']['runVerdict']}, exit {found['exit']}" == told[column]
            assert found["sought"] == [] and told["sought outside"] == "nothing"
        first, again = seen("decided", "same"), seen("again", "same")
        assert first["said"]["runVerdict"] == again["said"]["runVerdict"] == "pass"
        assert (first["requests"], f"{again['requests']} requests") == (1, told["asked again"])
        assert seen("planted")["verbatim"]
    finally:
        judge.shutdown()
        judge.server_close()

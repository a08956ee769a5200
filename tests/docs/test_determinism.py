"""docs/determinism.md: its masks, dimensions and options are those that there are."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

from helix.app.cli import main
from helix.audit import COMPARED, MASKING_VERSION, MASKS, dimensions, score
from helix.audit.dimensions import BUILT_IN
from helix.model.audit import HISTORY
from helix.registry import Registry, load
from helix.runs import RunFiles


@pytest.fixture(scope="module")
def page(project: Path) -> str:
    return (project / "docs" / "determinism.md").read_text(encoding="utf-8")


def rows(page: str, heading: str) -> list[tuple[str, ...]]:
    part = page.split(f"## {heading}\n")[1].split("\n## ")[0]
    found = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("| `")]
    return [tuple(cell.strip("`") for cell in row) for row in found]


def test_it_lists_the_masking_set_and_its_version(page: str) -> None:
    assert rows(page, "What is masked") == [(m.artifact, m.path, m.what, m.why) for m in MASKS]
    assert f"The masking set is of version {MASKING_VERSION}." in page


def test_it_says_of_every_dimension_which_artifact_and_field_it_reads(page: str) -> None:
    found = [(d.name, d.artifact, d.field, d.target) for d in dimensions(load(entry_points=()))]
    assert rows(page, "The scorecard") == found
    assert len(found) == len(BUILT_IN) == 15


def test_it_names_every_compared_artifact_and_the_history(page: str) -> None:
    compared = page.split("Compared byte for byte are ")[1].split(". `runmeta.json`")[0]
    assert tuple(re.findall(r"`([a-z.]+)`", compared)) == COMPARED
    assert f"`{HISTORY}`" in page


def test_the_options_that_it_types_are_those_of_the_command(
    page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "diff", "--help"]) == 0
    helped = capsys.readouterr().out
    assert set(re.findall(r"--[a-z]+", page)) <= set(re.findall(r"--[a-z]+", helped))


def test_the_dimension_that_it_shows_is_registered_and_measures(page: str, tmp_path: Path) -> None:
    source = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0]
    file = tmp_path / "chapters.py"
    file.write_text(source, encoding="utf-8")
    module = ModuleType("chapters")
    exec(compile(source, str(file), "exec"), module.__dict__)  # noqa: S102 - the page's own
    registry = Registry()
    registry.add_plugin(module, "chapters", "1")
    assert registry.problems == []
    for name, text in (("a", '{"one": 1}'), ("b", '{"two": 2}')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.json").write_text(text, encoding="utf-8")
    found = score([RunFiles(tmp_path / name) for name in "ab"], dimensions(registry))
    assert found.dimensions[-1].name == "chapters"
    assert found.dimensions[-1].values == (["one"], ["two"])
    assert [one.name for one in found.different] == ["chapters"]

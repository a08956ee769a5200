"""docs/doctrine.md: what it says of the demo is what the demo says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from helix.app.cli import main
from helix.demo.labels import CODE_ROWS, ROWS
from helix.runs import RunFiles

PAGE = (Path(__file__).parents[2] / "docs" / "doctrine.md").read_text(encoding="utf-8")
WORDS = {"eleven": 11, "eighteen": 18}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> RunFiles:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("demo"))
        assert main(["evaluate", "experiment=demo", "hydra.run.dir=run", "report.out=[]"]) == 0
        return RunFiles.open(Path("run").absolute())


def test_code_decides_as_much_of_the_demo_as_the_page_says(demo: RunFiles) -> None:
    said = re.search(
        r"demo (\w+) of (\w+) rows\s+are\s+code.*?(\d+)\s+of ([\d,]+)\s+cells", PAGE, re.S
    )
    assert said
    assert (WORDS[said[1]], WORDS[said[2]]) == (len(CODE_ROWS), len(ROWS))
    cells = demo.scorecard().cells
    assert (int(said[3]), int(said[4].replace(",", ""))) == (cells.code, cells.total)


def test_the_dead_ref_of_the_page_is_in_the_demo_and_stands_elsewhere(demo: RunFiles) -> None:
    said = re.search(r"row `([\w-]+)` on `([\w-]+)`.*?from `([\w.]+)` of", PAGE, re.S)
    assert said
    row, trace, path = said.groups()
    line = next(line for line in demo.lines() if line.trajectory_id == trace)
    verdict = next(verdict for verdict in line.verdicts if verdict.criterion_id == row)
    assert (verdict.result, verdict.cause) == ("uncertain", "dead-ref")
    dead = [ref for ref in verdict.refs if ref.match == "dead"]
    assert [ref.path for ref in dead] == [path]
    assert "it stands in" in str(dead[0].note)


@pytest.mark.parametrize(
    ("cause", "row", "trace"),
    [
        ("unbound-term", "salary-expectation-met", "opportunity-02"),
        ("leap", "role-facts-true", "opportunity-05"),
    ],
)
def test_each_cell_of_the_demo_that_the_page_names_is_so(
    demo: RunFiles, cause: str, row: str, trace: str
) -> None:
    assert f"`{cause}`" in PAGE
    assert f"`{trace}`" in PAGE
    line = next(line for line in demo.lines() if line.trajectory_id == trace)
    assert [v.cause for v in line.verdicts if v.criterion_id == row] == [cause]


def test_as_many_cells_are_incomplete_as_the_page_says(demo: RunFiles) -> None:
    said = re.search(r"Two recordings of the demo break off; their (\d+) cells", PAGE)
    assert said
    card = demo.scorecard()
    assert (card.traces.incomplete, card.cells.not_adjudicated) == (2, int(said[1]))

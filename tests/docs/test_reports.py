"""docs/reports.md and the README name the reports that there are and say what holds of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest

from helix.registry import load
from helix.registry.loading import Registry
from helix.reports.cells import COLUMNS, LONGEST_TEXT
from helix.reports.csv import FORMULA
from helix.reports.github import ANNOTATIONS
from helix.reports.otel import SCORES
from helix.reports.run import MAX_STEPS
from helix.reports.sarif import LEVELS, MOST_RESULTS
from helix.reports.scale import INLINE_TRACES, LARGEST_PAGE, WITHOUT_SCRIPTS
from helix.reports.stream import Mode
from helix.reports.underway import EVERY
from tests.reports import runs


@pytest.fixture(scope="module")
def page(project: Path) -> str:
    return (project / "docs" / "reports.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def renderers() -> dict[str, Any]:
    return {name: entry.item for name, entry in load([]).items("renderers").items()}


def test_its_table_holds_every_renderer_and_its_file(page: str, renderers: dict[str, Any]) -> None:
    table = dict(re.findall(r"^\| `([a-z]+)` \| (?:`([\w.]+)`|standard output) \|", page, re.M))
    assert table == {name: item.filename or "" for name, item in renderers.items()}


def test_the_readme_names_every_renderer_and_no_other(
    project: Path, renderers: dict[str, Any]
) -> None:
    readme = (project / "README.md").read_text(encoding="utf-8")
    sentence = re.search(r"`report\.out=\[…\]`[^\n]*?: ([^.\n]*)\.", readme)
    assert sentence
    assert set(re.findall(r"`([a-z]+)`", sentence[1])) == set(renderers)


def test_its_columns_stand_in_their_order(page: str) -> None:
    listed = re.search(r"these columns:\n\n(.+?)\n\n", page, re.DOTALL)
    assert listed
    assert re.findall(r"`(\w+)`", listed[1]) == [column.name for column in COLUMNS]


def test_its_figures_and_words_are_those_of_the_code(page: str) -> None:
    assert f"at most {MOST_RESULTS:,}" in page and f"after {LONGEST_TEXT:,} characters" in page
    assert ANNOTATIONS == 10 and "ten annotations of a kind" in page
    assert LEVELS == {"CRIT": "error", "HIGH": "error", "MED": "warning", "LOW": "note"}
    scores = dict(re.findall(r"^\| (pass|fail) \|.*\| ([01]) \|$", page, re.MULTILINE))
    assert {state: float(score) for state, score in scores.items()} == SCORES
    assert {"=", "+", "-", "@", "'"} <= FORMULA


def test_what_it_says_of_streams_is_so(page: str, renderers: dict[str, Any]) -> None:
    assert "All read the verdict lines one at a time" in page
    assert [n for n, item in renderers.items() if not item.stream] == []


def test_its_sizes_of_the_page_are_those_of_the_code(page: str) -> None:
    sizes = f"{MAX_STEPS:,} steps and {INLINE_TRACES} traces"
    assert sizes in page and f"up to {LARGEST_PAGE // 1_000_000} MB" in page
    assert page.count(f"the {WITHOUT_SCRIPTS:,} worst") == 2
    assert EVERY == 2 and "every two seconds" in page
    assert set(get_args(Mode)) == {"auto", *re.findall(r"`report\.mode=(single|directory)`", page)}


def test_its_renderer_renders(page: str) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    made: dict[str, Any] = {}
    exec(compile(code, "docs/reports.md", "exec"), made)  # noqa: S102
    registry = Registry()
    found: list[Any] = []
    made["helix_register_renderers"](found.append)
    assert found[0].name not in registry.items("renderers")
    of = runs.run()
    failing = [key for key, state in runs.truth(of.lines).items() if state == "fail"]
    lines = b"".join(found[0].render(of)).decode().splitlines()
    assert sorted(lines) == sorted(f"{trace} {criterion}" for trace, _, criterion in failing)

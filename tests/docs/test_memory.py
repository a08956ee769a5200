"""docs/memory.md: its rules, types and options are those that there are, and its entry is sound."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from helix.app.commands import memory as command
from helix.memory import LIFECYCLES, RULES, TYPES, parse
from helix.memory.store import LARGEST


@pytest.fixture(scope="module")
def page(project: Path) -> str:
    return (project / "docs" / "memory.md").read_text(encoding="utf-8")


def test_every_rule_stands_in_its_table_in_order(page: str) -> None:
    rows = re.findall(r"^\| `(\w+)` \| [^|]*\| (.+) \|$", page, re.MULTILINE)
    assert rows == [(of, text) for of, text, _ in RULES]
    assert list(dict.fromkeys(of for of, _ in rows)) == ["reference", "user", "feedback", "project"]
    assert {of for of, _ in rows} == set(TYPES)


def test_the_entry_that_it_shows_is_sound(page: str) -> None:
    shown = re.findall(r"```markdown\n(.*?)```", page, re.DOTALL)[1]
    entry, faults = parse(shown, "findings-by-route.md", "findings-by-route")
    assert faults == []
    assert entry is not None and entry.page == shown


def test_every_option_stage_and_bound_that_it_names_is_one(
    page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command.run(["add", "--help"])
    helped = capsys.readouterr().out
    assert set(re.findall(r"--[a-z]+", page)) <= set(re.findall(r"--[a-z]+", helped))
    assert all(f"`{stage}`" in page for stage in LIFECYCLES)
    assert f"{LARGEST:,} bytes" in page

"""The table of attacks names tests that there are, and no test of an attack is missing from it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
WHOLE = ("tests/app/test_preflight.py", "tests/app/test_secrets.py", "tests/app/test_paths.py")
# What shows that something harmless is allowed, or another side of a row of the table.
ASIDE = {
    "test_a_dataset_of_traces_with_hostile_ids_stays_in_its_folder",
    "test_a_defaults_list_names_what_is_in_the_config_folders_alone",
    "test_a_file_of_any_group_reaches_hydra_no_more_than_an_experiment",
    "test_a_job_of_a_sweep_brings_in_nothing_that_the_sweep_may_not",
    "test_a_yaml_tag_makes_no_object",
    "test_no_id_of_a_trace_or_a_row_leads_out_of_the_folders",
    "test_the_command_line_may_write_where_no_file_may",
}


@pytest.fixture
def named(project: Path) -> set[tuple[str, str]]:
    """Every test that docs/safety.md names."""
    page = (project / "docs" / "safety.md").read_text(encoding="utf-8")
    rows = page.partition("## Attacks")[2]
    assert len(re.findall(r"^\| [^|]+ \| [^|]+ \| `tests/.*` \|$", rows, re.MULTILINE)) > 20
    return set(NAMED.findall(rows))


def defined_in(file: Path) -> set[str]:
    body = ast.parse(file.read_text(encoding="utf-8")).body
    return {one.name for one in body if isinstance(one, ast.FunctionDef)}


def test_every_test_of_the_table_is_there(project: Path, named: set[tuple[str, str]]) -> None:
    assert [f"{file}::{name}" for file, name in sorted(named)
            if name not in defined_in(project / file)] == []  # fmt: skip


def test_every_test_of_an_attack_stands_in_the_table(
    project: Path, named: set[tuple[str, str]]
) -> None:
    found = {
        name for file in WHOLE for name in defined_in(project / file) if name.startswith("test_")
    }
    assert found - {name for _, name in named} == ASIDE

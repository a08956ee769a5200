"""docs/audit.md names every condition, mechanism and pass condition, and no other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
import yaml

from helix.audit.conditions import TOLD
from helix.audit.mechanisms import BY_CONDITION, MEANINGS
from helix.model.audited import Mechanism
from helix.model.config import Vary
from helix.model.tracked import PassCondition, TrackedDefects


@pytest.fixture(scope="module")
def page(project: Path) -> str:
    return (project / "docs" / "audit.md").read_text(encoding="utf-8")


def table(page: str, head: str) -> list[list[str]]:
    """Return the cells of the table whose head begins so."""
    found = re.search(rf"^\| {head} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", page, re.MULTILINE)
    assert found
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in found[1].splitlines()]


def test_its_conditions_are_those_there_are_and_name_their_mechanism(page: str) -> None:
    rows = {row[0].strip("`"): re.findall(r"`([\w-]+)`", row[3]) for row in table(page, "condition")
            if len(row) == 4}  # fmt: skip
    assert set(rows) == set(get_args(Vary)) == set(TOLD) == set(BY_CONDITION)
    assert all(BY_CONDITION[name] in mechanisms for name, mechanisms in rows.items())


def test_its_mechanisms_have_the_roots_and_controls_of_the_code(page: str) -> None:
    rows = {row[0].strip("`"): (row[1], row[2]) for row in table(page, "mechanism")}
    assert set(rows) == set(get_args(Mechanism)) == set(MEANINGS)
    assert rows == {
        name: (meaning.root_cause or "none", meaning.control) for name, meaning in MEANINGS.items()
    }


def test_its_pass_conditions_are_those_of_the_file(page: str) -> None:
    rows = [row[0] for row in table(page, "condition") + table(page.partition("## Tracked")[2],
                                                               "condition")]  # fmt: skip
    named = {name for cell in rows for name in re.findall(r"`(\w+): ", cell)}
    assert named == set(PassCondition.model_fields)


def test_its_example_is_read_as_it_stands(page: str) -> None:
    (example,) = re.findall(r"```yaml title=\S+\n(.*?)```", page, re.DOTALL)
    assert TrackedDefects.model_validate(yaml.safe_load(example)).executions == 3

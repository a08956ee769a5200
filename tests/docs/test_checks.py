"""docs/checks.md and the reference of primitives say what the code says; their examples run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

import helix.registry
from helix.app.item_page import check_section, parts, window_section
from helix.checks import load_modules
from helix.registry import Check
from helix.suite import compile
from helix.suite.faults import FAULTS, Fault
from helix.suite.load import from_source
from helix.suite.source import parse

CHECKS: list[Check] = [
    entry.item for entry in helix.registry.load(entry_points=()).items("checks").values()
]


@pytest.fixture(scope="module")
def page(project: Path) -> str:
    return (project / "docs" / "checks.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def primitives(project: Path) -> str:
    return (project / "docs" / "reference" / "primitives.md").read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_each_primitive_has_its_section_as_the_code_has_it(check: Check, primitives: str) -> None:
    assert primitives.count(check_section(check)) == 1
    assert primitives.count(f"\n- [{check.name}](#{check.name}): whether ") == 1


def test_the_parts_of_parameters_are_explained_once(primitives: str) -> None:
    assert [primitives.count(part) for part in parts(CHECKS)] == [1, 1, 1]


def test_where_a_row_applies_is_explained_as_the_code_has_it(primitives: str) -> None:
    assert window_section() in primitives


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_each_parameter_has_a_sentence(check: Check) -> None:
    for name, field in check.params.model_fields.items():
        assert field.description and field.description.endswith("."), name


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_each_fault_of_the_mutation_test_is_listed(fault: Fault, page: str) -> None:
    loudness = "silent" if fault.silent else "loud"
    assert f"| `{fault.name}` | {loudness} | {fault.kind} | " in page


def test_every_example_compiles(page: str, primitives: str) -> None:
    registry = helix.registry.load(entry_points=())
    whole, *rows = [*blocks(page, "yaml"), *blocks(primitives, "yaml")]
    assert compile(from_source(parse(whole, "whole.yaml")), registry).rows
    assert len(rows) >= len(CHECKS)
    for row in rows:
        head = {"criterion_id": "A", "statement": "Pass = x.", "severity": "LOW"}
        text = yaml.safe_dump({"suite": "s", "criteria": [{**head, **yaml.safe_load(row)}]})
        assert compile(from_source(parse(text, "row.yaml")), registry).rows


def test_the_check_of_your_own_loads(page: str, tmp_path: Path) -> None:
    (code,) = blocks(page, "python")
    (tmp_path / "own.py").write_text(code, encoding="utf-8")
    registry = helix.registry.load(entry_points=())
    assert load_modules(["own.py"], registry, tmp_path) == ["at-most-calls"]
    section = check_section(registry.get("checks", "at-most-calls"))
    assert "Whether the run needs no more" in section and "| `calls` | whole number |" in section

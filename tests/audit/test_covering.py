"""Each component is covered in three dimensions, or the gap has a reason."""

from __future__ import annotations

from typing import Any

import pytest

from helix.audit.covering import covered
from helix.model.criterion import Criterion


def row(name: str, dimension: str, component: str = "desk", **more: Any) -> Criterion:
    whole = {"criterion_id": name, "statement": "Pass = so.", "dimension": dimension}
    return Criterion.model_validate({**whole, "component": component, **more})


def result(name: str, component: str = "desk", passed: int = 0, failed: int = 0) -> dict[str, Any]:
    counts = {"pass": passed, "fail": failed, "uncertain": 3, "na": 1}
    return {"criterionId": name, "component": component, "counts": counts}


def test_every_gap_is_told_in_one_pass_with_its_reason() -> None:
    rows = (
        row("a", "operation-correctness"),
        row("b", "data-correctness"),
        row("c", "operational-deviation", status="retired"),
        row("d", "data-correctness", "till"),
        row("e", "operation-correctness", "till"),
    )
    card = {
        "subject": "shop",
        "components": [{"component": "desk"}, {"component": "till"}, {"component": "door"}],
        "criteria": [result("a", passed=1), result("b"), result("e", "till", failed=2)],
    }
    found = covered(rows, card)
    assert found.components == ("desk", "till", "door")
    assert {(gap.component, gap.dimension, gap.reason) for gap in found.gaps} == {
        ("desk", "data-correctness", "no cell was decided: b"),
        ("desk", "operational-deviation", "only retired criteria: c"),
        ("till", "data-correctness", "not selected: d"),
        ("till", "operational-deviation", "no criterion"),
        ("door", "operation-correctness", "no criterion"),
        ("door", "data-correctness", "no criterion"),
        ("door", "operational-deviation", "no criterion"),
    }


def test_a_row_without_a_component_belongs_to_the_subject() -> None:
    bare = Criterion.model_validate({"criterion_id": "a", "statement": "Pass = so."})
    assert covered((bare,), {"subject": "shop"}).components == ("shop",)


@pytest.mark.parametrize(
    "card",
    [
        {},
        {"criteria": 7, "components": "x"},
        {"criteria": [1, None, {"criterionId": "a", "counts": 3}], "components": [2]},
        {"criteria": [{"criterionId": "a", "counts": {"pass": None}}]},
    ],
)
def test_a_scorecard_of_another_program_covers_nothing(card: dict[str, Any]) -> None:
    found = covered((row("a", "operation-correctness"),), card)
    assert len(found.gaps) == 3

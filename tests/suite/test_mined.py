"""A mined row that lost a part on its way is refused by the name of that part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import helix.registry
from helix.errors import SuiteError
from helix.model.criterion import Criterion, Suite
from helix.suite import compile, load
from helix.suite.living import Living, read, upsert, write
from helix.suite.mined import completed

REF = {"obs": "m2", "path": "text", "value": "Done."}
WHOLE: dict[str, Any] = {
    "criterionId": "a",
    "statement": "Pass = so.",
    "passCondition": "It is so.",
    "severity": "HIGH",
    "origin": "mined",
    "class": "judge",
    "judgeInputs": ["output.response"],
    "discovery": {
        "grounding": "observed",
        "evidence": {"refs": [REF]},
        "prevalence": {"k": 2, "n": 5},
        "assumptions": [{"text": "the desk was open"}],
    },
}


def without(*steps: str, **put: Any) -> dict[str, Any]:
    """Return the whole row with the key at these steps taken out, or put in."""
    row: dict[str, Any] = {**WHOLE, "discovery": {**WHOLE["discovery"]}}
    held = row["discovery"] if steps[0] == "discovery" and steps[1:] else row
    held.pop(steps[-1], None)
    held.update(put)
    return row


HYBRID = without("class", checkMethod="hybrid", codeEval={"primitive": "loops", "times": 3})

FLAWED = [
    (without("discovery", "evidence"), "discovery.evidence.refs: is missing"),
    (without("discovery", "prevalence"), "discovery.prevalence: grounding observed needs"),
    (
        without("discovery", "prevalence", prevalence={"k": 0, "n": 5}),
        "discovery.prevalence: grounding observed needs prevalence with k > 0",
    ),
    (
        without("discovery", "prevalence", prevalence={"k": 6, "n": 5}),
        "discovery.prevalence: k must not exceed n",
    ),
]
FLATTENED = [
    (
        without("discovery", "assumptions", grounding="hypothesis-pending"),
        "discovery.assumptions: is missing",
    ),
    (without("discovery"), "discovery: is missing"),
    (without("judgeInputs"), "judge_inputs: is missing"),
    (without("passCondition"), "pass_condition: is missing"),
    ({**HYBRID, "passCondition": ""}, "pass_condition: is missing"),
    (without("discovery", "evidence", grounding="inferred"), "discovery.evidence.refs: is missing"),
]


@pytest.mark.parametrize(("row", "told"), [*FLAWED, *FLATTENED])
def test_it_does_not_enter_the_living_suite(row: dict[str, Any], told: str) -> None:
    living = Living(Suite(suite="eval", criteria=()))
    with pytest.raises(SuiteError) as caught:
        upsert(living, [Criterion.model_validate(row)])
    assert f"a: {told}" in str(caught.value)


@pytest.mark.parametrize(("row", "told"), FLAWED)
def test_a_suite_that_holds_it_is_refused_with_file_and_line(
    tmp_path: Path, row: dict[str, Any], told: str
) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(f"suite: s\ncriteria:\n- {row!r}\n".replace("True", "true"), encoding="utf-8")
    with pytest.raises(SuiteError) as caught:
        compile(load(path), helix.registry.load(entry_points=()))
    assert f"s.yaml:3: a: {told}" in str(caught.value)


@pytest.mark.parametrize("key", ["grounding", "evidence", "prevalence", "assumptions"])
def test_what_was_lifted_out_of_discovery_is_named(tmp_path: Path, key: str) -> None:
    path = tmp_path / "s.yaml"
    text = f"suite: s\ncriteria:\n- criterion_id: a\n  statement: Pass = so.\n  {key}: []\n"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SuiteError, match=rf"s\.yaml:5: a: {key}: belongs under discovery"):
        load(path).suite.criteria  # noqa: B018


def test_an_old_suite_without_discovery_still_compiles_and_does_not_gate() -> None:
    row = Criterion.model_validate(without("discovery"))
    suite = compile(Suite(suite="s", criteria=(row,)), helix.registry.load(entry_points=()))
    assert not suite.rows[0].gating


def test_what_may_be_left_out_takes_its_default_and_the_history_says_so(tmp_path: Path) -> None:
    row, filled = completed(Criterion.model_validate(WHOLE))
    assert (row.level, row.generality) == ("output", "specific-semantic")
    assert filled == ("level", "generality")
    write(tmp_path, upsert(read(tmp_path), [Criterion.model_validate(WHOLE)]))
    assert read(tmp_path).history[0].filled == filled


def test_a_row_that_names_its_check_method_alone_is_of_that_class() -> None:
    row, filled = completed(Criterion.model_validate(HYBRID))
    assert (row.klass, row.generality) == ("hybrid", "specific-semantic")
    assert filled[0] == "class"
    suite = compile(Suite(suite="s", criteria=(row,)), helix.registry.load(entry_points=()))
    assert suite.rows[0].klass == "hybrid"


def test_a_default_does_not_replace_what_the_suite_says() -> None:
    living = Living(Suite(suite="eval", criteria=()))
    living = upsert(living, [Criterion.model_validate({**WHOLE, "level": "context"})])
    again = upsert(living, [Criterion.model_validate(WHOLE)])
    assert again == living

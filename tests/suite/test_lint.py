"""`helix criteria lint`: what compiling refuses, and what its author probably did not mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import helix.registry
from helix.registry import Registry
from helix.suite import Finding, lint
from helix.suite.load import from_source
from helix.suite.source import parse

CODE = {"primitive": "presence", "field": "output.response"}
PLAIN = {
    "criterion_id": "A",
    "statement": "Pass = x.",
    "severity": "HIGH",
    "class": "code",
    "code_eval": CODE,
}
JUDGED = {
    **PLAIN,
    "class": "judge",
    "code_eval": None,
    "terms": ["x"],
    "judge_inputs": ["output.response"],
}


@pytest.fixture(scope="module")
def registry() -> Registry:
    return helix.registry.load(entry_points=())


def found(
    registry: Registry, *rows: dict[str, Any], inventory: tuple[str, ...] = ()
) -> list[Finding]:
    given = [{k: v for k, v in row.items() if v is not None} for row in rows]
    text = yaml.safe_dump({"suite": "s", "criteria": given}, sort_keys=False)
    return lint(from_source(parse(text, "s.yaml")), registry, inventory)


@pytest.mark.parametrize(
    ("row", "level", "key"),
    [
        ({**PLAIN, "statement": "It works."}, "warning", "statement"),
        ({**JUDGED, "terms": None}, "warning", "terms"),
        ({**JUDGED, "judge_inputs": None}, "warning", "judge_inputs"),
        ({**PLAIN, "class": "hybrid", "judge_inputs": ["output"]}, "warning", "terms"),
        ({**PLAIN, "generality": "specific-semantic"}, "warning", "generality"),
        ({**PLAIN, "defect_class": "missing-determinism"}, "warning", "variance_mechanism"),
        ({**PLAIN, "root_cause": "RC-ENV"}, "warning", "variance_mechanism"),
        ({**PLAIN, "controls": ["C-PIN"], "variance_mechanism": " "},
         "warning", "variance_mechanism"),
        ({**PLAIN, "origin": "mined"}, "warning", "discovery"),
        ({**PLAIN, "severity": None, "discovery": {"prevalence": {"k": 1, "n": 2}}},
         "warning", "severity"),
        ({**PLAIN, "code_eval": None}, "error", "code_eval"),
        ({**PLAIN, "class": "hybrid", "terms": ["answer"]}, "error", "judge_inputs"),
        ({**PLAIN, "severity": None}, "error", "severity"),
        ({**JUDGED, "judge_inputs": ["outptu"]}, "error", "judge_inputs[0]"),
    ],
)  # fmt: skip
def test_a_row_is_warned_of_or_refused(
    row: dict[str, Any], level: str, key: str, registry: Registry
) -> None:
    (finding,) = found(registry, row)
    assert (finding.level, finding.key, finding.row) == (level, key, "A")
    assert finding.line >= 3


@pytest.mark.parametrize("row", [PLAIN, JUDGED, {**JUDGED, "class": None}])
def test_a_sound_row_gives_nothing(row: dict[str, Any], registry: Registry) -> None:
    assert found(registry, row) == []


def test_a_row_that_asks_what_another_asks_is_warned_of(registry: Registry) -> None:
    again = {**PLAIN, "criterion_id": "B"}
    texts = [(f.row, f.key, f.text) for f in found(registry, PLAIN, again)]
    assert texts == [("B", "statement", "repeats row A"), ("B", "code_eval", "repeats row A")]
    assert found(registry, PLAIN, {**again, "route": "night"}) == []
    assert found(registry, PLAIN, {**again, "status": "retired"}) == []


def _not(check: dict[str, Any]) -> dict[str, Any]:
    return {"primitive": "not", "of": check}


def _of(primitive: str, *checks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"primitive": primitive, "of": [*checks], **more}


OTHER = {"primitive": "presence", "field": "input.prompt"}
THIRD = {"primitive": "presence", "field": "output.state"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (CODE, {**CODE, "on_missing": "fail"}),
        (CODE, {**CODE, "onMissing": "fail"}),
        (CODE, _of("all", CODE)),
        (CODE, _not(_not(CODE))),
        (_of("all", CODE, OTHER), _of("all", OTHER, CODE)),
        (_of("all", CODE, _of("all", OTHER, THIRD)), _of("all", CODE, OTHER, THIRD)),
        (_of("any", CODE, OTHER), _of("at-least", OTHER, CODE, k=1)),
        (_not(_of("all", CODE, OTHER)), _of("any", _not(CODE), _not(OTHER))),
        (_not({**CODE, "when": OTHER}), {**_not(CODE), "when": OTHER}),
        ({**CODE, "after": {"tool": "pay"}}, {**CODE, "after": {"tool": ["pay"], "pick": "first"}}),
    ],
)
def test_rows_that_mean_the_same_are_warned_of_however_they_are_written(
    one: dict[str, Any], other: dict[str, Any], registry: Registry
) -> None:
    second = {**PLAIN, "criterion_id": "B", "statement": "Pass = y.", "code_eval": other}
    rows = [{**PLAIN, "code_eval": one}, second]
    assert [(f.row, f.text) for f in found(registry, *rows)] == [("B", "repeats row A")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (CODE, {**CODE, "on_missing": "na"}),
        (CODE, _not(CODE)),
        (CODE, _of("any", CODE, OTHER)),
        (_of("all", CODE, OTHER), _of("any", CODE, OTHER)),
        (CODE, {**CODE, "when": OTHER}),
        ({**CODE, "after": {"tool": "pay"}}, {**CODE, "before": {"tool": "pay"}}),
        (_of("at-least", CODE, OTHER, THIRD, k=2), _of("all", CODE, OTHER)),
        ({"primitive": "implies", "if": CODE, "then": OTHER},
         {"primitive": "implies", "if": OTHER, "then": CODE}),
    ],
)  # fmt: skip
def test_rows_that_mean_something_else_are_not(
    one: dict[str, Any], other: dict[str, Any], registry: Registry
) -> None:
    second = {**PLAIN, "criterion_id": "B", "statement": "Pass = y.", "code_eval": other}
    rows = [{**PLAIN, "code_eval": one}, second]
    assert found(registry, *rows) == []


def test_a_row_that_holds_another_or_one_check_twice_is_warned_of(registry: Registry) -> None:
    both = {**PLAIN, "code_eval": _of("all", OTHER, CODE)}
    alone = {**PLAIN, "criterion_id": "B", "statement": "Pass = y."}
    assert [(f.row, f.text) for f in found(registry, both, alone)] == [
        ("A", "asks again what row B asks")
    ]
    twice = {**PLAIN, "code_eval": _not(_of("any", CODE, OTHER, {**CODE, "onMissing": "fail"}))}
    assert [f.text for f in found(registry, twice)] == ["holds one check twice"]


def test_tools_and_roles_inside_are_warned_of(registry: Registry) -> None:
    inside = {"primitive": "tool-output-failure", "tool": "reed", "success_path": "output.ok",
              "after": {"tool": "rite"}, "when": {**OTHER, "field": "obs:wite.input"},
              "until": {"message": "concierge"}}  # fmt: skip
    row = {**PLAIN, "code_eval": _of("any", CODE, _not(inside))}
    texts = [f.text.split(":")[0] for f in found(registry, row, inventory=("read", "write"))]
    assert texts == [
        "role 'concierge' is none of user, assistant, system, developer, tool",
        "tool 'reed' is in no inventory; did you mean 'read'?",
        "tool 'rite' is in no inventory; did you mean 'write'?",
        "tool 'wite' is in no inventory; did you mean 'write'?",
    ]


def test_tools_outside_the_inventory_are_warned_of_wherever_they_stand(registry: Registry) -> None:
    order = {
        "primitive": "required-order",
        "first": {"tool": ["read", "reed"]},
        "then": {"tool": "*"},
    }
    recovery = {
        "primitive": "recovery-after-failure",
        "fail_field": "output.ok",
        "fail_equals": False,
        "recovery_tools": ["@same", "hand_over"],
    }
    rows = [
        {**PLAIN, "code_eval": order},
        {**PLAIN, "criterion_id": "B", "statement": "Pass = y.", "code_eval": recovery},
        {**JUDGED, "criterion_id": "C", "statement": "Pass = z.",
         "judge_inputs": ["obs:rite.input", "obs:*.output"]},
    ]  # fmt: skip
    texts = [f.text for f in found(registry, *rows, inventory=("read", "write"))]
    assert texts == [
        "tool 'reed' is in no inventory; did you mean 'read'?",
        "tool 'hand_over' is in no inventory",
        "tool 'rite' is in no inventory; did you mean 'write'?",
    ]


@pytest.mark.parametrize(
    "code_eval",
    [
        {"primitive": "tool-list", "allow": ["reed"], "deny": ["write"]},
        {"primitive": "tool-list", "deny": "reed"},
        {"primitive": "argument-schema", "schemas": {"*": {}, "reed": {}}},
        {"primitive": "caps", "calls_of": {"reed": 1}},
        {"primitive": "loops", "exempt": ["reed"]},
        {"primitive": "trajectory-match", "expected": ["read", {"tool": "reed"}]},
        {
            "primitive": "required-order",
            "first": {"tool": "read"},
            "then": {"tool": "write"},
            "since": {"tool": "reed"},
        },
    ],
)
def test_a_tool_is_looked_for_in_whatever_parameter_names_it(
    code_eval: dict[str, Any], registry: Registry
) -> None:
    row = {**PLAIN, "code_eval": code_eval}
    texts = [f.text for f in found(registry, row, inventory=("read", "write"))]
    assert texts == ["tool 'reed' is in no inventory; did you mean 'read'?"]


def test_a_role_that_only_a_speaker_may_have_is_warned_of(registry: Registry) -> None:
    order = {
        "primitive": "required-order",
        "first": {"message": "human"},
        "then": {"message": "Assistant"},
        "latest_of": {"message": "*"},
    }
    (finding,) = found(registry, {**PLAIN, "code_eval": order})
    assert (finding.level, finding.row) == ("warning", "A")
    assert "role 'human' is none of user, assistant" in finding.text


def test_a_suite_without_a_row_is_warned_of(registry: Registry) -> None:
    (finding,) = found(registry)
    assert (finding.level, finding.key) == ("warning", "criteria")


def test_findings_come_in_file_order(registry: Registry) -> None:
    rows = [{**PLAIN, "criterion_id": name, "statement": name} for name in "CAB"]
    findings = [f for f in found(registry, *rows) if f.text.startswith("should")]
    assert [f.row for f in findings] == ["C", "A", "B"]
    assert [f.line for f in findings] == sorted(f.line for f in findings)


def test_the_suites_of_the_project_are_clean(project: Path, registry: Registry) -> None:
    suites = [
        *project.glob("tests/cases/real/*[!d].yaml"),
        *project.glob("helix/demo/*.suite.yaml"),
    ]
    assert suites
    for suite in suites:
        if "criteria" in (yaml.safe_load(suite.read_text(encoding="utf-8")) or {}):
            assert [str(f) for f in lint(suite, registry) if f.level == "error"] == []

"""Compiling rows: the router, the uniformity gate, severity, gating, digests."""

from __future__ import annotations

from typing import Any

import pytest

import helix.registry
from helix.errors import SuiteError
from helix.model.criterion import Suite
from helix.registry import Registry
from helix.suite import CompiledRow, CompiledSuite, SeverityRule, compile

CODE = {"primitive": "presence", "field": "output.response"}
SEEN = {
    "grounding": "observed",
    "evidence": {"refs": [{"obs": "c1", "path": "output.ok", "value": "false"}]},
    "prevalence": {"k": 2, "n": 9},
}


@pytest.fixture(scope="module")
def registry() -> Registry:
    return helix.registry.load(entry_points=())


def suite(*rows: dict[str, Any]) -> Suite:
    plain = {"criterion_id": "A", "statement": "Pass = x.", "severity": "HIGH"}
    given = [{k: v for k, v in {**plain, **row}.items() if v is not None} for row in rows]
    return Suite.model_validate({"suite": "s", "criteria": given})


def compiled(registry: Registry, *rows: dict[str, Any], **settings: Any) -> CompiledSuite:
    return compile(suite(*rows), registry, **settings)


def one(registry: Registry, row: dict[str, Any], **settings: Any) -> CompiledRow:
    (found,) = compiled(registry, row, **settings).rows
    return found


def refused(registry: Registry, row: dict[str, Any]) -> str:
    with pytest.raises(SuiteError) as caught:
        compiled(registry, row)
    return str(caught.value)


@pytest.mark.parametrize(
    ("row", "klass", "method"),
    [
        ({"class": "code", "code_eval": CODE}, "code", "deterministic"),
        ({"class": "hybrid", "code_eval": CODE, "judge_inputs": ["output"]}, "hybrid", "hybrid"),
        ({"class": "judge"}, "judge", "llm-judge"),
        ({"code_eval": CODE}, "code", "deterministic"),
        ({}, "judge", "llm-judge"),
        ({"judge_inputs": ["output.response"]}, "judge", "llm-judge"),
        ({"check_method": "deterministic", "code_eval": CODE, "judge_inputs": ["output"]},
         "code", "deterministic"),
        ({"check_method": "llm-judge"}, "judge", "llm-judge"),
    ],
)  # fmt: skip
def test_the_class_decides_the_method_and_is_inferred_where_one_fits(
    row: dict[str, Any], klass: str, method: str, registry: Registry
) -> None:
    found = one(registry, row)
    assert (found.klass, found.method) == (klass, method)
    assert (found.criterion.klass, found.criterion.check_method) == (klass, method)
    assert (found.check is None) is (klass == "judge")


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"class": "code"}, "code_eval: is missing: class code needs one"),
        ({"class": "hybrid", "judge_inputs": ["output"]}, "code_eval: is missing"),
        ({"class": "hybrid", "code_eval": CODE}, "judge_inputs: is missing"),
        ({"class": "judge", "code_eval": CODE}, "class judge takes no code_eval"),
        ({"code_eval": CODE, "judge_inputs": ["output"]}, "class: must be given"),
        ({"class": "code", "code_eval": CODE, "check_method": "hybrid"},
         "check_method: must be deterministic for class code (got hybrid)"),
        ({"discovery": {"grounding": "observed"}}, "grounding observed needs evidence.refs"),
        ({"discovery": {**SEEN, "prevalence": {"k": 0, "n": 9}}}, "prevalence with k > 0"),
        ({"discovery": {**SEEN, "prevalence": {"k": 3, "n": 2}}}, "k must not exceed n"),
        ({"severity": None}, "severity: is missing: write CRIT, HIGH, MED or LOW"),
    ],
)  # fmt: skip
def test_a_row_that_is_not_uniform_is_refused(
    row: dict[str, Any], text: str, registry: Registry
) -> None:
    assert text in refused(registry, row)


@pytest.mark.parametrize(
    ("row", "rule", "severity"),
    [
        ({"origin": "mined"}, None, "LOW"),
        ({"origin": "mined", "discovery": {"prevalence": {"k": 0, "n": 9}}}, None, "LOW"),
        ({"origin": "mined", "discovery": {"prevalence": {"k": 1, "n": 9}}}, None, "MED"),
        ({"discovery": {"prevalence": {"k": 3, "n": 9}}}, None, "HIGH"),
        ({"discovery": {"prevalence": {"k": 3, "n": 9}}}, SeverityRule(high=4, med=4), "LOW"),
    ],
)
def test_a_severity_that_is_not_given_follows_from_the_observed_failures(
    row: dict[str, Any], rule: SeverityRule | None, severity: str, registry: Registry
) -> None:
    found = one(registry, {**row, "severity": None}, severity_rule=rule)
    assert (found.severity, found.severity_derived) == (severity, True)
    assert found.criterion.severity == severity


NOTED = {"by": "the owner", "at": "2026-01-05"}


@pytest.mark.parametrize(
    ("row", "default", "observed"),
    [
        ({}, True, False),
        ({"severity": "CRIT"}, True, False),
        ({"severity": "MED"}, False, False),
        ({"origin": "mined"}, False, False),
        ({"origin": "mined", "discovery": {"grounding": "inferred"}}, False, False),
        ({"origin": "mined", "discovery": {"grounding": "hypothesis-pending"}}, False, False),
        ({"origin": "mined", "discovery": SEEN}, True, True),
        ({"origin": "mined", "discovery": SEEN, "severity": "LOW"}, False, False),
        ({"origin": "mined", "ratified": NOTED}, True, True),
        ({"ratified": NOTED}, True, True),
        ({"discovery": SEEN}, True, True),
    ],
)
def test_who_gates_follows_severity_origin_and_grounding(
    row: dict[str, Any], default: bool, observed: bool, registry: Registry
) -> None:
    assert one(registry, row).gating is default
    assert one(registry, row, eligibility="observed").gating is observed


def test_a_retired_row_keeps_its_id_and_is_not_run(registry: Registry) -> None:
    dead = {"criterion_id": "OLD", "status": "retired", "code_eval": {"primitive": "long-gone"}}
    found = compiled(registry, {}, dead)
    assert [row.id for row in found.rows] == ["A"]
    assert [row.criterion_id for row in found.retired] == ["OLD"]
    with pytest.raises(SuiteError, match="'A' is taken by an earlier row"):
        compiled(registry, {}, {"status": "retired"})


def test_the_component_is_the_rows_own_or_the_subjects(registry: Registry) -> None:
    rows = compiled(
        registry, {"component": "mailer"}, {"criterion_id": "B"}, default_component="bot"
    ).rows
    assert [row.component for row in rows] == ["mailer", "bot"]


def test_rows_stay_in_file_order_and_are_found_by_id(registry: Registry) -> None:
    found = compiled(registry, *({"criterion_id": name} for name in ("Z", "A", "M")))
    assert [row.id for row in found.rows] == ["Z", "A", "M"]
    assert found.row("M") is found.rows[2]
    assert found.row("X") is None


def test_a_digest_changes_with_what_the_row_says_and_nothing_else(registry: Registry) -> None:
    base = compiled(registry, {"code_eval": CODE})
    assert compiled(registry, {"code_eval": CODE}, default_component="x").digest == base.digest
    for change in ({"statement": "Pass = y."}, {"severity": "LOW"}, {"terms": ["a"]}):
        other = compiled(registry, {"code_eval": CODE, **change})
        assert other.digest != base.digest
        assert other.rows[0].digest != base.rows[0].digest
    more = compiled(registry, {"code_eval": CODE}, {"criterion_id": "B", "status": "retired"})
    assert more.digest != base.digest
    assert more.rows[0].digest == base.rows[0].digest


def test_an_empty_suite_compiles_to_no_row(registry: Registry) -> None:
    assert compiled(registry).rows == ()

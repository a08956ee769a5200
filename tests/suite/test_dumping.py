"""A suite that was written reads back the same, whatever its texts hold."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from helix.model.criterion import Suite
from helix.suite.dumping import suite_page
from helix.suite.load import from_source
from helix.suite.source import parse

TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    st.sampled_from(
        ["yes", "No", "null", "~", "1e3", "0x1F", "12:30", "1_000", "2024-01-01", ".inf", "a: b",
         "# no comment", "- item", "*x", "&x", "!t", "{x}", "%d", "@", "  two ", "a\nb\n", "<<",
         "="]
    ),
)  # fmt: skip


def read_back(suite: Suite) -> Suite:
    return from_source(parse(suite_page(suite).decode("utf-8"), "suite.yaml")).suite


@given(TEXTS, TEXTS, st.lists(TEXTS, max_size=3))
@settings(max_examples=150, deadline=None)
def test_a_suite_reads_back_the_same(statement: str, condition: str, terms: list[str]) -> None:
    row = {"criterionId": "c-1", "statement": statement, "passCondition": condition,
           "class": "judge", "terms": terms}  # fmt: skip
    suite = Suite.model_validate({"suite": "s", "version": "1.0", "criteria": [row]})
    assert read_back(suite) == suite


def test_parameters_of_checks_keep_their_types() -> None:
    check = {"primitive": "my-own", "a": "1", "b": 1, "c": [None, True, "true"], "no": {"x": 1.5}}
    row = {"criterionId": "c-1", "statement": "Pass = so.", "class": "code", "codeEval": check}
    suite = Suite.model_validate({"suite": "s", "criteria": [row]})
    assert read_back(suite).criteria[0].code_eval == suite.criteria[0].code_eval

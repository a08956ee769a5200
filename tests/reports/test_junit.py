"""junit.xml keeps to the form that CI tools read, and no undecided cell looks like a pass."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
import xmlschema
from junitparser import JUnitXml

from tests.reports import runs, sample
from tests.reports.test_formats import IDS, hostile_lines

SCHEMA = xmlschema.XMLSchema(Path(__file__).with_name("junit.xsd"))


def counts_itself(suite: ElementTree.Element) -> bool:
    """Whether a suite's own counts are those of its cases."""
    told = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    cases = suite.findall("testcase")
    return int(suite.get("tests", "")) == len(cases) and all(
        int(suite.get(name, "")) == sum(case.find(tag) is not None for case in cases)
        for name, tag in told.items()
    )


@pytest.mark.parametrize("lines", [None, hostile_lines()], ids=["sample", "hostile"])
def test_the_document_keeps_to_the_schema_and_counts_itself(
    lines: list[sample.MatrixVerdictFile] | None,
) -> None:
    data = runs.written("junit", runs.run(lines=lines))
    SCHEMA.validate(data.decode("utf-8"))
    suites = ElementTree.fromstring(data).findall("testsuite")
    assert len(suites) > 10 and all(map(counts_itself, suites))


SUITE = "<testsuite name='x' tests='1' failures='0' errors='0' skipped='0'>"
CASE = "<testcase classname='a' name='b'>"


@pytest.mark.parametrize(
    "broken",
    [
        "<testsuites name='x'><testcase classname='a' name='b'/></testsuites>",
        "<testsuite name='x' tests='1' failures='0' errors='0'/>",
        f"{SUITE}<testcase classname='a' name='b' state='pass'/></testsuite>",
        f"{SUITE}<testcase classname='a' name=''/></testsuite>",
        f"{SUITE}{CASE}<skipped message=''/><skipped message=''/></testcase></testsuite>",
        f"{SUITE}{CASE}<failure message='m' type='two words'>x</failure></testcase></testsuite>",
        f"{SUITE}{CASE}words</testcase></testsuite>",
    ],
)
def test_the_schema_refuses_what_readers_do(broken: str) -> None:
    assert not SCHEMA.is_valid(broken)
    fine = f"{SUITE}{CASE}<failure message='m' type='fail'>x</failure></testcase></testsuite>"
    SCHEMA.validate(fine)
    assert not counts_itself(ElementTree.fromstring(fine))


def test_an_undecided_cell_is_an_error_whose_name_repeats_its_state() -> None:
    data = runs.written("junit", runs.run())
    errors = [
        case
        for case in ElementTree.fromstring(data).iter("testcase")
        if case.find("error") is not None
    ]
    assert len(errors) > 20
    for case in errors:
        told = case.find("error")
        assert told is not None
        assert f"[{told.get('type')}]" in str(case.get("name"))
    assert {str(e.get("type")) for c in errors for e in c} == {
        "incomplete",
        "uncertain",
        "unreadable",
    }


def test_hostile_traces_leave_as_many_suites_and_cases_as_there_are() -> None:
    of = runs.run(len(IDS), hostile_lines())
    suites = list(JUnitXml.fromstring(runs.written("junit", of)))
    assert len(suites) == len(IDS) + 1
    states = [state for line in of.lines for state in line.dense_map.values()]
    assert sum(suite.tests for suite in suites[:-1]) == len(states)
    assert sum(suite.failures for suite in suites[:-1]) == states.count("fail")
    assert sum(suite.errors for suite in suites[:-1]) == states.count("uncertain")


def test_the_suite_of_the_run_holds_gate_unread_files_lost_traces_and_rows_left_out() -> None:
    lines = [sample.line(n) for n in range(13)]
    card = msgspec.structs.replace(runs.run().scorecard, skipped_criteria=("told-apart",))
    of = runs.run(14, lines)
    data = runs.written("junit", runs.replaced(of, scorecard=card))
    last = ElementTree.fromstring(data)[-1]
    said = {str(case.get("name")): [child.tag for child in case] for case in last}
    assert said == {
        "gate": ["failure"],
        "traces/a.jsonl:61 [unreadable]": ["error"],
        "outreach-013 [incomplete]": ["error"],
        "told-apart": ["skipped"],
    }


@pytest.mark.parametrize(
    ("verdict", "name", "tags"),
    [
        ("pass", "gate", []),
        ("fail", "gate", ["failure"]),
        ("incomplete", "gate [incomplete]", ["error"]),
    ],
)
def test_the_gate_is_a_case_of_its_own(verdict: str, name: str, tags: list[str]) -> None:
    card = msgspec.structs.replace(runs.run().scorecard, run_verdict=verdict)
    data = runs.written("junit", runs.replaced(runs.run(), scorecard=card))
    gate = ElementTree.fromstring(data)[-1][0]
    assert (gate.get("name"), [child.tag for child in gate]) == (name, tags)


def test_a_waived_failure_stays_a_failure_and_says_who_vouches() -> None:
    made = runs.run()
    waiver = {"criterion": "confirm-before-send", "by": "the owner", "expires": "2031-05-01"}
    gate = msgspec.structs.replace(made.scorecard.gate, waivers=(waiver,))
    card = msgspec.structs.replace(made.scorecard, gate=gate)
    root = ElementTree.fromstring(runs.written("junit", runs.replaced(made, scorecard=card)))
    told = root.find("testsuite/testcase/failure")
    assert told is not None and "waived by the owner until 2031-05-01" in str(told.get("message"))

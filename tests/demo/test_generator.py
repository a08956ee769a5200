"""The demo's traces: deterministic, complete in their labels, made of nothing real."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from helix.demo import generate, write
from helix.demo.labels import CODE_ROWS, HYBRID_ROWS, ROWS
from helix.demo.names import COMPANIES, FIRST_NAMES, LAST_NAMES
from helix.model.criterion import Suite

SUITE = Path(__file__).resolve().parents[2] / "helix" / "demo" / "outreach.suite.yaml"
TRACES = {trace["id"]: trace for trace in generate()}
BROKEN_AT_LEAST_TWICE = (
    "guard-breach",
    "reply-missing",
    "double-send",
    "unsupported-claim",
    "absence-checkable",
    "absence-uncheckable",
    "missing-referent",
    "failure-unrecovered",
    "truncated",
)
FAMILIES_AT_LEAST_TWICE = (
    "injection-.*-obeyed",
    "injection-.*-ignored",
    "wrong-recipient-.*",
    "slot-not-offered-.*",
    "ambiguous-call-id.*",
    "send-(?:before|without)-consent",
    "parallel-.*",
    "correct-hold",
    "failure-recovered",
    "pitch",
)


def rows() -> dict[str, Any]:
    suite = Suite.model_validate(yaml.safe_load(SUITE.read_text(encoding="utf-8")))
    return {row.criterion_id: row for row in suite.criteria}


def kinds() -> list[str]:
    return [trace["labels"]["situation"] for trace in TRACES.values()]


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    write(tmp_path / "one.jsonl")
    write(tmp_path / "two.jsonl")
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()


def test_another_seed_changes_the_people_and_keeps_the_labels() -> None:
    other = {trace["id"]: trace for trace in generate(8)}
    assert {i: t["labels"]["expected"] for i, t in other.items()} == {
        i: t["labels"]["expected"] for i, t in TRACES.items()
    }
    assert any(other[i]["input"] != TRACES[i]["input"] for i in other)


def test_there_are_about_sixty_traces_on_four_routes() -> None:
    assert 55 <= len(TRACES) <= 70
    assert {trace["route"] for trace in TRACES.values()} == {
        "incoming_email",
        "outbound_guard",
        "opportunity",
        "interview",
    }


@pytest.mark.parametrize("kind", BROKEN_AT_LEAST_TWICE)
def test_each_planted_fault_stands_in_two_traces(kind: str) -> None:
    found = [t for t in TRACES.values() if t["labels"]["faults"] == [kind]]
    assert len(found) >= 2


@pytest.mark.parametrize("pattern", FAMILIES_AT_LEAST_TWICE)
def test_each_family_of_situations_stands_in_two_traces(pattern: str) -> None:
    assert sum(1 for kind in kinds() if re.fullmatch(pattern, kind)) >= 2


def test_each_broken_trace_has_a_healthy_twin_on_its_route() -> None:
    for trace in TRACES.values():
        twin = TRACES[trace["labels"]["twin"]]
        assert twin is not trace
        assert twin["route"] == trace["route"]
        if trace["labels"]["faults"]:
            assert twin["labels"]["faults"] == []
            assert not {"fail", "uncertain"} & set(twin["labels"]["expected"].values())


def test_every_fault_breaks_a_row() -> None:
    for trace in TRACES.values():
        states = set(trace["labels"]["expected"].values())
        assert bool(trace["labels"]["faults"]) == bool({"fail", "uncertain"} & states)


def test_labels_name_every_active_row_and_no_other() -> None:
    active = {name for name, row in rows().items() if row.status == "active"}
    assert active == set(ROWS)
    for trace in TRACES.values():
        assert set(trace["labels"]["expected"]) == active


def test_an_uncertain_label_has_its_cause_and_no_other_label_has_one() -> None:
    for trace in TRACES.values():
        expected, causes = trace["labels"]["expected"], trace["labels"]["causes"]
        assert set(causes) == {row for row, state in expected.items() if state == "uncertain"}


def test_every_row_is_labelled_pass_somewhere_and_fail_elsewhere() -> None:
    for row in ROWS:
        states = {trace["labels"]["expected"][row] for trace in TRACES.values()}
        assert {"pass", "fail"} <= states, row


def test_a_place_that_decides_is_a_seq_of_the_trace() -> None:
    for trace in TRACES.values():
        seqs = {item["seq"] for item in (*trace["observations"], *trace["transcript"])}
        assert set(trace["labels"]["decidedAt"].values()) <= seqs


def test_ids_and_seqs_are_unique_in_a_trace() -> None:
    for trace in TRACES.values():
        items = [*trace["observations"], *trace["transcript"]]
        assert len({item["id"] for item in items}) == len(items)
        assert sorted(item["seq"] for item in items) == list(range(len(items)))


def test_a_correct_hold_calls_no_tool() -> None:
    holds = [t for t in TRACES.values() if t["labels"]["situation"] == "correct-hold"]
    assert all(not trace["observations"] for trace in holds)
    assert all(trace["labels"]["expected"]["guard-respected"] == "pass" for trace in holds)


def test_results_that_come_out_of_order_end_out_of_order() -> None:
    trace = next(t for t in TRACES.values() if t["labels"]["situation"] == "parallel-out-of-order")
    ends = [o["endTime"] for o in trace["observations"][:3]]
    assert ends != sorted(ends)


def test_addresses_and_domains_are_examples_only() -> None:
    for trace in TRACES.values():
        text = json.dumps(trace)
        for domain in re.findall(r"[\w.+-]+@([\w.-]+\w)", text):
            assert domain.endswith((".example", ".test")), domain
        assert "http" not in text
    assert all(domain.endswith(".example") for _, domain in COMPANIES)


def test_people_come_from_the_made_up_lists() -> None:
    for trace in TRACES.values():
        for observation in trace["observations"]:
            name = (observation["output"] or {}).get("name")
            if name is not None:
                first, last = name.split()
                assert first in FIRST_NAMES and last in LAST_NAMES


def test_the_suite_has_every_class_severity_and_standing() -> None:
    found = rows()
    active = [row for row in found.values() if row.status == "active"]
    assert {row.klass for row in active} == {"code", "hybrid", "judge"}
    assert {row.severity for row in active} == {"CRIT", "HIGH", "MED", "LOW"}
    assert sum(row.status == "retired" for row in found.values()) == 1
    mined = {row.discovery.grounding for row in active if row.origin == "mined"}
    assert mined == {"observed", "inferred"}
    assert {row.criterion_id for row in active if row.klass == "code"} == set(CODE_ROWS)
    assert {row.criterion_id for row in active if row.klass == "hybrid"} == set(HYBRID_ROWS)
    assert all(row.terms and row.judge_inputs for row in active if row.klass != "code")


def test_what_a_mined_row_was_seen_in_is_there() -> None:
    row = rows()["failure-recovered"]
    ref = row.discovery.evidence.refs[0]
    assert TRACES[ref.obs]["output"]["response"] == ref.value
    failing = {i for i, t in TRACES.items() if t["labels"]["expected"][row.criterion_id] == "fail"}
    assert set(row.discovery.evidence.trace_ids) == failing
    assert (row.discovery.prevalence.k, row.discovery.prevalence.n) == (len(failing), len(TRACES))

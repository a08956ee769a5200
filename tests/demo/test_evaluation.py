"""The demo evaluated for real: every cell comes out as the generator says it must."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest
import yaml

from helix import evaluate
from helix.app.commands.schema import schema
from helix.demo import generate, write
from helix.demo.labels import CODE_ROWS, HYBRID_ROWS, ROWS
from helix.demo.rekey import REPLIES, REVIEWS, SUITE, recorded, rekeyed, reviews_rekeyed
from helix.evaluate import Finished
from helix.model.verdict import MatrixVerdictFile, Verdict
from helix.registry import load as load_registry
from helix.suite import compile, load

CONF = Path(__file__).resolve().parents[2] / "conf"
LABELS = {trace["id"]: trace["labels"] for trace in generate()}
TRACES = {trace["id"]: trace for trace in generate()}


def conf(name: str) -> dict[str, Any]:
    text = (CONF / name).read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    folder = tmp_path_factory.mktemp("demo")
    write(folder / "traces.jsonl")
    subject = {k: v for k, v in conf("subject/outreach.yaml").items() if k != "traces"}
    demo = conf("experiment/demo.yaml")
    return evaluate(
        folder / "traces.jsonl",
        SUITE,
        judge={"backend": "replay", "model": demo["judge"]["model"], "dir": str(REPLIES.parent)},
        verifier=demo["verifier"],
        subject=subject,
        run_dir=folder / "run",
    )


@pytest.fixture(scope="module")
def lines(finished: Finished) -> dict[str, MatrixVerdictFile]:
    return {line.trajectory_id: line for line in finished.verdicts()}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("decisions.jsonl", "decision"),
        ("failures.jsonl", "failure"),
        ("candidates.jsonl", "candidate"),
    ],
)
def test_what_stands_beside_the_verdicts_follows_its_schema(
    finished: Finished, name: str, kind: str
) -> None:
    written = (finished.run_dir / name).read_text(encoding="utf-8").splitlines()
    valid = jsonschema_rs.validator_for(schema(kind))
    found = [json.loads(line) for line in written]
    assert found and {line["schemaVersion"] for line in found} == {"1.0"}
    assert [error.message for line in found for error in valid.iter_errors(line)] == []


def wanted(trace: str, row: str) -> tuple[str, str | None]:
    """What Helix must end with: the label, or what must come of a reply that errs."""
    erring = LABELS[trace].get("machine", {}).get(row)
    if erring is not None:
        return erring["state"], erring["cause"]
    return LABELS[trace]["expected"][row], LABELS[trace]["causes"].get(row)


def decided(line: MatrixVerdictFile, row: str) -> tuple[str, str | None]:
    causes = {v.criterion_id: v.cause for v in line.verdicts} | line.not_adjudicated
    return line.dense_map[row], causes.get(row)


def judged(lines: dict[str, MatrixVerdictFile]) -> Iterator[tuple[str, Verdict]]:
    for trace, line in lines.items():
        for verdict in line.verdicts:
            hybrid = verdict.code is not None and verdict.code.result == "pass"
            if verdict.produced_by == "judge" or hybrid:
                yield trace, verdict


@pytest.mark.parametrize("row", ROWS)
def test_every_cell_of_a_row_is_what_its_label_says(
    row: str, lines: dict[str, MatrixVerdictFile]
) -> None:
    assert {t: decided(line, row) for t, line in lines.items()} == {
        t: wanted(t, row) for t in LABELS
    }


def test_a_failing_code_row_cites_the_step_that_the_generator_planted(
    lines: dict[str, MatrixVerdictFile],
) -> None:
    for trace, line in lines.items():
        seqs = {o["id"]: o["seq"] for o in TRACES[trace]["observations"]}
        for verdict in line.verdicts:
            planted = LABELS[trace]["decidedAt"].get(verdict.criterion_id)
            if verdict.result != "fail" or verdict.criterion_id not in CODE_ROWS:
                continue
            if planted not in seqs.values():  # a reply that is not there has no step
                continue
            assert planted in {seqs.get(ref.obs) for ref in verdict.refs}, verdict


def test_the_suite_compiles_without_a_finding() -> None:
    file = load(SUITE)
    assert not file.problems
    assert {row.id for row in compile(file, load_registry()).rows} == set(ROWS)


def test_the_mined_and_inferred_row_does_not_gate_and_the_observed_one_does() -> None:
    gating = {row.id: row.gating for row in compile(load(SUITE), load_registry()).rows}
    assert gating["failure-recovered"]
    assert not gating["address-well-formed"]
    assert not gating["announced-actions-done"]


def test_the_demo_is_red(finished: Finished) -> None:
    assert finished.run_verdict == "fail"


def test_recordings_are_keyed_to_these_traces_and_this_suite() -> None:
    _, recordings = recorded()
    stale = [
        a.unit.trace_id for a, b in zip(recordings, rekeyed(recordings), strict=True) if a != b
    ]
    assert not stale, "read these replies against their packets, then: python -m helix.demo.rekey"


def test_reviews_are_keyed_to_the_claims_of_these_replies() -> None:
    replies, reviews = recorded()[1], recorded(REVIEWS)[1]
    stale = [
        a.unit.trace_id
        for a, b in zip(reviews, reviews_rekeyed(replies, reviews), strict=True)
        if a != b
    ]
    assert not stale, "read these reviews against their batches, then: python -m helix.demo.rekey"


def test_the_verifier_is_not_the_judge_and_confirms_all_but_the_planted_leap(
    finished: Finished, lines: dict[str, MatrixVerdictFile]
) -> None:
    card = finished.scorecard
    assert card.verification.downgraded == 1
    assert card.verification.failed == card.verification.not_verified == 0
    assert card.verification.confirmed == 40
    assert card.verifier.same_model is False
    assert {x.verifying.identity for x in lines.values() if x.verifying} == {"demo-verifier"}
    leap = next(v for v in lines["opportunity-05"].verdicts if v.criterion_id == "role-facts-true")
    assert leap.verification is not None
    assert leap.verification.status == "downgraded"
    assert leap.verification.original_result == "pass"
    assert [s.kind for s in lines["opportunity-05"].judge_steps][-2:] == ["verify", "verify"]


@pytest.mark.parametrize(("path", "role"), [(REPLIES, "judge"), (REVIEWS, "verifier")])
def test_the_recording_file_says_how_it_was_made(path: Path, role: str) -> None:
    header, _ = recorded(path)
    assert header.made_by == conf("experiment/demo.yaml")[role]["model"]
    assert "not drawn from a provider" in header.made_how


def test_the_recording_file_names_the_replies_that_err() -> None:
    header, _ = recorded()
    for trace, labels in LABELS.items():
        assert ("machine" in labels) == (trace in header.made_how)


def test_each_packet_has_one_reply_and_a_reply_that_errs_was_asked_again() -> None:
    _, recordings = recorded()
    first = [r.unit.trace_id for r in recordings if r.unit.attempt == 0]
    assert len(first) == len(set(first))
    again = [r.unit.trace_id for r in recordings if r.unit.attempt > 0]
    assert again == ["opportunity-03"]


def test_every_reply_holds_the_whole_walk() -> None:
    _, recordings = recorded()
    for one in recordings:
        reply = json.loads(one.text)
        assert reply["nonce"] == one.nonce
        assert len(reply["judgeSteps"]) >= 4 and reply["expectedTrajectory"]
        for verdict in reply["verdicts"]:
            keys = list(verdict)
            assert keys.index("critique") < keys.index("result")
            assert len(verdict["critique"].split()) >= 15


def test_every_judged_verdict_but_the_planted_one_has_evidence_that_resolves(
    lines: dict[str, MatrixVerdictFile],
) -> None:
    loose = {(t, v.criterion_id) for t, v in judged(lines) if not v.grounded}
    assert loose == {("opportunity-03", "role-facts-true")}


def test_a_checked_absence_is_cited_by_its_scan(lines: dict[str, MatrixVerdictFile]) -> None:
    found = {
        trace: [ref.match for ref in verdict.refs if ref.scan is not None]
        for trace, verdict in judged(lines)
        if LABELS[trace]["situation"] in ("absence-checkable", "correct-hold")
        and verdict.criterion_id in ("announced-actions-done", "guard-respected")
    }
    assert len(found) == 5
    assert set(map(tuple, found.values())) == {("scan",)}


def test_an_injection_that_was_ignored_changes_no_verdict(
    lines: dict[str, MatrixVerdictFile],
) -> None:
    ignored = [t for t, label in LABELS.items() if label["situation"].endswith("-ignored")]
    assert len(ignored) == 2
    for trace in ignored:
        assert "fail" not in lines[trace].dense_map.values()


def test_a_hybrid_that_code_decides_never_reaches_the_judge() -> None:
    _, recordings = recorded()
    asked = {(r.unit.trace_id, row) for r in recordings for row in r.unit.criteria}
    rows = {("interview-11", HYBRID_ROWS[0]), ("interview-12", HYBRID_ROWS[0])}
    assert {wanted(*cell)[0] for cell in rows} == {"fail", "uncertain"}
    assert not rows & asked


def test_problems_without_a_row_are_candidates(lines: dict[str, MatrixVerdictFile]) -> None:
    told = msgspec.to_builtins(lines["outbound_guard-08"].candidates)
    assert len(told) == 1 and "sent twice" in told[0]["detection"]

"""Validating for real: runs are made, labels joined, standings kept, test labels used once."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from helix.errors import ArtifactError, ConfigError, LabelError
from helix.evaluate import run as evaluate
from helix.model.validation import CriterionValidation, Drift, Validation
from helix.runs import RunFiles
from helix.trust import pipelines, standing
from helix.validate import split_of
from helix.validate.ledger import record, uses
from tests.validate.desk import Desk, cases

GOOD = (
    ("pass", "pass", 60),
    ("fail", "pass", 2),
    ("fail", "fail", 60),
    ("pass", "fail", 1),
    ("uncertain", "pass", 3),
    ("pass", "cannot-decide", 2),
    ("pass", None, 40),
    ("fail", None, 10),
)
HELD_OUT: dict[str, Any] = {"labels": ["labels.jsonl"], "split": "all"}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path, cases(*GOOD))


def polite(found: Validation | None) -> CriterionValidation:
    assert found is not None
    return next(row for row in found.criteria if row.criterion_id == "polite")


def test_a_judge_is_measured_and_stands_as_its_counts_say(desk: Desk) -> None:
    found = desk.validate(HELD_OUT)
    row = polite(found.validation)
    table = row.measured.confusion
    assert (table.pass_pass, table.pass_fail, table.fail_pass, table.fail_fail) == (60, 2, 1, 60)
    assert row.status == "validated"
    away = row.measured.abstained
    assert (away.over, away.under) == (3, 2)
    assert row.measured.corrected.seen.n == 175


def test_rows_without_a_label_are_no_part_of_what_is_measured(desk: Desk) -> None:
    found = desk.validate({"labels": ["labels.jsonl"], "split": "dev"}).validation
    assert found is not None and [row.criterion_id for row in found.criteria] == ["polite"]
    assert found.overall == found.criteria[0].measured


def test_what_is_written_says_the_same(desk: Desk) -> None:
    found = desk.validate(HELD_OUT)
    written = json.loads((desk.folder / "run0" / "validation.json").read_text("utf-8"))
    assert written["criteria"][0]["status"] == polite(found.validation).status
    assert written["run"] == "."
    lines = (desk.folder / "run0" / "disagreements.jsonl").read_text("utf-8").splitlines()
    kinds = Counter(json.loads(line)["kind"] for line in lines)
    assert kinds == {"false-fail": 2, "false-pass": 1, "over-abstain": 3, "under-abstain": 2}
    assert len(found.disagreements) == len(lines)


def test_dev_labels_give_no_standing_and_are_used_as_often_as_one_likes(desk: Desk) -> None:
    for _ in range(2):
        row = polite(desk.validate({"labels": ["labels.jsonl"]}).validation)
        assert row.status is None
    assert not (desk.folder / "state" / "validation").exists()


def test_each_split_takes_the_traces_that_are_in_it(desk: Desk) -> None:
    labelled = [f"case-{n:03}" for n in range(128)]
    for part in ("train", "dev", "test"):
        found = desk.validate({"labels": ["labels.jsonl"], "split": part}).validation
        assert found is not None
        assert found.labels.used == sum(split_of(id, 0) == part for id in labelled)
        assert sum(found.labels.splits.values()) == 128


def test_test_labels_are_used_once_and_a_forced_use_is_recorded(desk: Desk) -> None:
    once: dict[str, Any] = {"labels": ["labels.jsonl"], "split": "test"}
    desk.validate(once)
    with pytest.raises(LabelError, match=r"validation\.force=true"):
        desk.validate(once)
    assert not (desk.folder / "run1").exists()
    again = desk.validate({**once, "force": True}).validation
    assert again is not None and again.forced
    lines = (desk.folder / "state/validation/ledger.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["forced"] for line in lines] == [False, True]


def test_labels_are_used_before_their_result_can_be_read(desk: Desk) -> None:
    desk.validate({"labels": ["labels.jsonl"]})
    once = {"labels": ["labels.jsonl"], "split": "test", "run": str(desk.folder / "run0")}
    (desk.folder / "run1" / "validation.json").mkdir(parents=True)
    with pytest.raises(OSError):
        desk.validate(once)
    assert [use.criterion_id for use in uses(desk.folder / "state")] == ["polite"]
    with pytest.raises(LabelError, match="were used for polite"):
        desk.validate(once)


def test_of_two_runs_that_began_together_one_uses_the_labels(desk: Desk) -> None:
    desk.validate({"labels": ["labels.jsonl"], "split": "test"})
    state = desk.folder / "state"
    (use,) = uses(state)
    with pytest.raises(LabelError, match="were used for polite"):
        record(state, [use])
    record(state, [msgspec.structs.replace(use, forced=True)])
    assert [use.forced for use in uses(state)] == [False, True]


def test_another_judge_may_use_the_test_labels_and_stands_for_itself(desk: Desk) -> None:
    desk.validate(HELD_OUT)
    other = {"backend": "scripted", "model": "desk-2", "script": str(desk.folder / "script.py")}
    decides = evaluate(
        desk.config({}, judge=other), run_dir=desk.folder / "before"
    ).prepared.plan.decides
    pipeline = pipelines(decides, frozenset({"replied"}))["polite"]
    state = desk.folder / "state"
    trust, reason = standing(state, "desk", "polite", pipeline)
    assert trust is not None and trust.status == "stale"
    assert "the judge's pin changed since it was validated" in reason
    desk.validate(HELD_OUT, judge=other)
    assert standing(state, "desk", "polite", pipeline)[0].status == "validated"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("sections", "changed"),
    [
        ({"subject": {"purpose": "another"}}, "how they are asked"),
        (
            {"verifier": {"backend": "scripted", "model": "v", "identity": "v"}},
            "the verifier's pin",
        ),
    ],
)
def test_a_standing_is_stale_once_a_part_of_the_pipeline_changed(
    desk: Desk, sections: dict[str, Any], changed: str
) -> None:
    desk.validate(HELD_OUT)
    config = desk.config({})
    merged = {
        **config.model_dump(),
        **{k: {**config.model_dump()[k], **v} for k, v in sections.items()},
    }
    done = evaluate(type(config).model_validate(merged), run_dir=desk.folder / "after")
    found = pipelines(done.prepared.plan.decides, frozenset())["polite"]
    trust, reason = standing(desk.folder / "state", "desk", "polite", found)
    assert trust is not None and trust.status == "stale"
    assert changed in reason


def test_a_changed_criterion_is_stale_and_a_new_one_never_measured(desk: Desk) -> None:
    desk.validate(HELD_OUT)
    suite = desk.folder / "suite.yaml"
    text = suite.read_text("utf-8").replace("is polite", "is kind")
    suite.write_text(text.replace("criterion_id: replied", "criterion_id: answered"), "utf-8")
    done = evaluate(desk.config({}), run_dir=desk.folder / "after")
    found = pipelines(done.prepared.plan.decides, frozenset())
    state = desk.folder / "state"
    assert standing(state, "desk", "polite", found["polite"])[1].startswith("the criterion changed")
    assert standing(state, "desk", "answered", found["answered"]) == (
        None,
        "never measured against labels",
    )


def test_a_later_run_knows_how_its_judge_stands_and_gates_by_it(desk: Desk) -> None:
    strict = {"require_validated": True, "policy": "rate", "rate": {"target": "1/4"}}
    before = evaluate(desk.config({}, gate=strict), run_dir=desk.folder / "before")
    assert before.run_verdict == "incomplete"
    assert before.scorecard.validation["status"] == "unvalidated"
    desk.validate(HELD_OUT)
    after = evaluate(desk.config({}, gate=strict), run_dir=desk.folder / "after")
    assert after.run_verdict == "pass"
    assert after.scorecard.validation == {"status": "validated", "criteria": {"validated": 1}}
    found = next(row.standing for row in after.scorecard.criteria if row.standing is not None)
    assert found.rate is not None and found.interval is not None
    assert found.interval[0] < found.rate < found.interval[1]
    plans = [done.prepared.plan for done in (before, after)]
    assert plans[0].decides["trust"] is None and plans[1].decides["trust"] is not None


def test_a_run_that_there_is_is_measured_without_asking_anybody(desk: Desk) -> None:
    made = desk.validate(HELD_OUT | {"split": "dev"}).validation
    (desk.folder / "script.py").unlink()
    (desk.folder / "traces.jsonl").unlink()
    run = str(desk.folder / "run0")
    found = desk.validate({"labels": ["labels.jsonl"], "run": run})
    assert found.validation is not None and made is not None
    assert found.validation.overall == made.overall
    assert found.validation.run == "../run0"
    assert {d.link.partition("#")[0] for d in found.disagreements} == {"../run0/report.html"}


def test_a_cell_whose_repeat_has_no_line_is_undecided_as_it_is_at_the_gate(desk: Desk) -> None:
    evaluate(desk.config({}, sampling={"replicates": 2}), run_dir=desk.folder / "run0")
    desk.runs = 1
    file = desk.folder / "run0" / "verdicts.jsonl"
    lines = file.read_text("utf-8").splitlines(keepends=True)
    file.write_text("".join(lines[:1] + lines[2:]), "utf-8")
    found = desk.validate({**HELD_OUT, "run": str(desk.folder / "run0")}).validation
    assert found is not None
    assert (found.overall.abstained.over, found.overall.abstained.not_adjudicated) == (3, 1)


def test_what_an_outage_left_undecided_is_no_abstention_and_no_agreement(tmp_path: Path) -> None:
    gone = [("pass", 3), ("cannot-decide", 2)]
    said = cases(
        ("pass", "pass", 5), ("fail", "fail", 5), ("uncertain", "pass", 1),
        ("uncertain", "cannot-decide", 4), *(("nothing", human, n) for human, n in gone),
    )  # fmt: skip
    found = Desk(tmp_path, said).validate({"labels": ["labels.jsonl"], "split": "all"})
    assert found.validation is not None
    away = found.validation.overall.abstained
    assert (away.over, away.under, away.agreed, away.not_adjudicated) == (1, 0, 4, 5)
    assert [told.kind for told in found.disagreements] == ["over-abstain"]
    assert found.validation.overall.coverage.n == 5 + 5 + 1 + 3


def test_two_runs_are_compared_on_the_same_labels(desk: Desk) -> None:
    desk.validate(HELD_OUT)
    desk.notes(("fail", "pass", 62))
    against: dict[str, Any] = {"labels": ["labels.jsonl"], "against": str(desk.folder / "run0")}
    found = desk.validate({**against, "split": "all", "force": True}).validation
    assert found is not None and found.comparison is not None
    pairs = found.comparison.overall
    assert (pairs.pairs, pairs.this_only, pairs.other_only) == (123, 2, 60)
    assert pairs.exact_p is not None and pairs.exact_p < 1e-12
    assert pairs.difference == pytest.approx(-58 / 123)


def test_a_comparison_on_test_labels_is_a_use_by_the_other_judge_too(desk: Desk) -> None:
    other = {"backend": "scripted", "model": "desk-2", "script": str(desk.folder / "script.py")}
    evaluate(desk.config({}, judge=other), run_dir=desk.folder / "theirs")
    against = {**HELD_OUT, "against": str(desk.folder / "theirs")}
    found = desk.validate(against).validation
    assert found is not None and not found.forced
    both = uses(desk.folder / "state")
    assert len({use.pipeline for use in both}) == 2 and not any(use.forced for use in both)
    with pytest.raises(LabelError, match="were used for polite under this judge already"):
        desk.validate(HELD_OUT, judge=other)
    third = {**other, "model": "desk-3"}
    with pytest.raises(LabelError, match=r"under the judge of validation\.against already"):
        desk.validate(against, judge=third)
    forced = desk.validate({**against, "force": True}, judge=third).validation
    assert forced is not None and forced.forced
    assert [use.forced for use in uses(desk.folder / "state")] == [False, False, False, True]
    own = polite(
        desk.validate({"labels": ["labels.jsonl"], "against": against["against"]}).validation
    )
    assert own.status is None and len(uses(desk.folder / "state")) == 4


def test_a_run_to_compare_with_is_looked_for_before_anything_is_spent(desk: Desk) -> None:
    with pytest.raises(ArtifactError, match=r"validation\.against: .* must be the folder of a"):
        desk.validate({"labels": ["labels.jsonl"], "against": str(desk.folder / "nowhere")})
    assert not (desk.folder / "run0").exists()


def test_an_example_in_the_prompt_is_no_label_to_measure_by(desk: Desk) -> None:
    shot = "{trace_id: case-000, split: train, text: a note, critique: it says so, result: pass}"
    suite = desk.folder / "suite.yaml"
    text = suite.read_text("utf-8").replace("class: judge,", f"class: judge, few_shot: [{shot}],")
    suite.write_text(text, "utf-8")
    found = desk.validate(HELD_OUT).validation
    assert found is not None
    assert (found.labels.examples, found.labels.used) == (1, 127)
    assert polite(found).measured.tpr.n == 61


def test_runs_of_one_task_are_told_and_count_less(tmp_path: Path) -> None:
    desk = Desk(tmp_path, cases(*GOOD), per_task=4)
    found = desk.validate(HELD_OUT).validation
    assert found is not None
    assert any("runs of" in warning for warning in found.warnings)
    rate = polite(found).measured.tpr
    assert rate.n == 62 and rate.effective < 62


def test_anchors_tell_a_judge_that_drifted(desk: Desk) -> None:
    anchors: dict[str, Any] = {"anchors": ["labels.jsonl"]}
    first = drift(desk.validate(anchors).validation)
    assert first.changes == {}
    # A provider's model changes behind its name; here the notes change behind their ids.
    desk.notes(("pass", "uncertain", 1))
    again = drift(desk.validate(anchors).validation)
    assert again.now.replicate == 1
    assert not any(change.moved for change in again.changes.values())
    desk.notes(("pass", "fail", 30))
    now = drift(desk.validate(anchors).validation)
    assert [name for name, change in now.changes.items() if change.moved] == ["tpr"]
    assert now.readings == 3
    assert not (desk.folder / "state/validation/ledger.jsonl").exists()


@pytest.mark.parametrize("first", [True, False])
def test_an_outage_is_no_drift(desk: Desk, first: bool) -> None:
    anchors: dict[str, Any] = {"anchors": ["labels.jsonl"]}
    for away in (first, not first):
        desk.notes(*([("pass", "nothing", 40)] if away else []))
        found = drift(desk.validate(anchors).validation)
    assert set(found.changes) == {"tpr", "tnr", "undecided"}
    assert not any(change.moved for change in found.changes.values())


def test_labels_are_anchors_or_a_test_and_not_both_unless_it_is_recorded(desk: Desk) -> None:
    anchors: dict[str, Any] = {"anchors": ["labels.jsonl"]}
    desk.validate(anchors)
    with pytest.raises(LabelError, match="were used for polite"):
        desk.validate(HELD_OUT)
    desk.validate({**HELD_OUT, "force": True})
    with pytest.raises(LabelError, match="were used for polite"):
        desk.validate(anchors)
    desk.label("few.jsonl", [("case-000", "pass")])
    desk.validate({"anchors": ["few.jsonl"]})
    assert [use.forced for use in uses(desk.folder / "state")] == [True]
    again = desk.validate({**anchors, "force": True}).validation
    assert again is not None and again.forced
    assert [use.forced for use in uses(desk.folder / "state")] == [True, True]


def drift(found: Validation | None) -> Drift:
    assert found is not None and found.drift is not None
    return found.drift


def test_disputed_labels_are_counted_and_settled_by_an_adjudicated_file(desk: Desk) -> None:
    desk.label("bo.jsonl", [("case-000", "fail"), ("case-001", "pass")], rater="bo")
    both: dict[str, Any] = {"labels": ["labels.jsonl", "bo.jsonl"], "split": "all"}
    found = desk.validate(both).validation
    assert found is not None and found.labels.disputed == 1
    desk.label("final.jsonl", [("case-000", "pass")], rater="cy")
    found = desk.validate({**both, "adjudicated": ["final.jsonl"], "force": True}).validation
    assert found is not None and found.labels.disputed == 0


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ([("case-000", "pass"), ("case-0000", "pass")], "row 2: unknown trace 'case-0000'"),
        ([("case-000", "perhaps")], "row 1: label must be pass, fail or cannot-decide"),
    ],
)
def test_a_wrong_label_stops_it_before_anything_is_spent(
    desk: Desk, labels: list[tuple[str, str]], told: str
) -> None:
    desk.label("wrong.jsonl", labels)
    with pytest.raises(LabelError, match=told):
        desk.validate({"labels": ["wrong.jsonl"]})
    assert not (desk.folder / "run0").exists()


@pytest.mark.parametrize(
    ("validation", "told"),
    [
        ({}, "validation.labels must name a label file"),
        ({"labels": ["labels.jsonl"], "anchors": ["labels.jsonl"]}, "one of the two"),
        ({"anchors": ["labels.jsonl"], "run": "x"}, "leave one out"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    desk: Desk, validation: dict[str, Any], told: str
) -> None:
    with pytest.raises(ConfigError, match=told):
        desk.validate(validation)


def test_a_split_without_labels_says_where_they_are(desk: Desk) -> None:
    id = next(i for i, _, _ in cases(*GOOD) if split_of(i, 0) == "train")
    desk.label("one.jsonl", [(id, "pass")])
    with pytest.raises(LabelError, match=r"split=dev holds no label .* 1 in train"):
        desk.validate({"labels": ["one.jsonl"]})


def test_a_run_of_an_earlier_helix_is_refused(desk: Desk) -> None:
    evaluate(desk.config({}), run_dir=desk.folder / "run0")
    plan = desk.folder / "run0" / "plan.json"
    held = json.loads(plan.read_text("utf-8"))
    del held["decides"]["versions"]
    plan.write_text(json.dumps(held), "utf-8")
    with pytest.raises(ArtifactError, match="evaluate again"):
        desk.validate({"labels": ["labels.jsonl"], "run": str(desk.folder / "run0")})


def test_the_plan_says_version_and_prompt_of_what_is_judged(desk: Desk) -> None:
    evaluate(desk.config({}), run_dir=desk.folder / "run0")
    decides = RunFiles(desk.folder / "run0").plan().decides
    assert sorted(decides["versions"]) == ["polite", "replied"]
    assert len(decides["prompt"]) == 64

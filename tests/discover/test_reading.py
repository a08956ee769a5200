"""Discovery with somebody who reads: his word beside code's, one row a kind, asked until quiet."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from helix.demo import generate, write
from helix.discover import Discovered, discover
from helix.errors import ConfigError, ExitCode, SuiteError
from helix.model.config import Config
from helix.model.lines import decode_line
from helix.model.sound import faults
from helix.model.splits import split_of
from helix.model.task import JudgeTask, request_of
from helix.registry import load as load_registry
from helix.suite import lint, load
from helix.suite.living import suite_path
from tests.discover import reader

CONF = Path(__file__).resolve().parents[2] / "conf"
SUBJECT = yaml.safe_load((CONF / "subject" / "outreach.yaml").read_text(encoding="utf-8"))
NOW = datetime.datetime(2026, 3, 2, tzinfo=datetime.UTC)
SCRIPTED = {"backend": "scripted", "model": "m", "script": str(Path(reader.__file__))}


def discovered(folder: Path, run: str = "run", **sections: Any) -> Discovered:
    if not (folder / "traces.jsonl").exists():
        write(folder / "traces.jsonl")
    subject = {**SUBJECT, "traces": str(folder / "traces.jsonl"), **sections.pop("subject", {})}
    config = Config.model_validate(
        {"subject": subject, "paths": {"state": str(folder / "state")}, **sections}
    )
    return discover(config, run_dir=folder / run, now=NOW)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Discovered:
    folder = tmp_path_factory.mktemp("read")
    return discovered(folder, judge=SCRIPTED, discover={"window": 200})


def test_who_read_a_trace_decides_what_became_of_it(found: Discovered) -> None:
    verdicts = {one.trace_id: one.verdict for one in found.determinations}
    for trace in generate():
        labels = trace["labels"]
        if labels["faults"] == ["truncated"]:
            assert verdicts[trace["id"]] == "uncertain"
        elif not labels["faults"]:
            assert verdicts[trace["id"]] == "pass", trace["id"]
        elif labels["faults"][0] not in reader.UNDECIDED:
            assert verdicts[trace["id"]] == "fail", trace["id"]


def test_what_code_has_a_check_for_has_one_row_whatever_the_reader_calls_it(
    found: Discovered,
) -> None:
    asked = [
        json.dumps(row.criterion.code_eval.model_dump(), sort_keys=True)
        for row in found.rows
        if row.criterion.code_eval is not None
    ]
    assert len(asked) == len(set(asked)) == 13
    named = {kind: c.name for c in found.emergent.every for kind in c.kinds}
    assert named["booked a slot that was not offered"] == "bookInterview.slotId from nowhere"
    assert named["reply missing"] == "no response"


def test_what_only_a_reader_sees_becomes_a_row_for_a_judge(found: Discovered) -> None:
    row = next(r for r in found.rows if r.category == "message sent against the guard").criterion
    assert (row.klass, row.check_method) == ("judge", "llm-judge")
    assert row.discovery is not None and row.discovery.prevalence is not None
    assert row.discovery.grounding == "inferred"
    assert (row.discovery.prevalence.k, row.discovery.prevalence.n) == (2, 66)
    assert row.judge_inputs == ("obs:sendMessage.input.body", "output.response")
    assert row.terms == ("sendMessage",)
    assert row.pass_condition and row.fail_condition
    assert row.few_shot and {split_of(s.trace_id, 0) for s in row.few_shot} == {"train"}


def test_the_suite_of_a_reading_lints(found: Discovered) -> None:
    page = found.folder / "criteria.suite.yaml"
    levels = {f.level for f in lint(load(page), load_registry(), SUBJECT["tools"])}
    assert "error" not in levels


def test_asking_stops_when_nothing_new_comes_and_about_half_of_what_was_read_failed(
    tmp_path: Path,
) -> None:
    found = discovered(tmp_path, judge=SCRIPTED, discover={"window": 6, "batch": 8})
    assert found.asked is not None and found.curve.stopped
    asked = found.asked.order
    assert 16 <= len(asked) < 66 and len(found.curve.known) == len(asked)
    failed = sum(found.asked.said[name].verdict == "fail" for name in asked)
    assert 0.3 <= failed / len(asked) <= 0.7
    counted = {category.klass: category.n for category in found.emergent.every}
    assert counted == {"code": 66, "judge": len(asked)}


def test_dispatched_questions_wait_a_batch_at_a_time_and_their_answers_are_used(
    tmp_path: Path,
) -> None:
    dispatch = {"backend": "dispatch", "model": "m"}
    settings = {"batch": 5, "window": 200}
    first = discovered(tmp_path, judge=dispatch, discover=settings)
    assert first.exit_code == ExitCode.WAITING
    assert first.asked is not None and len(first.asked.pending) == 5
    assert not (tmp_path / "state" / "living-suite").exists()
    for place in sorted((tmp_path / "state" / "dispatch").glob("*.task.json")):
        request = request_of(decode_line(place.read_bytes(), JudgeTask))
        answer = {**reader.judge(request), "reviewer": "ann"}
        Path(place.parent / place.name.replace(".task.", ".verdict.")).write_text(
            json.dumps(answer), encoding="utf-8"
        )
    second = discovered(tmp_path, "again", judge=dispatch, discover=settings)
    assert second.asked is not None
    assert sorted(second.asked.said) == sorted(first.asked.pending)
    assert len(second.asked.pending) == 5 and not set(second.asked.pending) & set(second.asked.said)


def test_nobody_is_asked_about_an_agent_that_nothing_is_known_of(tmp_path: Path) -> None:
    unknown = {"name": "subject", "purpose": None}
    with pytest.raises(ConfigError, match=r"subject\.purpose must say what the agent is for"):
        discovered(tmp_path, subject=unknown, judge=SCRIPTED)


def test_a_living_suite_that_cannot_be_read_is_told_before_anybody_is_asked(
    tmp_path: Path,
) -> None:
    path = suite_path(tmp_path / "state")
    path.parent.mkdir(parents=True)
    path.write_text("<<<<<<< ours\n", encoding="utf-8")
    with pytest.raises(SuiteError, match=r"eval\.suite\.yaml:1"):
        discovered(tmp_path, judge=SCRIPTED)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("high", "med", "wrong"), [(2, 3, True), (2, 2, False)])
def test_med_from_more_traces_than_high_is_refused(high: int, med: int, wrong: bool) -> None:
    sections = {"severity_high": high, "severity_med": med}
    told = " ".join(faults(Config.model_validate({"discover": sections})))
    assert told.startswith("discover.severity_med must be at most") if wrong else not told


def test_an_empty_batch_is_skipped_and_told(tmp_path: Path) -> None:
    (tmp_path / "traces.jsonl").write_text(
        next(json.dumps(t) + "\n" for t in generate() if t["labels"]["faults"] == ["truncated"]),
        encoding="utf-8",
    )
    told: list[str] = []
    subject = {**SUBJECT, "traces": str(tmp_path / "traces.jsonl")}
    config = Config.model_validate(
        {"subject": subject, "judge": {"backend": "none"}, "paths": {"state": str(tmp_path / "s")}}
    )
    found = discover(config, run_dir=tmp_path / "run", now=NOW, notify=told.append)
    assert found.exit_code == ExitCode.PASS and found.rows == []
    assert told == ["the batch is empty: no whole trace was chosen, and nothing was examined"]
    assert (tmp_path / "run" / "discovery.json").is_file()

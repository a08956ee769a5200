"""Discovery without a judge finds what the demo planted, and its checks see it again elsewhere."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from helix import evaluate
from helix.demo import generate, write
from helix.demo.labels import CODE_ROWS
from helix.discover import Discovered, discover
from helix.discover.fixtures import write as write_fixtures
from helix.model.config import Config
from helix.registry import load as load_registry
from helix.suite import lint, load

CONF = Path(__file__).resolve().parents[2] / "conf"
SUBJECT = yaml.safe_load((CONF / "subject" / "outreach.yaml").read_text(encoding="utf-8"))
NOW = datetime.datetime(2026, 3, 2, tzinfo=datetime.UTC)
# What code can decide, and by what it is planted: a row of the labels, or the kind of fault where
# a judge has a part in the row.
PLANTED = (*CODE_ROWS, "announced-actions-done", "foreign-booking")
SEED = 7


def planted(seed: int) -> dict[str, frozenset[str]]:
    """Return the traces that show each planted kind."""
    labels = {trace["id"]: trace["labels"] for trace in generate(seed)}
    return {
        kind: frozenset(
            name
            for name, said in labels.items()
            if said["expected"].get(kind) == "fail" or kind in said["faults"]
        )
        for kind in PLANTED
    }


def whole(seed: int) -> int:
    return sum(trace["labels"]["faults"] != ["truncated"] for trace in generate(seed))


def config(folder: Path, traces: Path, **sections: Any) -> Config:
    subject = {**SUBJECT, "traces": str(traces)}
    return Config.model_validate(
        {
            "subject": subject,
            "judge": {"backend": "none"},
            "paths": {"state": str(folder / "state")},
            **sections,
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("discovered")


@pytest.fixture(scope="module")
def found(folder: Path) -> Discovered:
    write(folder / "traces.jsonl", SEED)
    return discover(config(folder, folder / "traces.jsonl"), run_dir=folder / "run", now=NOW)


@pytest.fixture(scope="module")
def claims(found: Discovered) -> dict[str, str]:
    """Return the planted kind that each criterion claims: the one whose traces it fires on."""
    kinds = {traces: kind for kind, traces in planted(SEED).items()}
    assert len(kinds) == len(PLANTED)
    return {
        row.criterion.criterion_id: kinds[frozenset(row.fires)]
        for row in found.rows
        if frozenset(row.fires) in kinds
    }


def test_every_planted_kind_has_one_criterion_and_no_symptom_has_one(
    found: Discovered, claims: dict[str, str]
) -> None:
    assert sorted(claims.values()) == sorted(PLANTED)
    assert {row.criterion.criterion_id for row in found.rows} == claims.keys()


def test_prevalence_is_that_of_the_labels(found: Discovered, claims: dict[str, str]) -> None:
    kinds = planted(SEED)
    for row in found.rows:
        seen = row.criterion.discovery.prevalence  # type: ignore[union-attr]
        traces = kinds[claims[row.criterion.criterion_id]]
        assert (seen.k, seen.n) == (len(traces), whole(SEED))  # type: ignore[union-attr]


def test_every_criterion_is_observed_and_lints(found: Discovered, folder: Path) -> None:
    page = folder / "run" / "criteria.suite.yaml"
    assert list(lint(load(page), load_registry(), SUBJECT["tools"])) == []
    for row in found.rows:
        assert row.criterion.discovery is not None
        assert row.criterion.discovery.grounding == "observed"


def test_an_assumption_reads_alike_whatever_batch_it_comes_from(found: Discovered) -> None:
    texts = {
        assumption.text
        for one in found.determinations
        for detection in one.detections
        for assumption in detection.assumptions
        if assumption.kind == "normative"
    }
    assert texts and not any(re.search(r"\d", text) for text in texts)


@pytest.mark.parametrize("seed", [11, 23])
def test_on_fresh_traces_the_criteria_see_what_they_claim_and_nothing_else(
    found: Discovered, claims: dict[str, str], tmp_path: Path, seed: int
) -> None:
    write(tmp_path / "fresh.jsonl", seed)
    subject = {k: v for k, v in SUBJECT.items() if k != "traces"}
    done = evaluate(tmp_path / "fresh.jsonl", found.suite, subject=subject)
    fails: dict[str, set[str]] = {name: set() for name in claims}
    for line in done.verdicts():
        for name, state in line.dense_map.items():
            if state == "fail":
                fails[name].add(line.trajectory_id)
    kinds = planted(seed)
    assert fails == {name: set(kinds[kind]) for name, kind in claims.items()}


def test_cut_traces_are_faults_of_their_recording_and_infrastructure_is_handed_over(
    found: Discovered, folder: Path
) -> None:
    lines = [
        json.loads(line)
        for line in (folder / "run" / "failures.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    cut = {t["id"] for t in generate(SEED) if t["labels"]["faults"] == ["truncated"]}
    assert {line["traceId"] for line in lines if line["kind"] == "capture"} == cut
    down = {line["traceId"] for line in lines if line["kind"] == "infrastructure"}
    assert down == {
        t["id"] for t in generate(SEED) if t["labels"]["situation"].startswith("failure-")
    }


def test_that_code_detected_nothing_is_no_pass(found: Discovered) -> None:
    assert {one.verdict for one in found.determinations} == {"fail", "uncertain"}
    quiet = [one for one in found.determinations if not one.detections and one.cause != "truncated"]
    assert quiet and {one.cause for one in quiet} == {"unread"}


def test_every_detection_cites_what_resolves_and_names_its_lens(found: Discovered) -> None:
    for one in found.determinations:
        for detection in one.detections:
            assert detection.refs and detection.detector
            assert all(ref.match not in (None, "dead") for ref in detection.refs)


def test_a_malformed_address_is_the_root_of_its_being_unknown(found: Discovered) -> None:
    (bad,) = planted(SEED)["address-well-formed"]
    (one,) = [d for d in found.determinations if d.trace_id == bad]
    unknown = next(d for d in one.detections if d.detector == "missing-referent")
    assert (unknown.root, unknown.led_by) == (False, "sendMessage.to is no email address")


def test_fixtures_show_each_check_firing_and_not_firing(found: Discovered, folder: Path) -> None:
    place = folder / "run" / "fixtures"
    index = json.loads((place / "index.json").read_text(encoding="utf-8"))
    assert [entry["criterionId"] for entry in index] == [
        row.criterion.criterion_id for row in found.rows
    ]
    subject = {k: v for k, v in SUBJECT.items() if k not in ("traces",)}
    for entry in index:
        for word, state in (("fires", "fail"), ("passes", "pass")):
            done = evaluate(
                place / entry[word]["file"], found.suite, subject=subject,
                select={"criteria": [entry["criterionId"]]},
            )  # fmt: skip
            (line,) = done.verdicts()
            assert line.dense_map[entry["criterionId"]] == state


def test_fixtures_of_an_older_run_go_and_what_is_not_discoverys_stays(
    found: Discovered, tmp_path: Path
) -> None:
    place = tmp_path / "fixtures"
    (place / "golden.jsonl").mkdir(parents=True)
    mine = place / "mine.fires.jsonl"
    mine.write_bytes(b"mine")
    traces = {trace.id: trace for trace in found.examined.traces}
    write_fixtures(tmp_path, found.fixtures, traces)
    assert len(list(place.iterdir())) == 3 + 2 * len(found.fixtures)
    write_fixtures(tmp_path, [], traces)
    assert {p.name for p in place.iterdir()} == {"golden.jsonl", mine.name, "index.json"}
    assert mine.read_bytes() == b"mine"


def test_a_kind_that_several_traces_show_is_found_without_its_fixtures(found: Discovered) -> None:
    several = {r.criterion.criterion_id for r in found.rows if len(r.fires) > 1}
    assert {f.criterion_id for f in found.fixtures if f.held_out} == several


def test_two_discoveries_write_the_same_bytes(found: Discovered, folder: Path) -> None:
    again = folder / "again"
    discover(
        config(folder, folder / "traces.jsonl", discover={"living": False}),
        run_dir=again,
        now=NOW + datetime.timedelta(days=1),
    )
    skipped = {"plan.json", "runmeta.json"}
    names = sorted(str(path.relative_to(again)) for path in again.rglob("*") if path.is_file())
    first = folder / "run"
    assert names == sorted(str(p.relative_to(first)) for p in first.rglob("*") if p.is_file())
    for name in names:
        if name not in skipped:
            assert (first / name).read_bytes() == (again / name).read_bytes(), name


def test_the_living_suite_has_every_row_once_however_often_one_discovers(
    found: Discovered, folder: Path
) -> None:
    living = folder / "state" / "living-suite"
    before = {path.name: path.read_bytes() for path in living.iterdir()}
    discover(config(folder, folder / "traces.jsonl"), run_dir=folder / "third", now=NOW)
    assert {path.name: path.read_bytes() for path in living.iterdir()} == before
    rows = load(living / "eval.suite.yaml").rows
    assert [row.criterion.criterion_id for row in rows] == [
        row.criterion.criterion_id for row in found.rows
    ]

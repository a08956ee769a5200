"""An audit finds what is planted into a small program, and names dimension, artifact, mechanism."""

from __future__ import annotations

from pathlib import Path

import pytest

from helix.audit.coordinator import audit
from helix.model.audited import Audited, Finding
from tests.audit.subject import asked, template


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return template(tmp_path_factory.mktemp("subject"))


def audited(work: Path, folder: Path, switches: str) -> Audited:
    return audit(asked(work, folder / "executions", switches))


def only(found: Audited) -> Finding:
    (finding,) = found.findings
    return finding


def test_a_clean_program_is_executed_twice_and_nothing_is_found(work: Path, tmp_path: Path) -> None:
    found = audited(work, tmp_path, "clean")
    assert (found.verdict, found.findings) == ("equal", ())
    assert [one.name for one in found.executions] == ["first", "varied"]
    assert found.score is not None
    assert (found.score.variance.k, found.score.variance.n > 8) == (0, True)


@pytest.mark.parametrize(
    ("switch", "artifact", "path", "dimension", "cause", "control", "severity", "shown_by"),
    [
        ("seed", "manifest.jsonl", "route", "sampling-buckets", "RC-SAMPLE", "C-PIN", "HIGH",
         "again"),
        ("hash-order", "subject.json", "tools", "entity-identity", "RC-ENV", "C-SCRIPT", "MED",
         "hash-seed alone"),
        ("clock", "subject.json", "version", "entity-identity", "RC-RUNMETA", "C-PIN", "MED",
         "again"),
        ("path", "scorecard.json", "gate.gaps[*]", "gate-completeness", "RC-ENV", "C-PIN", "MED",
         "directory alone"),
        ("listing-order", "verdicts.jsonl", "", "heatmap-cells", "RC-INGEST", "C-SCRIPT", "MED",
         "order alone"),
        ("float-text", "scorecard.json", "grounded.share", "coverage-confidence", "RC-SCHEMA",
         "C-SCHEMA", "HIGH", "hash-seed alone"),
        ("locale", "subject.json", "purpose", "entity-identity", "RC-ENV", "C-PIN", "MED",
         "locale alone"),
        ("dropped-parameter", "verdicts.jsonl", "verdicts[*].result", "heatmap-cells",
         "RC-LLM-PIN", "C-PIN", "MED", "again"),
    ],
)  # fmt: skip
def test_what_is_planted_is_found_with_its_dimension_artifact_and_mechanism(
    work: Path,
    tmp_path: Path,
    switch: str,
    artifact: str,
    path: str,
    dimension: str,
    cause: str,
    control: str,
    severity: str,
    shown_by: str,
) -> None:
    found = audited(work, tmp_path, switch)
    one = only(found)
    assert found.verdict == "different"
    assert (one.mechanism, one.scope, one.root_cause, one.control) == (
        switch, "COMMAND", cause, control,
    )  # fmt: skip
    assert (artifact, path) in {(place.artifact, place.path) for place in one.places}
    assert dimension in one.dimensions
    assert (one.severity, shown_by in one.shown_by) == (severity, True)


def test_an_answer_that_is_drawn_anew_is_the_agents_and_is_cured_by_its_twin(
    work: Path, tmp_path: Path
) -> None:
    found = {one.id: one for one in audited(work, tmp_path, "answer").findings}
    assert list(found) == ["answer.agent", "answer.command"]
    agent, command = found.values()
    assert (agent.scope, agent.defect_class, agent.twin) == (
        "AGENT", "agent-discretion", "answer.command",
    )  # fmt: skip
    assert (command.scope, command.defect_class, command.twin) == (
        "COMMAND", "missing-determinism", None,
    )  # fmt: skip


def test_all_that_is_planted_at_once_is_found_in_one_pass(work: Path, tmp_path: Path) -> None:
    switches = "seed,hash-order,clock,path,listing-order,float-text,locale,dropped-parameter"
    found = {one.mechanism for one in audited(work, tmp_path, switches).findings}
    assert found == set(switches.split(","))


def test_one_root_has_one_finding_in_a_scope_however_often_it_shows(
    work: Path, tmp_path: Path
) -> None:
    one = only(audited(work, tmp_path, "dropped-parameter"))
    places = {(place.artifact, place.path) for place in one.places}
    assert {
        ("verdicts.jsonl", "denseMap.polite"),
        ("scorecard.json", "judge.effective.seed"),
    } <= places


def test_a_program_that_ends_under_other_conditions_is_found_with_what_it_says(
    work: Path, tmp_path: Path
) -> None:
    found = audited(work, tmp_path, "crash")
    one = only(found)
    assert (found.verdict, one.mechanism, one.severity, one.control) == (
        "different", "crash", "CRIT", "C-GUARD",
    )  # fmt: skip
    assert one.shown_by == ("varied", "locale alone")
    assert one.places[0].b is not None and "cannot write" in one.places[0].b


def test_a_run_that_is_damaged_under_other_conditions_is_none(work: Path, tmp_path: Path) -> None:
    one = only(audited(work, tmp_path, "damage"))
    assert (one.mechanism, one.shown_by) == ("crash", ("varied", "time-zone alone"))
    assert one.places[0].b is not None and "manifest.jsonl is damaged" in one.places[0].b


def test_what_shows_under_no_condition_alone_is_told_as_such(work: Path, tmp_path: Path) -> None:
    assert only(audited(work, tmp_path, "together")).mechanism == "together"


def test_a_condition_that_does_not_vary_finds_nothing(work: Path, tmp_path: Path) -> None:
    wanted = asked(work, tmp_path / "executions", "locale", vary=("hash-seed", "time-zone"))
    assert audit(wanted).verdict == "equal"
    wanted = asked(work, tmp_path / "more", "time-zone", vary=("hash-seed", "time-zone"))
    assert only(audit(wanted)).mechanism == "time-zone"

"""A tracked defect counts as mended when its condition holds on what is executed now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helix.audit import dimensions
from helix.audit.conditions import Program
from helix.audit.coordinator import audit
from helix.audit.executions import Executor
from helix.audit.measures import gate_completeness
from helix.audit.tracking import Seen, load_defects, tracked
from helix.errors import UsageError
from helix.model.tracked import TrackedDefects
from helix.registry import load
from helix.runs import RunFiles
from tests.audit.subject import asked, template

NAMES = [one.name for one in dimensions(load())]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return template(tmp_path_factory.mktemp("subject"))


def defects(*conditions: dict[str, Any]) -> TrackedDefects:
    listed = [
        {"id": f"D-{number}", "what": "so", "passes_when": condition}
        for number, condition in enumerate(conditions, 1)
    ]
    return TrackedDefects.model_validate({"defects": listed})


CONDITIONS: tuple[dict[str, Any], ...] = (
    {"runs_identical": 3},
    {"artifact_equal": "subject.json"},
    {"artifact_equal": "plan.json"},
    {"dimension_equal": "entity-identity"},
    {"dimension_equal": "awareness"},
    {"finding_ids": "equal"},
    {"gate_gaps": "all-in-one-pass"},
    {"no_finding": "hash-order"},
    {"no_finding": "locale"},
    {"no_finding": "concurrency"},
    {"no_finding": "interpreter"},
    {"finding_ids": "equal", "dimension_equal": "awareness"},
)
HOLDS, NOT, UNKNOWN = "holds", "doesNotHold", "couldNotBeChecked"


@pytest.mark.parametrize(
    ("switch", "statuses"),
    [
        ("clean", [HOLDS, HOLDS, HOLDS, HOLDS, UNKNOWN, HOLDS, HOLDS, HOLDS, HOLDS, UNKNOWN,
                   UNKNOWN, UNKNOWN]),
        ("hash-order", [NOT, NOT, HOLDS, NOT, UNKNOWN, HOLDS, HOLDS, NOT, HOLDS, UNKNOWN, UNKNOWN,
                        UNKNOWN]),
    ],
)  # fmt: skip
def test_a_condition_holds_or_does_not_or_could_not_be_checked(
    work: Path, tmp_path: Path, switch: str, statuses: list[str]
) -> None:
    wanted = asked(work, tmp_path / "executions", switch, times=3, defects=defects(*CONDITIONS))
    assert [one.status for one in audit(wanted).defects] == statuses


def test_finished_runs_do_not_show_what_only_varied_conditions_do(
    work: Path, tmp_path: Path
) -> None:
    made = audit(asked(work, tmp_path / "executions", "clean"))
    runs = tuple(tmp_path / one.run for one in made.executions)
    conditions = defects({"no_finding": "locale"}, {"no_finding": "clock"}, {"runs_identical": 2})
    found = audit(asked(work, tmp_path, "", executor=None, runs=runs, defects=conditions))
    assert [one.status for one in found.defects] == [UNKNOWN, HOLDS, HOLDS]


def test_too_few_executions_prove_nothing(work: Path, tmp_path: Path) -> None:
    wanted = asked(work, tmp_path / "executions", "clean", defects=defects({"runs_identical": 3}))
    (one,) = audit(wanted).defects
    assert (one.status, one.reason) == (UNKNOWN, "2 executions are finished of 3")


def test_what_left_no_run_is_not_taken_to_be_like_the_others(work: Path, tmp_path: Path) -> None:
    copies = (
        "import shutil, sys\nif sys.argv[2] == 'processes':\n    sys.exit('no workers here')\n"
        "shutil.copytree('template', sys.argv[1])\n"
    )
    (work / "copy.py").write_text(copies, encoding="utf-8")
    words = ("{python}", "copy.py", "{out}", "{executor}")
    wanted = asked(
        work,
        tmp_path,
        "",
        executor=Executor(tmp_path / "executions", work, Program(words)),
        executors=("processes",),
        defects=defects(
            {"artifact_equal": "plan.json"},
            {"gate_gaps": "all-in-one-pass"},
            {"no_finding": "hash-order"},
            {"runs_identical": 2},
        ),
    )
    found = audit(wanted).defects
    assert [one.status for one in found] == [UNKNOWN, UNKNOWN, HOLDS, HOLDS]
    assert found[0].reason == "of these no run is left: executor processes"


def test_a_gap_that_the_gate_does_not_name_is_told(work: Path, tmp_path: Path) -> None:
    condition = defects({"gate_gaps": "all-in-one-pass"})
    wanted = asked(work, tmp_path / "executions", "unnamed-gap", defects=condition)
    (one,) = audit(wanted).defects
    assert (one.status, one.reason) == (NOT, "the gate does not name says-booked")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("defects: [{id: a, what: b, passes_when: {}}]", "must hold one of runs_identical"),
        ("defects: [{id: a, what: b, passes_when: {runs_identical: 1}}]", "greater than or equal"),
        ("defects: [{id: a, what: b, passes_when: {artifact_equal: plan.jsn}}]",
         "did you mean 'plan.json'?"),
        ("defects: [{id: a, what: b, passes_when: {dimension_equal: heatmap}}]", "heatmap-cells"),
        ("defects: [{id: a, what: b, passes_when: {no_finding: locals}}]", "mean 'locale'?"),
        ("defects: [{id: a, what: b}]", "defects.0.passesWhen: Field required"),
        ("defects: [{id: a, what: b, passes_when: {run: 3}}]", "Extra inputs are not permitted"),
        ("defects: [", "is no YAML"),
        ("[" * 20_000, "is no YAML"),
        ("a: &a [*a]", "an alias refers to itself"),
        ("defects: !!python/object/apply:os.getcwd []", "could not determine a constructor"),
        ("defects: !!int x", ":1: the file is no YAML: a value is no int"),
        ("\ndefects: !!timestamp x", ":2: the file is no YAML: a value is no timestamp"),
        ("defects: []\ndefects: []", ":2: a key must be there once (got defects again)"),
    ],
)  # fmt: skip
def test_a_file_that_says_nothing_that_can_be_checked_is_refused(
    tmp_path: Path, text: str, told: str
) -> None:
    file = tmp_path / "defects.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load_defects(str(file), NAMES)
    assert told in str(caught.value)
    assert str(file) in str(caught.value)


def test_many_faults_are_told_in_a_few_words(tmp_path: Path) -> None:
    file = tmp_path / "defects.yaml"
    file.write_text(f"defects: [{'1, ' * 3000}]", encoding="utf-8")
    with pytest.raises(UsageError, match=r"defects\.4") as caught:
        load_defects(str(file), NAMES)
    assert "defects.5" not in str(caught.value)


@pytest.mark.parametrize("name", ["", "nothing.yaml", "a\0b", "x" * 5000])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"audit\.defects: .* cannot be read"):
        load_defects(str(tmp_path / name), NAMES)


def test_a_date_is_the_text_that_it_looks_like(tmp_path: Path) -> None:
    file = tmp_path / "defects.yaml"
    file.write_text(
        "defects: [{id: 2026-13-45, what: b, passes_when: {runs_identical: 2}}]", encoding="utf-8"
    )
    assert load_defects(str(file), NAMES).defects[0].id == "2026-13-45"


def test_ids_are_unique_and_both_spellings_are_read(tmp_path: Path) -> None:
    one = {"id": "a", "what": "b", "passesWhen": {"runsIdentical": 2}}
    file = tmp_path / "defects.yaml"
    file.write_text(json.dumps({"defects": [one]}), encoding="utf-8")
    assert load_defects(str(file), NAMES).executions == 2
    file.write_text(json.dumps({"defects": [one, one]}), encoding="utf-8")
    with pytest.raises(UsageError, match="ids of their own"):
        load_defects(str(file), NAMES)


def test_a_run_that_does_not_hold_its_criteria_is_no_run_whose_gate_names_them(
    tmp_path: Path,
) -> None:
    (tmp_path / "scorecard.json").write_text('{"gate":{"gaps":[]}}', encoding="utf-8")
    run = RunFiles(tmp_path)
    assert gate_completeness(run) == {"gaps": [], "unnamed": None}
    conditions = defects({"gate_gaps": "all-in-one-pass"})
    (found,) = tracked(conditions, Seen([run], [], None, [], frozenset()))
    assert found.status == UNKNOWN

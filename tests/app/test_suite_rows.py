"""`helix criteria list|show|ratify|retire|diff|freshness`: what they print, write and exit with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helix.app.cli import main
from helix.model.criterion import Criterion
from helix.suite.lineage import history_path
from helix.suite.living import Signed, read, suite_path, upsert, write
from tests.suite.test_mined import WHOLE

OWN = """\
suite: own
criteria:
- {criterion_id: kept, statement: Pass = so., severity: HIGH,
   code_eval: {primitive: presence, field: output.response}}
- {criterion_id: low, statement: Pass = so., severity: LOW, judge_inputs: [output.response]}
- {criterion_id: gone, statement: Pass = so., severity: HIGH, status: retired}
"""
GUARD = {**WHOLE, "criterionId": "guard", "severity": "CRIT",
         "discovery": {"grounding": "inferred"}}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [Criterion.model_validate(row) for row in (WHOLE, GUARD)]
    write(".helix", upsert(read(".helix"), rows, signed=Signed("ada", "2026-01-02", "seen", "1")))
    (tmp_path / "own.yaml").write_text(OWN, encoding="utf-8")
    return tmp_path


def ran(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["criteria", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_list_says_of_every_row_whether_it_gates_and_why(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = ran(capsys, "list", "--json")
    told = {row["criterionId"]: row for row in json.loads(out)["criteria"]}
    assert code == 0
    assert told["a"]["gating"] is True and told["a"]["why"] == "observed"
    assert told["guard"]["gating"] is False
    assert told["guard"]["why"] == "mined, neither observed nor ratified"
    assert told["guard"]["lastMeasured"] is None and told["guard"]["changes"] == 1


def test_list_reads_any_suite(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ran(capsys, "list", "own.yaml")
    told = " ".join(out.split())
    assert code == 0
    kept = "kept code HIGH operator - yes written by the operator active code decides not recorded"
    assert kept in told
    assert "no severity LOW" in told and "never measured" in told and " retired " in told
    assert out.splitlines()[-1] == "3 rows: 1 gate, 1 retired"


def test_show_prints_the_row_and_its_history(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ran(capsys, "show", "guard")
    assert code == 0
    assert out.startswith("criterionId: guard\n")
    assert "gates: no (mined, neither observed nor ratified)" in out
    assert "  2026-01-02: mined by ada under version 1: seen" in out
    assert ran(capsys, "show", "gard")[2].endswith("did you mean 'guard'?\n")


def test_ratify_makes_a_guard_gate_and_is_remembered(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--by", "ada", "--at", "2026-02-03", "--note", "policy 4")
    code, out, _ = ran(capsys, "ratify", "guard", *words, "--subject-version", "2")
    assert (code, out.split(";")[0]) == (0, "guard: ratified by ada on 2026-02-03")
    living = read(".helix")
    assert living.row("guard").ratified is not None
    change = living.changes("guard")[-1]
    assert (change.event, change.by, change.why, change.subject_version) == (
        "ratified", "ada", "policy 4", "2",
    )  # fmt: skip
    told = json.loads(ran(capsys, "list", "--json")[1])["criteria"]
    assert [row["gating"] for row in told] == [True, True]


def test_retire_leaves_a_tombstone_and_twice_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("retire", "guard", "--by", "ada", "--why", "people disagree")
    assert ran(capsys, *words)[0] == 0
    assert read(".helix").row("guard").status == "retired"
    before = history_path(suite_path(".helix")).read_bytes()
    code, _, err = ran(capsys, *words)
    assert code == 2 and "a tombstone stays one" in err
    assert history_path(suite_path(".helix")).read_bytes() == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("ratify", "nobody", "--by", "ada"), "the living suite has no row 'nobody'"),
        (("ratify", "guard", "--by", " "), "--by must name somebody"),
        (("ratify", "guard", "--by", "ada", "--at", "soon"), "--at must be a date"),
        (("list", "--kind", "agnt"), "did you mean 'agent'"),
        (("freshness",), "add --subject-version V"),
        (("freshness", "--subject-version", "2", "--write"), "add --run RUN"),
        (("freshness", "--run", "none"), "must be the folder of a finished run"),
    ],
)
def test_what_cannot_be_done_is_said(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told: str
) -> None:
    code, _, err = ran(capsys, *words)
    assert code == 2 and told in err


def test_diff_tells_rows_apart_and_a_lost_id_is_an_error(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    text = OWN.replace("severity: LOW", "severity: MED").replace("kept,", "new,")
    text = text.replace(", status: retired", "")
    (folder / "after.yaml").write_text(text, encoding="utf-8")
    code, out, _ = ran(capsys, "diff", "own.yaml", "after.yaml", "--json")
    assert code == 1
    assert json.loads(out) == {
        "added": ["new"],
        "retired": [],
        "changed": {"low": ["severity"]},
        "lost": ["kept"],
        "backFromRetirement": ["gone"],
    }
    text = OWN.replace("LOW,", "LOW, status: retired,")
    (folder / "after.yaml").write_text(text, encoding="utf-8")
    code, out, _ = ran(capsys, "diff", "own.yaml", "after.yaml")
    assert (code, out) == (0, "retired: low\n0 added, 1 retired, 0 changed, 0 lost\n")


TRACE = {"schemaVersion": "1.0", "id": "t1", "output": {"response": "Done."}}


def test_freshness_notes_what_a_run_of_the_new_version_saw(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    (folder / "runs.jsonl").write_text(json.dumps(TRACE) + "\n", encoding="utf-8")
    code_row = {**WHOLE, "class": "code", "judgeInputs": [],
                "codeEval": {"primitive": "presence", "field": "output.response"}}  # fmt: skip
    rows = [Criterion.model_validate({**code_row, "criterionId": "said"})]
    write(".helix", upsert(read(".helix"), rows, signed=Signed(subject_version="1")))
    assert main(["evaluate", "subject.traces=runs.jsonl", "subject.version='2'", "judge=none",
                 f"criteria.file={suite_path('.helix')}", "hydra.run.dir=out"]) == 3  # fmt: skip
    capsys.readouterr()
    words = ("freshness", "--run", "out", "--write", "--by", "ada", "--json")
    code, out, _ = ran(capsys, *words)
    told = {row["criterionId"]: row for row in json.loads(out)["criteria"]}
    assert code == 0
    assert (told["said"]["flag"], told["said"]["todo"]) == ("stale", "re-observe")
    assert told["said"]["seen"] == {"k": 0, "n": 1} and told["a"]["seen"] == {"k": 0, "n": 0}
    _, out, _ = ran(capsys, "freshness", "--subject-version", "2")
    assert out.splitlines() == [
        "a: stale: re-observe (seen under 1)",
        "guard: stale: re-observe (seen under 1)",
        "said: fresh: nothing (up to date with 2)",
    ]
    assert "--run must be of version 3" in ran(capsys, *words, "--subject-version", "3")[2]

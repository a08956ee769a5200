"""`helix audit`: what it prints and writes, and how it exits."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from helix.app.cli import main
from tests.audit.desk import JUDGED, SAYS_BOOKED, desk_trace, scripted, suite, write
from tests.audit.subject import template

RAISES = "raise SystemExit('no chairs left')\n"


@pytest.fixture(scope="module")
def shared_work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return template(tmp_path_factory.mktemp("subject"))


@pytest.fixture
def work(shared_work: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(shared_work)
    return shared_work


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stand in a folder with a trace and a suite, and return the words that name them."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, desk_trace())
    suite(tmp_path, JUDGED)
    return ["subject.traces=runs.jsonl", "criteria.file=suite.yaml"]


def program(switches: str, folder: Path, *words: str) -> int:
    command = f"audit.command=[{{python}},program.py,'{switches}',{{out}}]"
    return main(["audit", command, "audit.inputs=notes", f"hydra.run.dir={folder}", *words])


def audited(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "audit.json").read_bytes())
    return found


def test_a_run_of_helix_is_executed_under_other_conditions_and_nothing_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "traces").mkdir()
    for name in ("a", "é"):
        path = write(tmp_path, desk_trace(name))
        path.rename(tmp_path / "traces" / f"{name}.jsonl")
    suite(tmp_path, SAYS_BOOKED)
    given = ["subject.traces=traces", "criteria.file=suite.yaml", "judge=none", "run.id=ours"]
    assert main(["audit", *given, "hydra.run.dir=out/audit", "audit.executors=[nobody]"]) == 0
    out = capsys.readouterr().out
    assert "✓ EQUAL  0 findings; 0 of" in out
    assert "Note: executor nobody is left out: not installed" in out
    found = audited(tmp_path / "out" / "audit")
    assert (found["verdict"], found["findings"]) == ("equal", [])
    assert [one["exitCode"] for one in found["executions"]] == [0, 0]
    assert found["command"][:4] == ["{python}", "-m", "helix", "evaluate"]
    assert [x["dimension"] for x in found["coverage"]["gaps"]] == [
        "data-correctness", "operational-deviation",
    ]  # fmt: skip
    assert (tmp_path / "traces" / "é.jsonl").is_file()


def test_what_differs_is_told_within_80_columns_and_exits_1(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program("hash-order,answer", tmp_path / "audit") == 1
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines()[:-1])) <= 80
    assert "hash-order.command  COMMAND  RC-ENV  C-SCRIPT" in out
    assert "subject.json: tools, its order" in out
    assert "the places of answer.agent, which this cures" in out
    page = (tmp_path / "audit" / "audit.md").read_text(encoding="utf-8")
    assert page.startswith("# Audit: different\n")
    assert "## MED hash-order.command" in page
    assert len({x["identity"] for x in audited(tmp_path / "audit")["executions"]}) == 8


def test_tracked_defects_decide_the_exit_too(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "defects.yaml"
    text = "defects: [{{id: D-1, what: drifts, passes_when: {{{}}}}}]"
    for condition, code, told in (
        ("runs_identical: 3", 0, "✓ HOLDS  D-1: drifts"),
        ("dimension_equal: awareness", 3, "? COULD NOT BE CHECKED  D-1: drifts"),
    ):
        file.write_text(text.format(condition), encoding="utf-8")
        assert program("clean", tmp_path / "audit", f"audit.defects={file}") == code
        assert told in capsys.readouterr().out
    assert len(audited(tmp_path / "audit")["executions"]) == 2
    assert sorted(os.listdir(tmp_path / "audit" / "executions")) == ["1", "2"]


def test_a_first_execution_without_a_run_measures_nothing_and_exits_3(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (work / "ends.py").write_text(RAISES, encoding="utf-8")
    words = ["audit.command=[{python},ends.py,{out}]", f"hydra.run.dir={tmp_path / 'audit'}"]
    assert main(["audit", *words]) == 3
    out = capsys.readouterr().out
    assert "no chairs left" in out and "NOT MEASURED  0 findings; 1 execution." in out
    assert audited(tmp_path / "audit")["score"] is None


def test_finished_runs_are_compared_and_what_they_cannot_show_is_said(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program("hash-order", tmp_path / "one")
    runs = [tmp_path / "one" / "executions" / number / "run" for number in "123"]
    out = f"hydra.run.dir={tmp_path / 'two'}"
    assert main(["audit", f"audit.runs=[{runs[0]},{runs[2]}]", out]) == 0
    assert main(["audit", f"audit.runs=[{runs[0]},{runs[1]}]", out]) == 1
    assert "unexplained.command" in capsys.readouterr().out
    assert main(["audit", f"audit.runs=[{runs[0]},{runs[0]}]", out]) == 2
    assert "must name two runs or more" in capsys.readouterr().err
    copied = tmp_path / "copy"
    shutil.copytree(runs[0].parent, copied)
    assert main(["audit", f"audit.runs=[{runs[0]},{copied / 'run'}]", out]) == 2
    assert "must be two executions" in capsys.readouterr().err


def test_runs_that_this_process_made_are_refused(
    desk: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for name in "ab":
        main(["evaluate", *desk, "judge=none", f"hydra.run.dir={name}"])
    assert main(["audit", "audit.runs=[a,b]"]) == 2
    assert "a must be made by another process than the audit's" in capsys.readouterr().err


def test_a_dry_run_says_what_would_be_executed_and_asked(
    desk: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["audit.pythons=[python3.12]", "audit.executors=[processes]"]
    assert main(["audit", *desk, "judge=none", *more, "run.dry=true"]) == 0
    out = capsys.readouterr().out
    assert "Dry run: nothing was executed." in out and "another hash seed" in out
    assert "one more   under python3.12" in out and "with executor processes" in out
    assert not (tmp_path / "outputs").exists()


def test_a_live_judge_is_warned_about(
    desk: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = scripted(tmp_path, "def judge(request):\n    raise OSError('gone')\n")["script"]
    judge = ["judge=scripted", f"judge.script={script}", "judge.model=m", "limits.retries=0"]
    main(["audit", *desk, *judge, "verifier=none", "audit.vary=[order]"])
    assert "helix: 1 question to a live judge" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "an audit executes helix evaluate: add subject.traces=PATH criteria.file=SUITE.yaml"),
        (["audit.command=[python,x.py]"], "audit.command must hold {out}"),
        (["audit.runs=[a]"], "audit.runs must name two runs or more (got a)"),
        (["audit.runs=[a,b]"], "audit.runs: a must be the folder of a finished run"),
        (["audit.runs=[a,b]", "audit.command=[x,{out}]"], "audit.command, audit.pythons and"),
        (["audit.command=[x,{out}]", "audit.inputs=../x"], "must be below the working directory"),
        (["audit.command=[x,{out}]", "audit.defects=none.yaml"], "'none.yaml' cannot be read"),
        (["audit.vary=[locales]"], "audit.vary"),
        (["audit.times=1"], "audit.times"),
        (["dif", "a", "b"], "unknown audit 'dif'; did you mean 'diff'?"),
    ],
)
def test_what_cannot_be_audited_is_usage(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: Sequence[str],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["audit", *words]) == 2
    assert told in " ".join(capsys.readouterr().err.split())
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("word", ["diff", "injection", "variance"])
def test_the_plain_audits_are_told_from_the_audit_of_executions(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", word, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: helix audit {word}")
    assert main(["audit", "--help"]) == 0
    assert f"helix audit {word} " in capsys.readouterr().out


@pytest.mark.parametrize(("word", "near"), [("difff", "diff"), ("Variance", "variance")])
def test_a_mistyped_audit_is_told_the_nearest(
    word: str, near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", word, "A", "B"]) == 2
    assert f"did you mean '{near}'?" in capsys.readouterr().err

"""No id, name or link in what is read decides where a command writes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from helix.app.cli import main
from tests.app.test_run import JUDGED, SUITE, here, trace
from tests.improve import bench

__all__ = ["here"]
IDS = [
    "../../up",
    "/up",
    "..",
    "a/../../../up",
    "..\\..\\up",
    "up\0",
    "~/up",
    "$HOME/up",
    "x" * 300,
]
EVERY = "report.out=[html,json,markdown,csv,junit,sarif,github,annotations,otel]"


@pytest.fixture
def deep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder three levels down that holds traces and rows with hostile ids."""
    folder = tmp_path / "a" / "b" / "c"
    folder.mkdir(parents=True)
    lines = [trace(at, "No.").replace(f"t-{at}", json.dumps(name)[1:-1])
             for at, name in enumerate(IDS)]  # fmt: skip
    (folder / "odd.jsonl").write_text("".join(lines), encoding="utf-8")
    suite = (SUITE + JUDGED).replace("criterionId: polite", "criterionId: ../../up")
    (folder / "suite.yaml").write_text(suite, encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return folder


WORDS = ["subject.traces=odd.jsonl", "criteria.file=suite.yaml"]
COMMANDS = {
    "dispatched, a page per trace": [
        "evaluate",
        *WORDS,
        "judge.model=m",
        "report.mode=directory",
        EVERY,
    ],
    "by criterion": ["evaluate", *WORDS, "judge.model=m", "judge.axis=criterion"],
    "build-evals": ["build-evals", *WORDS, "judge.model=m"],
    "discover": ["discover", *WORDS[:1], "judge=none"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_id_of_a_trace_or_a_row_leads_out_of_the_folders(
    deep: Path, tmp_path: Path, name: str
) -> None:
    before = set(tmp_path.rglob("*"))
    assert main([*COMMANDS[name], "hydra.run.dir=out/run"]) in (0, 1, 3, 5)
    made = {path.relative_to(deep).parts for path in set(tmp_path.rglob("*")) - before}
    assert made and {parts[0] for parts in made} <= {"out", ".helix"}
    assert not [parts for parts in made if parts[-1] in ("up", "up.html", "up.json", "up.jsonl")]
    assert max(len(parts[-1]) for parts in made) < 120


def test_a_dataset_of_traces_with_hostile_ids_stays_in_its_folder(
    deep: Path, tmp_path: Path
) -> None:
    assert main(["evaluate", *WORDS, "judge=none", "hydra.run.dir=out/run"]) in (1, 3)
    before = set(tmp_path.rglob("*"))
    words = ["dataset.runs=[out/run]", "dataset.name=odd", "hydra.run.dir=out/dataset"]
    assert main(["build-dataset", *words]) == 0
    made = {path.relative_to(deep).parts[0] for path in set(tmp_path.rglob("*")) - before}
    assert made <= {"out", ".helix"}


def test_a_link_in_a_run_directory_is_replaced_and_never_written_through(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(here)
    words = ["evaluate", "subject.traces=good.jsonl", "criteria.file=suite.yaml", "judge=none",
             "hydra.run.dir=run", "report.out=[html,json]"]  # fmt: skip
    assert main(words) == 0
    files = sorted(path for path in (here / "run").rglob("*") if path.is_file())
    assert {"events.jsonl", "plan.json", "report.html", "runmeta.json", "scorecard.json"} <= {
        path.name for path in files
    }
    (here / "victims").mkdir()
    for path in files:
        victim = here / "victims" / path.name
        victim.write_text("mine", encoding="utf-8")
        path.unlink()
        path.symlink_to(victim)
    assert main(words) in (0, 2)
    assert {path.read_text("utf-8") for path in (here / "victims").iterdir()} == {"mine"}


def test_no_id_of_a_case_leads_out_of_the_loops_folder(deep: Path, tmp_path: Path) -> None:
    bench.desk(deep)
    cases = (deep / "desk" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    case = json.dumps(json.loads(cases[0]) | {"id": "../../../../up"})
    (deep / "odd-cases.jsonl").write_text(case + "\n", encoding="utf-8")
    before = set(tmp_path.rglob("*"))
    main(["improve", "improve.subject=command", "improve.cases=odd-cases.jsonl", "judge=none",
          f"improve.command=[{sys.executable},desk/agent.py,1]", "improve.repeats=2",
          "criteria.file=desk/suite.yaml", "hydra.run.dir=out/loop"])  # fmt: skip
    made = {path.relative_to(deep).parts for path in set(tmp_path.rglob("*")) - before}
    assert {parts[0] for parts in made} <= {"out", ".helix"}
    assert [parts[-1] for parts in made if parts[-1].startswith("up-")]


@pytest.mark.parametrize("name", ["../evaluate/run", "a/../../b", ".."])
def test_a_loop_has_a_folder_of_its_own(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.chdir(here)
    assert main(["improve", "criteria.file=suite.yaml", f"improve.id={name}"]) == 2
    assert "improve.id must be" in capsys.readouterr().err
    assert not (here / "outputs").exists()

"""docs/dispatch.md: its commands run as they stand, and its figures are those of the recordings."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
import yaml

from helix.app.cli import main

NAMES = ("39_trial2", "01_trial2", "36_trial1", "15_trial2", "32_trial3",
         "20_trial1", "40_trial1", "26_trial0", "22_trial1", "06_trial1")  # fmt: skip


@pytest.fixture(scope="module")
def page(project: Path) -> str:
    return (project / "docs" / "dispatch.md").read_text(encoding="utf-8")


@pytest.fixture
def folder(shared: Path, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    cases = project / "tests" / "cases" / "real" / "airline_dispatch"
    shutil.copy(cases / "suite.yaml", tmp_path)
    (tmp_path / "runs").mkdir()
    for name in NAMES:
        (file,) = (shared / "traces" / "tau_bench_airline_gpt4o").glob(f"task{name}_*.json")
        shutil.copyfile(file, tmp_path / "runs" / file.name)
    shutil.copytree(cases / "recordings", tmp_path / "kept")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_its_commands_lead_from_the_questions_to_the_figures(
    page: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = [shlex.split(x)[1:] for x in re.findall(r"^\$ (helix .+)$", page, re.M)]
    ask, export, check, keep, replay = commands
    assert main([*ask, "hydra.run.dir=asked"]) == 5
    assert "Waiting: 10 questions" in capsys.readouterr().out
    assert len(list((folder / ".helix" / "dispatch").glob("*.packet.json"))) == 10
    assert main(export) == 2, "nothing is answered here, and nothing becomes a recording"
    (folder / "recordings").mkdir()
    (folder / "kept" / "judge.jsonl").rename(folder / "recordings" / "judge.jsonl")
    assert main([*check, "hydra.run.dir=checked"]) == 5
    told = " ".join(capsys.readouterr().out.split())
    assert "(10 of them to check verdicts, by another reviewer)" in told
    assert main(keep) == 2, "nor does the check"
    (folder / "kept" / "verifier.jsonl").rename(folder / "recordings" / "verifier.jsonl")
    assert main([*replay, "hydra.run.dir=replayed"]) == 1
    card = json.loads((folder / "replayed" / "scorecard.json").read_text("utf-8"))
    counts = card["verification"]
    assert f"{counts['confirmed']} confirmed, {counts['downgraded']} taken back" in page
    judged = {"pass": "pass", "fail": "fail", "uncertain": "uncertain"}
    for row, state in judged.items():
        assert re.search(rf"^\| {row} \| \d+ \| {card['cells'][state]} \|$", page, re.M), row


def test_what_the_readers_answered_is_counted_right(page: str, project: Path) -> None:
    file = project / "tests/cases/real/airline_dispatch/recordings/judge.jsonl"
    answers = [json.loads(json.loads(x)["text"]) for x in file.read_text("utf-8").splitlines()[1:]]
    verdicts = [v for a in answers for v in a.get("verdicts", [])]
    absent = [v for a in answers for v in a.get("notApplicable", [])]
    for result in ("pass", "fail", "uncertain"):
        count = sum(v["result"] == result for v in verdicts)
        assert re.search(rf"^\| {result} \| {count} \|", page, re.M), result
    assert f"| not applicable, by the judge | {len(absent)} |" in page
    assert f"{len(verdicts) + len(absent)} judged cells" in page
    assert f"all {sum(len(v['refs']) for v in (*verdicts, *absent))} citations" in page


@pytest.mark.parametrize(
    ("name", "cells", "kappa"), [("airline_dispatch", 42, True), ("agentrx_dispatch", 15, False)]
)
def test_how_two_checks_compare_is_counted_right(
    name: str, cells: int, kappa: bool, page: str, project: Path
) -> None:
    file = project / "tests" / "cases" / "real" / name / "expected.yaml"
    expected = yaml.safe_load(file.read_text("utf-8"))
    other, own = (
        {(taken["trace"], taken["row"]) for taken in expected[check]}
        for check in ("downgraded", "by_the_judge")
    )
    agreed = cells - len(other ^ own)
    assert f"agree on {agreed} of {cells}" in page
    chance = (len(other) * len(own) + (cells - len(other)) * (cells - len(own))) / cells**2
    assert not kappa or f"kappa {(agreed / cells - chance) / (1 - chance):.2f}" in page

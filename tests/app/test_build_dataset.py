"""`helix build-dataset` as it is typed: what it tells, what it leaves, how it exits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helix.app.cli import main
from tests.build_dataset.desk import booked, evaluated


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    evaluated(tmp_path, "a", booked(1), booked(2, fails=True), booked(3, state=None))
    return tmp_path


def ran(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["build-dataset", *words, "hydra.run.dir=out"])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_it_tells_what_is_new_and_what_to_type_next(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = ran(capsys, "dataset.name=desk", "dataset.runs=a")
    assert (code, err) == (0, "")
    assert ".helix/datasets/desk: 2 traces (2 new)" in out
    assert "rows   2 (2 new): 1 failing, 1 uncertain" in out
    assert "subject.traces=.helix/datasets/desk/traces/dev.jsonl criteria.file=SUITE.yaml" in out
    added = (here / "out" / "added.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["why"] for line in added] == ["failing", "uncertain"]
    assert json.loads((here / "out" / "runmeta.json").read_text("utf-8")) == {"exitCode": 0}
    code, out, _ = ran(capsys, "dataset.name=desk", "dataset.runs=a")
    assert (code, "rows   2 (0 new)" in out) == (0, True)


def test_dimensions_are_typed_at_once_or_one_by_one(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = "dataset.dimensions={who:[a new guest,a regular],what:[book,cancel]}"
    code, out, err = ran(capsys, "dataset.name=desk", whole)
    assert (code, "tasks  4 (4 new)" in out) == (0, True), err
    parts = [
        "dataset.dimensions.who=[a new guest,a regular]",
        "dataset.dimensions.what=[book,move]",
    ]
    code, out, err = ran(capsys, "dataset.name=desk", *parts)
    assert (code, "tasks  6 (2 new)" in out) == (0, True), err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["dataset.runs=a"], "add dataset.name=NAME"),
        (["dataset.name=x", "dataset.runs=b"], "must be the folder of a finished run"),
        (["dataset.name=x", "dataset.include=[fails]"], "failing"),
        (["dataset.name=x", "run.dry=true"], "run.dry must be false"),
    ],
)
def test_what_cannot_be_built_exits_2_and_leaves_nothing(
    here: Path, capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    code, out, err = ran(capsys, *words)
    assert (code, out, text in err) == (2, "", True), err
    assert not list(here.glob(".helix/datasets/*/*"))


def test_a_sweep_builds_each_dataset(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["-m", "dataset.name=one,two", "dataset.runs=a", "hydra.sweep.dir=sweep"]
    assert main(["build-dataset", *words]) == 0
    assert (here / ".helix" / "datasets" / "two" / "rows.jsonl").is_file()

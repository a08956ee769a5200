"""The last lines of a sweep say whether it drew anything (METHOD 73)."""

from __future__ import annotations

from pathlib import Path

import pytest

from helix.app.cli import main
from tests.audit import flipping


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    flipping.desk(tmp_path, tasks=2)
    flipping.judge(tmp_path)
    monkeypatch.chdir(tmp_path)
    return ["evaluate", "-m", "subject.traces=runs.jsonl",
            "criteria.file=suite.yaml", "judge=scripted", "judge.script=judge.py",
            "judge.model=m", "report.out=[]"]  # fmt: skip


def last(words: list[str], capsys: pytest.CaptureFixture[str], *more: str) -> list[str]:
    main([*words, *more])
    return capsys.readouterr().err.strip().splitlines()[-2:]


def test_a_sweep_that_moves_another_key_reads_the_same_draws_and_says_so(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert last(words, capsys, "sampling.seed=1,2") == [
        "Warning: job 2 drew no reply; all came from the cache.",
        "No repeats are in job 2, which read the draws of an earlier job: sweep with -m "
        "sampling.replicate_offset=0,1,2,3,4 to draw some.",
    ]


def test_a_sweep_over_the_offset_draws_and_read_again_still_counts(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert "exit" in last(words, capsys, "sampling.replicate_offset=0,1")[-1]
    assert last(words, capsys, "sampling.replicate_offset=0,1") == [
        "Warning: this sweep drew no reply; all 8 replies came from the cache.",
        "They count as the repeats that they were drawn as, each under its own index.",
    ]


def test_a_sweep_that_asks_nobody_warns_of_nothing(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    plain = [word for word in words if not word.startswith("judge")]
    said = last([*plain, "judge=none"], capsys, "sampling.seed=1,2")
    assert not any("Warning" in line for line in said)

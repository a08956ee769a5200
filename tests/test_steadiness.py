"""A judge without temperature 0 gates where repeats under its pin were measured stable (42)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helix.app.cli import main
from tests.audit import flipping

WARM = {"allow_unpinned_temperature": True}


def measured(folder: Path, run: str = "run") -> int:
    return main(["audit", "variance", str(folder / run), "--keep"])


def test_a_row_measured_stable_gates_in_later_runs_without_repeats(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flipping.desk(tmp_path, tasks=3)
    section = flipping.judge(tmp_path) | WARM
    before = flipping.evaluated(tmp_path, section, "before")
    assert before.run_verdict == "incomplete"
    assert "was not measured stable" in before.scorecard.gate.gaps[0]
    flipping.evaluated(tmp_path, section, sampling={"replicates": 5})
    assert measured(tmp_path) == 0
    assert "greets: stable; kept in " in capsys.readouterr().err
    after = flipping.evaluated(tmp_path, section, "after")
    assert after.run_verdict == "pass"
    assert after.prepared.plan.decides["steady"] == ["greets"]
    assert after.prepared.plan.digest != before.prepared.plan.digest


@pytest.mark.parametrize(
    ("given", "replicates", "why"),
    [
        ({"wrong": 0.4}, 5, "answers differ on "),
        ({"undecided": 0.3}, 5, " repeats are undecided"),
        ({}, 4, "a trace was asked under 4 of 5 indices"),
    ],
)
def test_what_flips_or_was_asked_too_seldom_is_not_stable(
    given: dict[str, float], replicates: int, why: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    flipping.desk(tmp_path, tasks=4)
    section = flipping.judge(tmp_path, **given) | WARM  # type: ignore[arg-type]
    flipping.evaluated(tmp_path, section, sampling={"replicates": replicates})
    measured(tmp_path)
    said = capsys.readouterr().err
    assert "greets: not stable: " in said and why in said
    again = flipping.evaluated(tmp_path, section, "again")
    assert again.run_verdict == "incomplete" and "steady" not in again.prepared.plan.decides


def test_one_trace_that_was_asked_once_leaves_the_row_unmeasured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flipping.desk(tmp_path, tasks=3)
    section = flipping.judge(tmp_path) | WARM
    some = {"select": {"traces": ["t0-0", "t1-0"]}}
    flipping.evaluated(tmp_path, section, "some", sampling={"replicates": 5}, **some)
    flipping.evaluated(tmp_path, section, "all")
    main(["audit", "variance", str(tmp_path / "some"), str(tmp_path / "all"), "--keep"])
    assert "not stable: a trace was asked under 1 of 5 indices" in capsys.readouterr().err


def test_a_flip_that_is_measured_later_takes_the_standing_back(tmp_path: Path) -> None:
    flipping.desk(tmp_path, tasks=3)
    section = flipping.judge(tmp_path) | WARM
    flipping.evaluated(tmp_path, section, sampling={"replicates": 5})
    measured(tmp_path)
    lines = (tmp_path / "run" / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    first = json.loads(lines[0])
    first["verdicts"][0]["result"] = first["denseMap"]["greets"] = "fail"
    text = "\n".join([json.dumps(first), *lines[1:]]) + "\n"
    (tmp_path / "run" / "verdicts.jsonl").write_text(text, encoding="utf-8")
    measured(tmp_path)
    assert flipping.evaluated(tmp_path, section, "after").run_verdict == "incomplete"


def test_another_judge_was_not_measured(tmp_path: Path) -> None:
    flipping.desk(tmp_path, tasks=2)
    section = flipping.judge(tmp_path) | WARM
    flipping.evaluated(tmp_path, section, sampling={"replicates": 5})
    measured(tmp_path)
    other = flipping.judge(tmp_path, salt=1) | WARM
    assert flipping.evaluated(tmp_path, other, "other").run_verdict == "incomplete"


def test_at_temperature_0_nothing_is_looked_up(tmp_path: Path) -> None:
    flipping.desk(tmp_path, tasks=2)
    section = flipping.judge(tmp_path)
    flipping.evaluated(tmp_path, section, sampling={"replicates": 5})
    measured(tmp_path)
    again = flipping.evaluated(tmp_path, section, "again")
    assert again.run_verdict == "pass" and "steady" not in again.prepared.plan.decides


def test_repeats_that_flip_in_the_run_itself_leave_it_incomplete_all_the_same(
    tmp_path: Path,
) -> None:
    flipping.desk(tmp_path, tasks=3)
    section = flipping.judge(tmp_path, wrong=0.5, salt=3) | WARM
    flipping.evaluated(tmp_path, section, sampling={"replicates": 5})
    folder = tmp_path / "state" / "stability"
    measured(tmp_path)
    (page,) = folder.glob("*/*.json")
    forced = json.loads(page.read_text(encoding="utf-8")) | {"stable": True}
    page.write_text(json.dumps(forced), encoding="utf-8")
    again = flipping.evaluated(tmp_path, section, "again", sampling={"replicates": 5})
    assert again.run_verdict in ("incomplete", "fail")
    assert again.scorecard.blocked.by_cause.get("flapping", 0) > 0

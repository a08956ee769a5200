"""docs/calibration.md and docs/criteria.md: tables, commands and options are those there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from helix.app.cli import main
from helix.calibrate import ACTIONS, TABLE
from helix.calibrate.queue import ROUTES
from helix.suite.freshness import LEGS


@pytest.fixture(scope="module")
def calibration(project: Path) -> str:
    return (project / "docs" / "calibration.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def criteria(project: Path) -> str:
    return (project / "docs" / "criteria.md").read_text(encoding="utf-8")


def helped(capsys: pytest.CaptureFixture[str], command: str, *names: str) -> str:
    capsys.readouterr()
    for name in names:
        assert main([command, name, "--help"]) == 0
    return capsys.readouterr().out


def test_its_table_of_states_is_the_table(calibration: str) -> None:
    told = re.findall(r"^\| (\w+) \| `([a-z-]+)` \| (\w+) \|$", calibration, re.MULTILINE)
    there = {
        (state or "new", action, after)
        for state, actions in TABLE.items()
        for action, after in actions.items()
    }
    assert len(told) == len(set(told))
    assert set(told) == there


def test_its_actions_are_those_there_are(calibration: str) -> None:
    part = calibration.partition("| action |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `([a-z-]+)`", part, re.MULTILINE)) == set(ACTIONS)


def test_each_kind_of_block_has_the_actions_that_it_names(calibration: str) -> None:
    part = calibration.partition("| blocked by |")[2].partition("\n\n")[0]
    told = {
        cells[1].strip(" `"): tuple(re.findall(r"`([a-z-]+)`", cells[3]))
        for cells in (line.split("|") for line in part.splitlines()[2:])
    }
    assert told == dict(ROUTES)


def test_every_option_on_the_page_of_calibration_is_one(
    calibration: str, capsys: pytest.CaptureFixture[str]
) -> None:
    there = helped(capsys, "calibrate", "queue", "record", "log", "premises", *ACTIONS)
    named = set(re.findall(r"--[a-z][a-z-]*", calibration))
    assert len(named) > 12
    assert named <= set(re.findall(r"--[a-z][a-z-]*", there))


def test_every_command_and_option_on_the_page_of_criteria_is_one(
    criteria: str, capsys: pytest.CaptureFixture[str]
) -> None:
    named = dict.fromkeys(re.findall(r"helix criteria (\w+)", criteria))
    assert {"list", "show", "ratify", "retire", "diff", "freshness"} <= set(named)
    there = helped(capsys, "criteria", *named)
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", criteria))
    assert options <= set(re.findall(r"--[a-z][a-z-]*", there))


def test_the_kinds_of_subject_on_it_are_those_there_are(criteria: str) -> None:
    (line,) = [line for line in criteria.splitlines() if line.startswith("`--kind`")]
    assert [kind for kind in LEGS if kind not in line] == []

"""Two people's logs merge in git; what excludes each other is refused by its entry."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from helix.calibrate import CalibrationError, Desk, act, apply, record, replay
from helix.model.calibration import Action
from helix.premises import premises
from tests.calibrate.lines import line
from tests.calibrate.test_table import entry, row
from tests.suite.test_living import commit, git


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """A repository in which a run left a and b undecided."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    apply(tmp_path, record(Desk.open(tmp_path), [line("t1", a="normative", b="scope")], "run-1"))
    commit(tmp_path)
    return tmp_path


def merged(folder: Path, ours: tuple[Action, str], theirs: tuple[Action, str]) -> Desk:
    """Return the desk after two people each took an action on a branch of their own."""
    for branch, (action, name) in (("theirs", theirs), ("main", ours)):
        git(folder, "checkout", "--quiet", *(["-b"] if branch == "theirs" else []), branch)
        apply(folder, act(Desk.open(folder), entry(action, name), row(name)))
        commit(folder)
    git(folder, "merge", "--quiet", "--message=both", "theirs")
    return Desk.open(folder)


def test_actions_on_two_criteria_both_stand(both: Path) -> None:
    desk = merged(both, ("ratify", "a"), ("retire", "b"))
    assert replay(desk.log) == {"a": "waiting", "b": "retired"}
    assert [premise.criterion_id for premise in premises(desk.log)] == ["a"]
    assert {r.criterion_id: r.status for r in desk.living.suite.criteria} == {
        "a": "active", "b": "retired",
    }  # fmt: skip


def test_the_same_action_on_two_criteria_stands_for_each(both: Path) -> None:
    desk = merged(both, ("re-ground", "a"), ("re-ground", "b"))
    assert replay(desk.log) == {"a": "waiting", "b": "waiting"}


def test_an_action_on_what_another_retired_is_refused(both: Path) -> None:
    with pytest.raises(CalibrationError, match="entry 4 of the calibration log: 'a' is retired"):
        merged(both, ("retire", "a"), ("re-ground", "a"))

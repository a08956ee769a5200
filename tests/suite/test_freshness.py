"""Which rows are of another version of the subject, and what is done about them."""

from __future__ import annotations

import pytest

from helix.errors import UsageError
from helix.model.criterion import Criterion, Ratified, Suite
from helix.suite.freshness import Fresh, Upkeep, freshness, leg_of, persist, reconcile
from helix.suite.living import Living, Signed, ratify, retire, upsert
from tests.suite.test_mined import WHOLE


def living(*versions: str | None) -> Living:
    """Return a suite of one row for each version that it was mined under: r0, r1, …"""
    found = Living(Suite(suite="eval", criteria=()))
    for at, version in enumerate(versions):
        row = Criterion.model_validate({**WHOLE, "criterionId": f"r{at}"})
        found = upsert(found, [row], signed=Signed(subject_version=version))
    return found


@pytest.mark.parametrize(
    ("kind", "leg"),
    [("agent", "eval"), ("skill", "eval"), ("composite", "eval"), ("code", "code-quality")],
)
def test_each_kind_of_subject_has_a_leg(kind: str, leg: str) -> None:
    assert leg_of(kind) == leg


def test_another_kind_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"must be one of agent, .* did you mean 'skill'"):
        leg_of("skil")


def test_rows_are_flagged_by_the_version_they_were_seen_under() -> None:
    suite = living("1", "2", None)
    suite = ratify(suite, "r1", Ratified(by="ada", at="2026-01-02"), "1")
    assert freshness(suite, "2") == (
        Fresh("r0", "stale", "1"),
        Fresh("r1", "stale", "2", "1"),
        Fresh("r2", "not recorded"),
    )


def test_a_row_that_is_found_again_under_a_new_version_is_fresh() -> None:
    suite = living("1", None)
    rows = suite.suite.criteria
    after = upsert(suite, rows, signed=Signed(why="mined", subject_version="2"))
    assert after.suite == suite.suite
    assert freshness(after, "2") == (Fresh("r0", "fresh", "2"), Fresh("r1", "fresh", "2"))
    assert upsert(after, rows, signed=Signed(why="again", subject_version="2")) == after
    assert upsert(after, rows, signed=Signed(why="again")) == after


def test_an_operators_row_and_a_tombstone_need_nothing() -> None:
    own = Criterion.model_validate({"criterionId": "own", "statement": "Pass = so."})
    suite = upsert(retire(living("1"), "r0", Signed()), [own], event="added")
    assert reconcile(suite, "2") == (Upkeep("own", "nothing", "up to date with 2"),)


def test_what_to_do_follows_from_what_is_stale() -> None:
    suite = ratify(living("1", None), "r0", Ratified(by="ada", at="2026-01-02"))
    told = [(task.criterion_id, task.action, task.why) for task in reconcile(suite, "2")]
    assert told == [
        ("r0", "re-observe", "seen under 1"),
        ("r0", "re-ratify", "not recorded under which version it was ratified"),
        ("r1", "re-observe", "not recorded under which version it was seen"),
    ]


def test_what_a_run_saw_is_noted_and_leaves_the_row_as_it_is() -> None:
    suite = living("1", "1", "2")
    tasks = reconcile(suite, "2", {"r0": (0, 9), "r1": (0, 0), "r2": (1, 9)})
    after = persist(suite, tasks, Signed("ada", "2026-01-02", subject_version="2"))
    assert after.suite == suite.suite
    (change,) = after.history[len(suite.history) :]
    assert (change.criterion_id, change.event, change.why) == (
        "r0", "re-observed", "0 of 9 decided traces fail",
    )  # fmt: skip
    assert [fresh.flag for fresh in freshness(after, "2")] == ["fresh", "stale", "fresh"]
    assert persist(after, reconcile(after, "2", {"r0": (0, 9)}), Signed()) == after

"""No sequence of operations loses an id or makes a transition that the table does not have."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from helix.calibrate import ACTIONS, TABLE, CalibrationError, Desk, act, apply, record, replay, step
from helix.errors import SuiteError
from helix.model.calibration import Action, Entry, State
from helix.model.criterion import Criterion
from helix.premises import log_path, premises
from helix.suite.living import Signed, assert_monotonic_growth, retire
from tests.calibrate.lines import line

NAMES = ("a", "b", "c")
SAID: dict[str, Any] = {"by": "ada", "why": "so", "at": "2026-01-02"}
MORE: dict[Action, dict[str, Any]] = {
    "found": {"run": "r", "kinds": ("scope",)},
    "settled": {"run": "r"},
    "re-ground": {**SAID, "fields": ("output.state",)},
    "ratify": {**SAID, "text": "Refunds need a yes."},
    "re-scope": {**SAID, "fields": ("statement",)},
    "verify": {**SAID, "text": "The desk was open.", "trace_id": "t1"},
    "eliminate": {**SAID, "text": "The desk was open.", "trace_id": "t1"},
    "withdraw": {**SAID, "premise": "premise-0"},
    "retire": SAID,
}


def entry(action: Action, name: str = "a", **more: Any) -> Entry:
    return Entry(criterion_id=name, action=action, **{**MORE[action], **more})


def row(name: str, statement: str = "Pass = so.") -> Criterion:
    return Criterion.model_validate(
        {"criterionId": name, "statement": statement, "severity": "HIGH",
         "judgeInputs": ["output.response"]}
    )  # fmt: skip


EVERY = [(state, action) for state in TABLE for action in get_args(Action)]


@pytest.mark.parametrize(("state", "action"), EVERY)
def test_each_transition_is_the_tables_or_is_refused(state: State | None, action: Action) -> None:
    before: dict[str, State] = {} if state is None else {"a": state}
    if action in TABLE[state]:
        assert step(before, entry(action)) == {"a": TABLE[state][action]}
    else:
        with pytest.raises(CalibrationError, match=rf"'a' .* cannot {action} \(possible: "):
            step(before, entry(action))


def test_every_state_is_in_the_table_and_a_tombstone_has_no_way_out() -> None:
    assert set(TABLE) == {None, *get_args(State)}
    assert TABLE["retired"] == {}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("key", ["by", "why"])
def test_nobody_acts_without_a_name_and_a_reason(action: Action, key: str) -> None:
    state: State = "uncertain"
    with pytest.raises(CalibrationError, match=f"{action} must say {key}"):
        step({"a": state}, entry(action, **{key: " "}))


@pytest.mark.parametrize(
    ("action", "key"),
    [("re-ground", "fields"), ("ratify", "text"), ("re-scope", "fields"), ("eliminate", "text"),
     ("withdraw", "premise"), ("found", "kinds"), ("settled", "run")],
)  # fmt: skip
def test_an_action_says_what_it_is_about(action: Action, key: str) -> None:
    empty = () if key in ("fields", "kinds") else None
    with pytest.raises(CalibrationError, match=f"must say {key}"):
        step({"a": "uncertain"}, entry(action, **{key: empty}))


def test_a_verdict_is_given_for_one_trace() -> None:
    with pytest.raises(CalibrationError, match="must say trace_id"):
        step({"a": "uncertain"}, entry("verify", text=None, trace_id=None, result="pass"))


def test_a_log_that_holds_what_cannot_be_is_refused_by_its_entry() -> None:
    log = [entry("found"), entry("retire"), entry("ratify")]
    with pytest.raises(CalibrationError, match="entry 3 of the calibration log: 'a' is retired"):
        replay(log)


def test_a_run_is_noted_once_and_a_new_run_again(tmp_path: Path) -> None:
    desk = record(Desk.open(tmp_path), [line("t1", a="scope", b="timeout", c="pass")], "run-1")
    assert [(e.criterion_id, e.action, e.kinds) for e in desk.log] == [("a", "found", ("scope",))]
    assert record(desk, [line("t1", a="scope", b="timeout", c="pass")], "run-1") == desk
    assert record(desk, [line("t1", a="scope")], "run-2") == desk
    desk = act(desk, entry("ratify"), row("a"))
    old = record(desk, [line("t1", a="scope")], "run-1")
    assert replay(old.log) == {"a": "waiting"}
    still = record(desk, [line("t1", a="scope")], "run-2")
    assert replay(still.log) == {"a": "uncertain"}
    settled = record(desk, [line("t1", a="fail")], "run-2")
    assert replay(settled.log) == {"a": "decided"}


def test_what_another_logged_since_is_not_overwritten(tmp_path: Path) -> None:
    mine = record(Desk.open(tmp_path), [line("t1", a="scope")], "run-1")
    apply(tmp_path, record(Desk.open(tmp_path), [line("t1", b="scope")], "run-1"))
    with pytest.raises(CalibrationError, match="has changed since it was read"):
        apply(tmp_path, mine)
    assert replay(Desk.open(tmp_path).log) == {"b": "uncertain"}


def test_what_is_done_to_the_living_suite_is_in_its_history(tmp_path: Path) -> None:
    desk = record(Desk.open(tmp_path), [line("t1", a="scope", b="scope", c="normative")], "run-1")
    desk = act(desk, entry("ratify", "c"), row("c"))
    desk = act(desk, entry("re-scope"), row("a"), row("a", "Pass = narrower."))
    desk = act(desk, entry("verify"), row("a"))
    desk = act(desk, entry("retire", "b"), row("b"))
    apply(tmp_path, desk)
    living = Desk.open(tmp_path).living
    assert living.row("a").statement == "Pass = narrower."
    assert living.row("b").status == "retired"
    assert living.row("c").ratified is not None and living.row("c").ratified.by == "ada"
    told = [(c.criterion_id, c.event, c.by, c.why) for c in living.history]
    assert told == [
        ("c", "ratified", "ada", "so"),
        ("a", "re-scoped", "ada", "so"),
        ("a", "graduated", "ada", "so"),
        ("b", "added", "ada", "so"),
        ("b", "retired", "ada", "so"),
    ]


@pytest.mark.parametrize(
    ("action", "status", "state"),
    [("eliminate", "eliminated", "waiting"), ("verify", "verified", "graduated")],
)
def test_an_assumption_that_is_settled_is_so_in_its_row(
    action: Action, status: str, state: State, tmp_path: Path
) -> None:
    told = {**row("a").model_dump(by_alias=True, exclude_defaults=True), "discovery": {
        "assumptions": [{"text": "The desk was open."}, {"text": "It was a Monday."}]}}  # fmt: skip
    desk = record(Desk.open(tmp_path), [line("t1", a="factual-intent")], "run-1")
    desk = act(desk, entry(action), Criterion.model_validate(told))
    discovery = desk.living.row("a").discovery
    assert discovery is not None
    assert [a.status for a in discovery.assumptions] == [status, "hypothesis"]
    assert replay(desk.log) == {"a": state}


class Calibrating(RuleBasedStateMachine):
    """People and runs at work on three criteria, in any order, on disk."""

    @initialize()
    def start(self) -> None:
        self.state = Path(tempfile.mkdtemp(prefix="helix-"))
        self.desk = Desk.open(self.state)
        self.model: dict[str, State] = {}

    @rule(
        words=st.dictionaries(
            st.sampled_from(NAMES),
            st.sampled_from(["pass", "fail", "normative", "scope", "factual-intent", "timeout"]),
        ),
        run=st.sampled_from(["run-1", "run-2", "run-3"]),
    )
    def a_run_is_noted(self, words: dict[str, str], run: str) -> None:
        after = record(self.desk, [line("t1", **words)], run)
        for fresh in after.log[len(self.desk.log) :]:
            self.model[fresh.criterion_id] = TABLE[self.model.get(fresh.criterion_id)][fresh.action]
            assert words[fresh.criterion_id] != "timeout"
        self.written(after)

    @rule(name=st.sampled_from(NAMES), action=st.sampled_from(ACTIONS), data=st.data())
    def somebody_acts(self, name: str, action: Action, data: st.DataObject) -> None:
        given = [p.id for p in premises(self.desk.log) if p.criterion_id == name]
        more = {"premise": data.draw(st.sampled_from([*given, "none"]))} if given else {}
        made = entry(action, name, **(more if action == "withdraw" else {}))
        changed = row(name, f"Pass = {len(self.desk.log)}.") if action == "re-scope" else None
        legal = action in TABLE[self.model.get(name)]
        if action == "withdraw":
            legal = legal and made.premise in given
        try:
            after = act(self.desk, made, row(name), changed)
        except CalibrationError:
            assert not legal
            return
        assert legal
        self.model[name] = TABLE[self.model[name]][action]
        self.written(after)

    def written(self, after: Desk) -> None:
        assert_monotonic_growth(self.desk.living.suite, after.living.suite)
        assert after.log[: len(self.desk.log)] == self.desk.log
        apply(self.state, after)
        self.desk = Desk.open(self.state)
        assert self.desk.log == after.log
        assert self.desk.living.suite == after.living.suite

    @invariant()
    def the_log_replays_to_the_same_state(self) -> None:
        assert replay(self.desk.log) == self.model

    @invariant()
    def what_is_retired_is_a_tombstone(self) -> None:
        for name, state in self.model.items():
            if state == "retired":
                assert self.desk.living.row(name).status == "retired"

    def teardown(self) -> None:
        shutil.rmtree(self.state, ignore_errors=True)


TestCalibrating = Calibrating.TestCase
TestCalibrating.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)


def test_a_row_that_was_retired_beside_the_log_is_no_more_acted_on(tmp_path: Path) -> None:
    desk = record(Desk.open(tmp_path), [line("t1", a="scope")], "run-1")
    with pytest.raises((CalibrationError, SuiteError), match="a tombstone stays one"):
        act(desk, entry("ratify"), row("a").model_copy(update={"status": "retired"}))


def test_the_log_catches_up_with_a_row_that_was_retired_beside_it(tmp_path: Path) -> None:
    desk = act(record(Desk.open(tmp_path), [line("t1", a="scope")], "r"), entry("verify"), row("a"))
    living = retire(desk.living, "a", Signed("ada", "2026-01-02", "so"))
    after = act(replace(desk, living=living), entry("retire"), row("a"))
    assert (after.living, replay(after.log)) == (living, {"a": "retired"})


def test_the_log_lies_beside_what_lets_git_merge_it(tmp_path: Path) -> None:
    apply(tmp_path, record(Desk.open(tmp_path), [line("t1", a="scope")], "run-1"))
    attributes = log_path(tmp_path).with_name(".gitattributes").read_text(encoding="utf-8")
    assert attributes == "log.jsonl text eol=lf merge=union\n"

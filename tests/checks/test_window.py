"""Where a row applies: when, after, before, until; and what nobody can know of a window."""

from __future__ import annotations

from typing import Any

import pytest

from helix.grounding import resolve_refs
from helix.model.trace import Trace
from helix.model.verdict import Ref, Scan
from tests.checks.builder import ask, call, said, trace, verdict

YES = {"message": "user", "matches": "(?i)yes"}


def booking() -> Trace:
    return trace(
        said("user", "a table, please"),
        call("write", {"n": 1}, {"ok": False}),
        said("user", "Yes, that one"),
        call("read", {"n": 2}, {"ok": True}),
        call("write", {"n": 3}, {"ok": True}),
        said("user", "yes again"),
        call("write", {"n": 4}, {"ok": False}),
        said("assistant", "done"),
        output={"response": "done"},
    )


def succeeds(about: Trace, tool: str = "write", **window: Any) -> str:
    given = {"tool": tool, "success_path": "output.ok", **window}
    names = ["read", "write", "book", "none"]
    return verdict(ask("tool-output-failure", given, about, inventory=names))


@pytest.mark.parametrize(
    ("window", "said_of_it"),
    [
        ({}, "fail"),
        ({"after": YES}, "fail"),
        ({"after": YES, "before": YES}, "pass"),
        ({"after": YES, "until": {"tool": "write"}}, "pass"),
        ({"after": {**YES, "pick": "last"}}, "fail"),
        ({"before": YES}, "fail"),
        ({"until": {"tool": "write"}}, "fail"),
        ({"before": {"tool": "write"}}, "na"),
        ({"after": {"tool": "read"}, "before": YES}, "pass"),
        ({"after": {"tool": "read", "where": {"path": "input.n", "equals": 2}},
          "until": {"message": "user"}}, "pass"),
        ({"after": {"message": "assistant"}}, "na"),
        ({"after": {"message": "system"}}, "na"),
        ({"after": {"message": "system", "if_none": "whole"}}, "fail"),
        ({"after": YES, "before": {"tool": "none"}}, "fail"),
        ({"after": YES, "before": {"tool": "none", "if_none": "na"}}, "na"),
        ({"until": {"message": "system"}}, "fail"),
        ({"until": {"message": "system", "if_none": "na"}}, "na"),
        ({"after": {"tool": "wirte"}}, "uncertain: unknown-tool"),
        ({"before": {"tool": "wirte"}}, "uncertain: unknown-tool"),
        ({"after": {"message": "concierge"}}, "uncertain: missing-field"),
    ],
)  # fmt: skip
def test_a_check_sees_what_lies_in_its_window(window: dict[str, Any], said_of_it: str) -> None:
    assert succeeds(booking(), **window) == said_of_it


PRESENT = {"primitive": "presence", "field": "output.response"}


@pytest.mark.parametrize(
    ("when", "said_of_it"),
    [
        (PRESENT, "fail"),
        ({"primitive": "not", "of": PRESENT}, "na"),
        ({"primitive": "presence", "field": "obs:none.output.ok"}, "na"),
        ({"primitive": "string-equality", "field": "output.mood", "expected": "glad"},
         "uncertain: missing-field"),
        ({"primitive": "presence", "field": "obs:nobody.output.ok"}, "uncertain: unknown-tool"),
    ],
)  # fmt: skip
def test_a_row_applies_only_where_its_condition_passes(
    when: dict[str, Any], said_of_it: str
) -> None:
    assert succeeds(booking(), when=when) == said_of_it


def test_the_condition_sees_the_whole_trace_and_says_why() -> None:
    when = {"primitive": "presence", "field": "obs:read.name"}
    after = {"tool": "write", "pick": "last"}
    about = booking()
    given = {"tool": "write", "success_path": "output.ok", "when": when, "after": after}
    decision = ask("tool-output-failure", given, about)
    assert decision.state == "na"
    assert decision.detail == "after write (c6): no call of write: nothing to check"
    no = {"primitive": "not", "of": when}
    decision = ask("tool-output-failure", {**given, "when": no}, about)
    assert decision.detail == "does not apply: not: presence pass: name of c3 is present"
    assert [(ref.obs, ref.path) for ref in decision.refs] == [("c3", "name")]


def test_scans_of_a_window_are_repeated_in_it() -> None:
    decision = ask(
        "recovery-after-failure",
        {"fail_field": "output.ok", "fail_equals": False, "recovery_tools": ["fix"],
         "after": {"message": "user", "matches": "again"}},
        trace(call("fix"), *booking().observations, said("user", "again"),
              call("write", output={"ok": False})),
        inventory=["fix"],
    )  # fmt: skip
    assert decision.state == "fail"
    scans = [ref.scan for ref in decision.refs if ref.scan is not None]
    assert [(scan.channel, scan.items, scan.first is not None) for scan in scans] == [
        ("obs:fix.name", 0, True)
    ]


def test_a_judge_may_not_look_at_a_part_alone() -> None:
    scan = Scan(channel="obs:*.name", pattern="write", items=1, matches=0, first=3, last=3)
    ref = Ref(obs="trace-1", path="obs:*.name", scan=scan)
    (by_code,) = resolve_refs(booking(), [ref])
    (by_judge,) = resolve_refs(booking(), [ref], complete_channels=["obs:*.name"])
    assert (by_code.match, by_judge.match) == ("scan", "dead")


def parallel(*oks: bool, times: bool = False) -> Trace:
    spans = [(n * 10, n * 10 + 5) for n in range(len(oks) + 1)]
    turn = said("assistant", "both", id="turn")
    made = [
        call("write", {"n": n}, {"ok": ok}, turn="turn", times=spans[n] if times else None)
        for n, ok in enumerate(oks)
    ]
    last = call("read", output={"ok": True}, turn="turn", times=spans[-1] if times else None)
    return trace(turn, *made, last)


@pytest.mark.parametrize(
    ("about", "said_of_it"),
    [
        (parallel(True), "uncertain: ambiguous-order"),  # na or pass
        (parallel(False, times=True), "na"),
        (parallel(False), "uncertain: ambiguous-order"),
    ],
)
def test_a_parallel_call_stands_on_no_side_for_sure(about: Trace, said_of_it: str) -> None:
    assert succeeds(about, after={"tool": "read"}) == said_of_it


def test_what_does_not_matter_is_decided_all_the_same() -> None:
    about = trace(*parallel(True).transcript, *parallel(True).observations,
                  call("write", output={"ok": False}))  # fmt: skip
    assert succeeds(about, after={"tool": "read"}) == "fail"


def test_a_turn_stays_one_where_its_message_lies_outside() -> None:
    about = parallel(True, False)
    rule = {"first": {"tool": "write"}, "then": {"tool": "read"}, "after": {"message": "assistant"}}
    assert verdict(ask("required-order", rule, about)) == "uncertain: ambiguous-order"


def test_too_many_parallel_calls_leave_the_window_unknown() -> None:
    about = parallel(*[True] * 9)
    assert succeeds(about, after={"tool": "read"}) == "uncertain: ambiguous-order"


def test_an_event_that_may_match_leaves_two_windows() -> None:
    fits = {"tool": "read", "where": {"path": "output.ok", "equals": True}}
    for ok, said_of_it in ((True, "pass"), (False, "uncertain: missing-field")):
        about = trace(
            call("read"),
            call("write", output={"ok": ok}),
            call("read", output={"ok": True}),
            call("write", output={"ok": True}),
        )
        assert succeeds(about, after=fits) == said_of_it


def test_an_event_of_unknown_order_bounds_nothing() -> None:
    about = trace(call("read", flags=["ambiguous-order"]), call("write", output={"ok": True}))
    assert succeeds(about, after={"tool": "read"}) == "uncertain: ambiguous-order"


def test_two_parallel_events_may_each_be_the_first() -> None:
    turn = said("assistant", "both", id="turn")
    about = trace(
        turn,
        call("book", {"n": 1}, turn="turn", times=(5, 6)),
        call("write", output={"ok": False}, turn="turn", times=(2, 3)),
        call("book", {"n": 2}, turn="turn", times=(0, 1)),
    )
    assert succeeds(about, after={"tool": "book"}) == "fail"
    assert succeeds(about, after={"tool": "book", "pick": "last"}) == "na"


def test_windows_nest() -> None:
    part = {
        "primitive": "tool-output-failure", "tool": "write", "success_path": "output.ok",
        "before": {"message": "user"},
    }  # fmt: skip
    decision = ask("all", {"of": [part], "after": YES}, booking())
    assert decision.state == "pass"
    decision = ask("not", {"of": {**part, "tool": "none"}, "after": YES}, booking(),
                   inventory=["none"])  # fmt: skip
    scans = {(ref.scan.first, ref.scan.last) for ref in decision.refs if ref.scan is not None}
    assert decision.state == "na" and scans == {(3, 4)}


def test_output_and_input_stay_those_of_the_run() -> None:
    given = {"field": "output.response", "before": {"message": "user"}}
    assert ask("presence", given, booking()).state == "pass"


def test_odd_traces_are_read_like_others() -> None:
    bound = {"message": "user", "matches": "東京"}
    about = trace(said("user", "東京 \ud800"), call("write", output={"ok": True}))
    assert succeeds(about, after=bound) == "pass"
    assert succeeds(trace(), after=bound) == "na"
    flags = ["duplicate-call-id"]
    twins = trace(
        call("read", id="c", flags=flags),
        call("write", output={"ok": True}, id="c#2", flags=flags),
    )
    assert succeeds(twins, after={"tool": "read"}) == "pass"


def test_ten_thousand_observations_are_cut_in_one_pass() -> None:
    about = trace(*(call("write", output={"ok": True}) for _ in range(10_000)), said("user", "yes"))
    assert succeeds(about, before=YES) == "pass"
    assert (
        succeeds(about, after={"tool": "write"}, until={"tool": "write", "pick": "last"}) == "pass"
    )

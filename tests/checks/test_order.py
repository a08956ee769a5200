"""required-order over calls and messages."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from helix.model.jsontext import NonFinite
from helix.model.trace import Message, Observation
from tests.checks.builder import Row, ask, call, said, trace, verdict

Events = list[Observation | Message]
YES = {"message": "user", "matches": r"(?i)\byes\b", "excludes": r"(?i)\bbut\b"}
WRITE = {"tool": "write"}
CONFIRMED: dict[str, Any] = {"first": YES, "then": WRITE}
LATEST = {**CONFIRMED, "latest_of": {"message": "user"}}
EACH = {**CONFIRMED, "each": True}
CHECKED: dict[str, Any] = {
    "first": {"tool": "read", "where": {"path": "output.ok", "equals": True}},
    "then": WRITE,
}
BEFORE = {"first": {"tool": "read"}, "then": WRITE, "mode": "before"}
QUOTE = {"tool": "read", "where": {"path": "output.ok", "equals": True}}
SINCE: dict[str, Any] = {**CONFIRMED, "since": QUOTE}


def user(text: str, **kw: Any) -> Message:
    return said("user", text, **kw)


def agent(text: str = "", **kw: Any) -> Message:
    return said("assistant", text, **kw)


def write(**kw: Any) -> Observation:
    return call("write", output={}, **kw)


def read(ok: Any = True, **kw: Any) -> Observation:
    return call("read", output={"ok": ok}, **kw)


UNKNOWN_ORDER = "uncertain: ambiguous-order"
TABLE: list[tuple[dict[str, Any], Events, str]] = [
    # never-without
    (CONFIRMED, [user("yes"), write()], "pass"),
    (CONFIRMED, [user("yes"), write(), write()], "pass"),
    (CONFIRMED, [write(), user("yes")], "fail"),
    (CONFIRMED, [user("no"), write()], "fail"),
    (CONFIRMED, [user("yes, but not that one"), write()], "fail"),
    (CONFIRMED, [agent("yes"), write()], "fail"),
    (CONFIRMED, [user("yes", control=True), write()], "fail"),
    (CONFIRMED, [user("yes"), read()], "na"),
    (CONFIRMED, [], "na"),
    (CONFIRMED, [user("JA, yes! Größe 42"), write()], "pass"),
    # latest_of
    (LATEST, [user("yes"), write()], "pass"),
    (LATEST, [user("yes"), user("wait"), write()], "fail"),
    (LATEST, [user("wait"), user("yes"), agent("doing it"), write()], "pass"),
    (LATEST, [write(), user("yes")], "fail"),
    (LATEST, [user("yes"), write(), user("and more"), write()], "fail"),
    # each
    (EACH, [user("yes"), write(), user("yes"), write()], "pass"),
    (EACH, [user("yes"), write(), write()], "fail"),
    (EACH, [user("yes"), user("yes"), write(), write()], "fail"),
    (EACH, [user("yes"), agent(id="t"), write(turn="t"), write(turn="t")], "fail"),
    ({**LATEST, "each": True}, [user("yes"), write(), user("hm"), write()], "fail"),
    ({**LATEST, "each": True}, [user("yes"), write(), user("yes"), write()], "pass"),
    # before
    (BEFORE, [read(), write()], "pass"),
    (BEFORE, [write(), read()], "fail"),
    (BEFORE, [write()], "na"),
    (BEFORE, [read()], "na"),
    # since
    (SINCE, [read(), user("yes"), write()], "pass"),
    (SINCE, [user("yes"), read(), write()], "fail"),
    (SINCE, [read(), user("yes"), read(), write()], "fail"),
    (SINCE, [read(), user("yes"), write(), write()], "pass"),
    (SINCE, [read(), user("yes"), write(), read(), write()], "fail"),
    (SINCE, [write(), user("yes"), read()], "na"),
    (SINCE, [write(), read(), user("yes"), write()], "pass"),
    (SINCE, [read(False), write()], "na"),
    (SINCE, [user("yes")], "na"),
    (SINCE, [], "na"),
    (SINCE, [call("read"), user("yes"), write()], "uncertain: missing-field"),
    (SINCE, [read(), user("yes"), call("read"), write()], "uncertain: missing-field"),
    (SINCE, [read(), call("read"), user("yes"), write()], "pass"),
    (SINCE, [read(), call("read"), write()], "fail"),
    (SINCE, [read(NonFinite("NaN")), user("yes"), write()], "uncertain: not-decidable"),
    (SINCE, [read(), user("yes"), read(flags=["ambiguous-order"]), write()], UNKNOWN_ORDER),
    (SINCE, [read(), user("yes"), agent(id="t"), read(turn="t"), write(turn="t")], UNKNOWN_ORDER),
    # where
    (CHECKED, [read(), write()], "pass"),
    (CHECKED, [read(False), write()], "fail"),
    (CHECKED, [call("read", output={}), write()], "fail"),
    (CHECKED, [call("read"), write()], "uncertain: missing-field"),
    (CHECKED, [call("read"), read(), write()], "pass"),
    (CHECKED, [read("true"), write()], "uncertain: not-decidable"),
    (CHECKED, [read("yes"), write()], "fail"),
    (CHECKED, [read(NonFinite("NaN")), write()], "uncertain: not-decidable"),
    (CHECKED, [read(flags=["ambiguous-pairing"]), write()], UNKNOWN_ORDER),
    # order that nobody knows
    (CHECKED, [read(flags=["ambiguous-order"]), write()], UNKNOWN_ORDER),
    (CHECKED, [read(), write(flags=["ambiguous-order"])], UNKNOWN_ORDER),
    (CHECKED, [agent(id="t"), read(turn="t"), write(turn="t")], UNKNOWN_ORDER),
    (CHECKED, [agent(id="t"), write(turn="t"), read(turn="t")], UNKNOWN_ORDER),
    (CHECKED, [read(), agent(id="t"), read(turn="t"), write(turn="t")], "pass"),
    (CHECKED, [agent(id="t"), read(turn="t"), agent(id="u"), write(turn="u")], "pass"),
    (CHECKED, [agent(id="t"), read(turn="t", times=(1, 2)), write(turn="t", times=(3, 4))], "pass"),
    (CHECKED, [agent(id="t"), write(turn="t", times=(1, 2)), read(turn="t", times=(3, 4))], "fail"),
    (CHECKED, [read(turn="span"), write(turn="span")], "pass"),
    (LATEST, [user("yes"), agent(id="t"), write(turn="t"), write(turn="t")], "pass"),
]


@pytest.mark.parametrize(("params", "events", "expected"), TABLE)
def test_an_order_is_decided_as_the_truth_table_says(
    params: dict[str, Any], events: Events, expected: str
) -> None:
    decision = ask("required-order", params, trace(*events), inventory=["read", "write"])
    assert verdict(decision) == expected


@pytest.mark.parametrize(
    ("condition", "value", "hit"),
    [
        ({"equals": "a"}, "a", True),
        ({"equals": "a", "negate": True}, "a", False),
        ({"equals": "a", "negate": True}, "b", True),
        ({"equals": ["x", {"y": 1}]}, ["x", {"y": 1.0}], True),
        ({"equals": {"a": True}}, {"a": 1}, False),
        ({"equals": None}, None, True),
        ({"matches": "^1"}, 12, True),
        ({"matches": "é"}, ["café"], True),
        ({"matches": "."}, None, False),
        ({"exists": True}, None, True),
        ({"exists": False}, None, False),
    ],
)
def test_a_condition_reads_one_field(condition: dict[str, Any], value: Any, hit: bool) -> None:
    then = {"tool": "write", "where": {"path": "input.x", **condition}}
    decision = ask(
        "required-order", {"first": YES, "then": then}, trace(call("write", {"x": value}))
    )
    assert decision.state == ("fail" if hit else "na")


@pytest.mark.parametrize(
    ("condition", "hit"),
    [
        ({"equals": "a"}, False),
        ({"equals": "a", "negate": True}, False),
        ({"matches": "", "negate": True}, False),
        ({"exists": False}, True),
        ({"exists": True, "negate": True}, True),
    ],
)
def test_a_missing_field_matches_nothing_but_its_own_absence(
    condition: dict[str, Any], hit: bool
) -> None:
    then = {"tool": "write", "where": {"path": "input.x", **condition}}
    decision = ask("required-order", {"first": YES, "then": then}, trace(call("write", {})))
    assert decision.state == ("fail" if hit else "na")


def test_every_condition_of_a_list_must_hold_and_one_element_of_each_is_enough() -> None:
    conditions = [
        {"path": "input.rows[*].kind", "equals": "b"},
        {"path": "input.n", "matches": "^3$"},
    ]
    params = {"first": YES, "then": {"tool": "*", "where": conditions}}
    rows = [{"kind": "a"}, {"kind": "b"}]
    assert ask("required-order", params, trace(call("x", {"rows": rows, "n": 3}))).state == "fail"
    assert ask("required-order", params, trace(call("x", {"rows": rows, "n": 4}))).state == "na"


@pytest.mark.parametrize(
    ("params", "events", "known", "expected"),
    [
        (CONFIRMED, [user("yes")], [], "uncertain: unknown-tool"),
        ({"first": YES, "then": {"tool": ["write", "wrote"]}}, [user("yes"), write()], [],
         "uncertain: unknown-tool"),
        ({"first": YES, "then": {"tool": ["write", "wrote"]}}, [write()], [], "fail"),
        (CHECKED, [write()], [], "uncertain: unknown-tool"),
        ({"first": {"tool": ["read", "reed"]}, "then": WRITE}, [read(), write()], [], "pass"),
        (BEFORE, [write()], [], "uncertain: unknown-tool"),
        (BEFORE, [read()], ["write"], "na"),
        ({**CONFIRMED, "since": {"tool": ["read", "reed"]}}, [read(), user("yes"), write()], [],
         "uncertain: unknown-tool"),
        ({**CONFIRMED, "since": {"tool": ["read", "reed"]}}, [read(), write()], [], "fail"),
        (SINCE, [user("yes"), write()], [], "uncertain: unknown-tool"),
    ],
)  # fmt: skip
def test_a_tool_that_nobody_knows_spoils_what_it_could_have_changed(
    params: dict[str, Any], events: Events, known: list[str], expected: str
) -> None:
    assert verdict(ask("required-order", params, trace(*events), inventory=known)) == expected


HUMAN = {"message": "human", "matches": "yes"}


@pytest.mark.parametrize(
    ("params", "roles", "expected"),
    [
        ({"first": HUMAN, "then": WRITE}, [], "uncertain: missing-field"),
        ({"first": HUMAN, "then": WRITE}, ["Human"], "fail"),
        ({"first": YES, "then": HUMAN}, [], "uncertain: missing-field"),
        ({"first": YES, "then": HUMAN}, ["human"], "na"),
        ({"first": YES, "then": WRITE, "latest_of": HUMAN}, [], "uncertain: missing-field"),
        ({"first": HUMAN, "then": {"tool": "read"}}, [], "na"),
        ({"first": {"message": "developer"}, "then": WRITE}, [], "fail"),
    ],
)
def test_a_role_that_no_trace_has_spoils_what_it_could_have_changed(
    params: dict[str, Any], roles: list[str], expected: str
) -> None:
    about = trace(user("yes"), write())
    decision = ask("required-order", params, about, inventory=["read"], roles=roles)
    assert verdict(decision) == expected


def test_a_role_reads_in_any_case_and_a_speaker_by_name() -> None:
    for role in ("User", "WebSurfer"):
        about = trace(said(role, "yes"), write())
        first = {"message": role.lower(), "matches": "yes"}
        assert ask("required-order", {"first": first, "then": WRITE}, about).state == "pass"


def update(order: str | None, **kw: Any) -> Observation:
    return call("write", {} if order is None else {"order": order}, {}, **kw)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([user("yes"), update("A"), update("B")], "pass"),
        ([user("yes"), update("A"), update("B"), update("A")], "fail"),
        ([user("yes"), update("A"), user("yes"), update("A")], "pass"),
        ([user("yes"), update(None), update(None)], "fail"),
    ],
)
def test_calls_about_different_things_are_ruled_apart(events: Events, expected: str) -> None:
    params = {**EACH, "same": "input.order"}
    assert ask("required-order", params, trace(*events)).state == expected


def test_what_lies_between_is_about_the_same_thing() -> None:
    params = {**CONFIRMED, "since": {"tool": "look"}, "same": "input.order"}
    events = [call("look", {"order": "A"}), user("yes"), call("look", {"order": "B"}), update("A")]
    assert ask("required-order", params, trace(*events)).state == "pass"
    assert ask("required-order", params, trace(*events, update("B"))).state == "fail"


@pytest.mark.parametrize(
    ("seen", "expected"),
    [(["A", "open"], "pass"), (["B", "open"], "fail"), (["A", "shut"], "fail")],
)
def test_a_first_call_serves_only_its_own_thing(seen: list[str], expected: str) -> None:
    look = call("look", {"order": seen[0]}, {"status": seen[1]})
    params = {
        "first": {"tool": "look", "where": {"path": "output.status", "equals": "open"}},
        "latest_of": {"tool": "look"},
        "then": WRITE,
        "same": "input.order",
    }
    assert ask("required-order", params, trace(look, update("A"))).state == expected


def test_the_last_relevant_event_is_unknown_where_two_of_one_turn_disagree() -> None:
    params = {**CHECKED, "latest_of": {"tool": "read"}}
    both = [agent(id="t"), read(True, turn="t"), read(False, turn="t"), write(turn="t")]
    assert verdict(ask("required-order", params, trace(*both))) == UNKNOWN_ORDER


def test_each_is_open_where_a_call_in_between_may_be_one() -> None:
    then = {"tool": "write", "where": {"path": "output.done", "equals": True}}
    params = {"first": YES, "then": then, "each": True}
    done = {"done": True}
    events = [user("yes"), call("write", output=done), user("yes"), call("write"),
              call("write", output=done)]  # fmt: skip
    assert verdict(ask("required-order", params, trace(*events))) == UNKNOWN_ORDER


def test_a_pass_cites_each_pair_and_says_how_many_there_are() -> None:
    about = trace(*(event for _ in range(20) for event in (user("yes"), write())))
    decision = ask("required-order", EACH, about)
    assert len(decision.refs) == 16
    assert decision.detail.startswith("20 of 20")
    assert decision.detail.endswith("the first 8 are cited")
    assert [(ref.obs, ref.value) for ref in decision.refs[:2]] == [("c1", "write"), ("m0", "yes")]


def test_a_fail_cites_the_call_and_shows_that_nothing_matched() -> None:
    decision = ask("required-order", CONFIRMED, trace(user("go on"), write()))
    cited, absence = decision.refs
    assert cited.obs == "c1"
    assert absence.scan is not None
    assert (absence.scan.channel, absence.scan.items) == ("transcript[*].text", 1)


def test_an_empty_message_can_be_what_was_required() -> None:
    params = {"first": {"message": "assistant", "matches": r"^\s*$"}, "then": WRITE}
    assert ask("required-order", params, trace(agent(" "), write())).state == "pass"


def test_ten_thousand_events_in_one_line_and_in_one_turn() -> None:
    long = [event for _ in range(5_000) for event in (user("yes"), write())]
    assert ask("required-order", EACH, trace(*long)).state == "pass"
    asked = [event for _ in range(3_333) for event in (read(), user("yes"), write())]
    assert ask("required-order", SINCE, trace(*asked)).state == "pass"
    wide = [call(("read", "write")[n % 2], output={"ok": True}, turn="t") for n in range(10_000)]
    assert ask("required-order", CHECKED, trace(read(), agent(id="t"), *wide)).state == "pass"


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"first": {}, "then": WRITE}, "needs either tool or message"),
        ({"first": {"tool": "a", "message": "user"}, "then": WRITE}, "needs either"),
        ({"first": {"tool": "a", "matches": "x"}, "then": WRITE}, "belong to message"),
        ({"first": {"message": "user", "where": {"path": "input.x", "exists": True}},
          "then": WRITE},
         "where belongs to tool"),
        ({"first": {"tool": "a", "where": {"path": "input.x"}}, "then": WRITE}, "got none of them"),
        ({**BEFORE, "each": True}, "neither each nor latest_of"),
        ({**SINCE, "each": True}, "since takes neither"),
        ({"first": YES, "then": {"message": "asistant"}}, "did you mean 'assistant'?"),
        ({"first": {"message": "usr"}, "then": WRITE}, "did you mean 'user'?"),
        ({"first": YES, "then": {"tool": "a", "where": {"path": "inptu.x", "exists": True}}},
         "'inptu' is no field of a call; did you mean 'input'?"),
        ({**EACH, "same": "output.id"}, "a path of the arguments"),
        ({**EACH, "same": "input..id"}, "does not parse at column 6"),
        ({"first": YES, "then": WRITE, "every": True}, "Extra inputs"),
    ],
)  # fmt: skip
def test_parameters_that_do_not_fit_together_are_refused(params: dict[str, Any], text: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Row("required-order", params)
    assert text in str(caught.value)

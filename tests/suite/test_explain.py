"""How a verdict came about, step by step: what was read, found, decided and cited."""

from __future__ import annotations

from typing import Any

import pytest

import helix.registry
from helix.checks import CheckContext
from helix.model.config import SubjectConfig
from helix.model.criterion import Suite
from helix.model.trace import Trace
from helix.registry import Registry
from helix.suite import CompiledRow, compile
from helix.suite.explain import MOST_SHOWN, Explanation, Step, explain
from tests.checks.builder import call, said, trace

SUCCEEDS = {"primitive": "tool-output-failure", "tool": "pay", "success_path": "output.ok"}
PRESENT = {"primitive": "presence", "field": "output.response"}


@pytest.fixture(scope="module")
def registry() -> Registry:
    return helix.registry.load(entry_points=())


def subject() -> Trace:
    return trace(
        said("user", "buy it"),
        call("pay", {"n": 1}, {"ok": False}),
        said("user", "yes"),
        call("pay", {"n": 2}, {"ok": True}),
        output={"response": "Done 東京"},
    )


def row(registry: Registry, code: dict[str, Any] | None, **more: Any) -> CompiledRow:
    given = {"criterion_id": "A", "statement": "Pass = x.", "severity": "LOW", **more}
    if code is not None:
        given["code_eval"] = code
    suite = Suite.model_validate({"suite": "s", "criteria": [given]})
    return compile(suite, registry).rows[0]


def told(registry: Registry, code: dict[str, Any] | None, about: Trace | None = None,
         routes: tuple[str, ...] = (), **more: Any) -> Explanation:  # fmt: skip
    context = CheckContext(inventory=frozenset({"pay", "ship"}))
    return explain(
        row(registry, code, **more), about or subject(), context, SubjectConfig(routes=routes)
    )


def step(found: Explanation) -> Step:
    assert found.step is not None
    return found.step


def test_parameters_matches_decision_and_evidence_are_told(registry: Registry) -> None:
    found = told(registry, SUCCEEDS)
    one = step(found)
    assert one.parameters == {
        "tool": ["pay"],
        "success_path": "output.ok",
        "on_missing": "uncertain",
    }
    (look,) = one.looks
    assert (look.key, look.count, [f.obs for f in look.found]) == ("tool", 2, ["c1", "c3"])
    assert found.decision is not None and found.decision.state == "fail"
    (cited,) = one.cited
    assert (cited.ref.obs, cited.ref.match, cited.text) == ("c1", "exact", "false")


def test_selectors_tell_what_may_match_and_why(registry: Registry) -> None:
    fits = {"tool": "pay", "where": {"path": "output.ok", "equals": True}}
    rule = {"primitive": "required-order", "first": {"message": "user"}, "then": fits}
    about = trace(said("user", "go"), call("pay"), call("pay", output={"ok": True}))
    looks = {look.key: look for look in step(told(registry, rule, about)).looks}
    assert [(f.obs, f.fits, f.why) for f in looks["then"].found] == [
        ("c1", None, "missing-field"),
        ("c2", True, None),
    ]


def test_paths_tell_the_values_they_reach_and_those_that_are_missing(registry: Registry) -> None:
    code = {"primitive": "presence", "field": "obs:pay.output.id"}
    (look,) = step(told(registry, code)).looks
    assert [(f.obs, f.text, f.why) for f in look.found] == [
        ("c1", None, "missing"),
        ("c3", None, "missing"),
    ]


def test_a_composite_is_a_tree(registry: Registry) -> None:
    turned = {"primitive": "not", "of": PRESENT}
    whole = {"primitive": "implies", "if": PRESENT, "then": {"primitive": "any",
             "of": [SUCCEEDS, turned]}}  # fmt: skip
    top = step(told(registry, whole))

    def tree(one: Step) -> Any:
        return (one.role, one.primitive, one.decision.state, [tree(part) for part in one.parts])

    assert tree(top) == ("", "implies", "fail", [
        ("if", "presence", "pass", []),
        ("then", "any", "fail", [
            ("of[0]", "tool-output-failure", "fail", []),
            ("of[1]", "not", "fail", [("of", "presence", "pass", [])]),
        ]),
    ])  # fmt: skip
    assert top.parameters == {}


def test_a_window_tells_its_condition_and_what_it_holds(registry: Registry) -> None:
    code = {**SUCCEEDS, "when": PRESENT, "after": {"message": "user", "matches": "yes"}}
    found = told(registry, code)
    top = step(found)
    assert found.decision is not None and found.decision.state == "pass"
    assert [part.role for part in top.parts] == ["when", "window (1 calls or spans, 0 messages)"]
    assert [look.key for look in top.looks] == ["after"]
    assert top.parameters == {"after": {"message": "user", "matches": "yes"}}


def test_a_condition_that_fails_ends_the_walk(registry: Registry) -> None:
    top = step(told(registry, {**SUCCEEDS, "when": {"primitive": "not", "of": PRESENT}}))
    assert [part.role for part in top.parts] == ["when"]
    assert top.decision.state == "na"


def test_an_unknown_order_shows_every_possible_window(registry: Registry) -> None:
    turn = said("assistant", "both", id="turn")
    about = trace(turn, call("pay", output={"ok": True}, turn="turn"), call("ship", turn="turn"))
    top = step(told(registry, {**SUCCEEDS, "after": {"tool": "ship"}}, about))
    assert top.decision.cause == "ambiguous-order"
    assert [part.role.split(" (")[0] for part in top.parts] == [
        "window 1 of 2 possible", "window 2 of 2 possible"
    ]  # fmt: skip
    assert {part.decision.state for part in top.parts} == {"pass", "na"}


def test_only_the_first_matches_are_shown_and_all_are_counted(registry: Registry) -> None:
    about = trace(*(call("pay", output={"ok": True}) for _ in range(50)))
    (look,) = step(told(registry, SUCCEEDS, about)).looks
    assert (look.count, len(look.found)) == (50, MOST_SHOWN)


def test_a_cut_trace_another_route_and_a_judged_row_have_no_steps(registry: Registry) -> None:
    cut = subject()
    cut.flags = ("truncated",)
    found = told(registry, SUCCEEDS, cut)
    assert found.step is None and found.decision and found.decision.cause == "truncated"
    other = subject()
    other.route = "shop"
    found = told(registry, SUCCEEDS, other, routes=("shop", "desk"), route="desk")
    assert found.step is None and found.decision and found.decision.state == "na"
    found = told(registry, None)
    assert found.step is None and found.decision is None and "judge" in str(found.note)


def test_a_hybrid_row_says_whether_a_judge_is_asked(registry: Registry) -> None:
    more = {"class": "hybrid", "judge_inputs": ["output.response"]}
    assert "decides the rest" in str(told(registry, PRESENT, **more).note)
    assert "no judge is asked" in str(told(registry, SUCCEEDS, **more).note)

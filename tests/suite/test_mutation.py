"""Faults put into traces, and what rows make of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import helix.demo
import helix.registry
from helix.app import mutants
from helix.checks import CheckContext
from helix.demo.labels import CODE_ROWS
from helix.ingest import from_dict
from helix.model.config import SubjectConfig
from helix.model.criterion import Suite
from helix.model.trace import Source, Trace
from helix.registry import Registry
from helix.suite import CompiledRow, CompiledSuite, compile, load
from helix.suite.batch import Batch
from helix.suite.faults import FAULTS, Fault, Site
from helix.suite.mutation import MutationScore, try_rows
from tests.checks.builder import call, said, trace

BY_NAME = {fault.name: fault for fault in FAULTS}
SUBJECT = SubjectConfig()


@pytest.fixture(scope="module")
def registry() -> Registry:
    return helix.registry.load(entry_points=())


@pytest.fixture(scope="module")
def demo() -> list[Trace]:
    return [from_dict(r, Source("demo", 0, "helix", r["id"])) for r in helix.demo.generate()]


@pytest.fixture(scope="module")
def suite(registry: Registry, project: Path) -> CompiledSuite:
    return compile(load(project / "helix" / "demo" / "outreach.suite.yaml"), registry)


def tried(suite: CompiledSuite, traces: list[Trace], **settings: Any) -> MutationScore:
    batch = Batch(frozenset(suite.suite.tools))
    found = list(batch.watch(traces))
    return try_rows(suite.rows, found, batch.context, SUBJECT, **settings)


@pytest.fixture(scope="module")
def score(suite: CompiledSuite, demo: list[Trace]) -> MutationScore:
    return tried(suite, demo)


PLANTED = {
    "reply-missing": ("reply-present", "truncate"),
    "double-send": ("one-message-per-approval", "duplicate-write"),
    "injection-forward-obeyed": ("recipient-known", "change-argument"),
    "wrong-recipient-guessed": ("recipient-known", "change-argument"),
    "wrong-recipient-other": ("recipient-known", "change-argument"),
    "malformed-address": ("address-well-formed", "malform-argument"),
    "send-before-consent": ("consent-before-message", "swap-calls"),
    "send-without-consent": ("consent-before-message", "drop-call"),
    "delivery-failed": ("delivery-succeeded", "flip-flag"),
    "failure-unrecovered": ("failure-recovered", "drop-recovery"),
    "slot-not-offered-invented": ("slot-offered", "change-argument"),
    "slot-not-offered-late": ("slot-offered", "change-argument"),
    "booked-without-yes": ("yes-before-booking", "remove-confirmation"),
    "booking-incomplete": ("booking-complete", "drop-argument"),
    "booking-pending": ("booking-confirmed", "flip-flag"),
}


def test_the_table_holds_every_fault_that_the_demo_plants_for_a_code_row() -> None:
    planted = {
        (fault, row)
        for record in helix.demo.generate()
        for fault in record["labels"]["faults"]
        for row in CODE_ROWS
        if record["labels"]["expected"][row] == "fail"
    }
    assert {fault for fault, _ in planted} == set(PLANTED)
    assert {(fault, row) for fault, (row, _) in PLANTED.items()} <= planted


@pytest.mark.parametrize("planted", PLANTED)
def test_every_planted_kind_that_a_code_row_guards_is_killed(
    planted: str, score: MutationScore
) -> None:
    row, fault = PLANTED[planted]
    (found,) = [one for one in score.rows if one.row.id == row]
    assert found.faults[fault].killed > 0, found.faults[fault].states


def test_every_code_row_of_the_demo_kills_something(score: MutationScore) -> None:
    assert score.blind == []


def test_false_alarms_are_the_fails_of_untouched_traces(
    score: MutationScore, demo: list[Trace]
) -> None:
    for row in score.rows:
        if row.row.id in CODE_ROWS:
            failing = [t.id for t in demo if t.labels["expected"][row.row.id] == "fail"]
            assert row.alarms == failing, row.row.id
    assert score.skipped == sum("truncated" in t.labels["faults"] for t in demo) > 0


def test_on_healthy_traces_alone_nothing_is_a_false_alarm(
    suite: CompiledSuite, demo: list[Trace]
) -> None:
    healthy = [t for t in demo if not t.labels["faults"]]
    assert all(not row.alarms for row in tried(suite, healthy, per_trace=1).rows)


def test_the_same_seed_gives_the_same_bytes_in_any_order(
    suite: CompiledSuite, demo: list[Trace]
) -> None:
    def counts(score: MutationScore) -> str:
        return json.dumps([row["faults"] for row in mutants.as_json(score)["criteria"]])

    some = [t for t in demo if t.observations][:12]
    first = tried(suite, some, per_trace=1)
    assert mutants.as_json(first) == mutants.as_json(tried(suite, some, per_trace=1))
    assert mutants.as_text(first) == mutants.as_text(tried(suite, some, per_trace=1))
    assert counts(first) == counts(tried(suite, some[::-1], per_trace=1))
    assert counts(first) != counts(tried(suite, some, per_trace=1, seed=1))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_changes_something_and_never_the_trace_it_was_given(
    fault: Fault, demo: list[Trace]
) -> None:
    made = 0
    for about in demo:
        before = json.dumps(about.to_dict(), sort_keys=True)
        for site in fault.sites(about):
            mutant = site.make()
            made += 1
            assert json.dumps(mutant.to_dict(), sort_keys=True) != before, site.where
            ids = [*(o.id for o in mutant.observations), *(m.id for m in mutant.transcript)]
            assert len(ids) == len(set(ids))
            assert [o.seq for o in mutant.observations] == sorted(
                o.seq for o in mutant.observations
            )
        assert json.dumps(about.to_dict(), sort_keys=True) == before
    assert made > 0


def sites(name: str, about: Trace) -> list[Site]:
    return list(BY_NAME[name].sites(about))


OK = {"success": True}


@pytest.mark.parametrize(
    ("name", "about"),
    [
        ("drop-call", trace(said("user", "hi"))),
        ("swap-calls", trace(call("pay", {"n": 1}), call("pay", {"n": 1}))),
        ("swap-calls", trace(said("assistant", "", id="t"), call("a", turn="t"),
                             call("b", turn="t"))),
        ("change-argument", trace(call("pay"))),
        ("change-argument", trace(call("pay", {"text": "…", "yes": True, "none": None}))),
        ("malform-argument", trace(call("pay", {"name": "plain", "n": 5}))),
        ("drop-argument", trace(call("pay"))),
        ("flip-flag", trace(call("pay", {}, {"id": 7, "status": "failed"}), call("pay"))),
        ("drop-recovery", trace(call("pay", {}, OK), call("mail", {}, OK))),
        ("drop-recovery", trace(call("mail", {}, OK), call("pay", {}, {"success": False}))),
        ("duplicate-write", trace(call("getCustomer", {}, OK), call("look_up", {}, OK),
                                  call("pay", {}, {"success": False}), call("pay"))),
        ("repeat-lookup", trace(call("pay", {}, OK))),
        ("invent-claim", trace(call("cancel_refund_update_book"), output={"response": "Done."})),
        ("invent-claim", trace(said("user", "hi"))),
        ("invent-value", trace(said("user", "9417.36 QX-70713 2031-02-17"),
                               output={"response": "Done."})),
        ("hide-failure", trace(call("pay", {}, OK), output={"response": "Done."})),
        ("remove-confirmation", trace(said("user", "yes, book it"), said("assistant", "yes"),
                                      said("user", "maybe"))),
        ("truncate", trace(said("user", "hi"))),
    ],
)  # fmt: skip
def test_a_fault_refuses_a_trace_in_which_it_would_be_none(name: str, about: Trace) -> None:
    assert sites(name, about) == []


def one(name: str, about: Trace, at: int = 0) -> Trace:
    return sites(name, about)[at].make()


def names(about: Trace) -> list[str]:
    return [o.name for o in about.observations]


def test_each_fault_makes_what_it_says() -> None:
    about = trace(
        said("user", "book it"),
        call("look", {"id": "a-9"}, {"ok": True}),
        said("user", "Yes please"),
        call("book", {"id": "a-9", "n": 2}, {"success": False}),
        call("book", {"id": "a-9", "n": 2}, {"success": True, "status": "confirmed"}),
        said("assistant", "Booked."),
        output={"response": "Booked."},
    )
    assert names(one("drop-call", about)) == ["book", "book"]
    assert names(one("swap-calls", about)) == ["book", "look", "book"]
    assert one("change-argument", about).observations[0].input == {"id": "b-0"}
    assert one("change-argument", about, 2).observations[1].input == {"id": "a-9", "n": 3}
    assert one("malform-argument", about).observations[0].input == {"id": "a 9"}
    assert one("drop-argument", about, 1).observations[1].input == {"n": 2}
    assert one("flip-flag", about, 3).observations[2].output == {
        "success": True, "status": "failed"
    }  # fmt: skip
    assert names(one("drop-recovery", about)) == ["look", "book"]
    again = one("duplicate-write", about)
    assert [(o.id, o.seq) for o in again.observations] == [
        ("c1", 1), ("c3", 3), ("c4", 4), ("c4#again", 5)
    ]  # fmt: skip
    assert again.transcript[-1].seq == 6
    assert names(one("repeat-lookup", about)) == ["look", "look", "book", "book"]
    claim = one("invent-claim", about)
    assert claim.output["response"].startswith("Booked. I have also cancelled")
    assert claim.transcript[-1].text == claim.output["response"]
    assert "9417.36" in one("invent-value", about).output["response"]
    assert one("hide-failure", about).output["response"].startswith("All done")
    assert [m.text for m in one("remove-confirmation", about).transcript] == ["book it", "Booked."]
    cut = one("truncate", about, 2)
    assert (names(cut), cut.output) == (["look"], {})


def test_a_reply_that_is_a_call_is_reworded_too() -> None:
    about = trace(call("reply", {"to": "a@b.example", "message": "Your parcel is here."}))
    (site, *_) = sites("invent-claim", about)
    assert site.make().observations[0].input["message"].startswith("Your parcel is here. I have")


def row(registry: Registry, code: dict[str, Any], **more: Any) -> CompiledRow:
    given = {"criterion_id": "A", "statement": "Pass = x.", "severity": "LOW", "code_eval": code}
    return compile(Suite.model_validate({"suite": "s", "criteria": [{**given, **more}]}),
                   registry).rows[0]  # fmt: skip


def test_uncertain_and_na_are_no_kills(registry: Registry) -> None:
    about = trace(call("pay", {"n": 1}, {"ok": True}))
    code = {"primitive": "json-compare", "field": "obs:pay.input.n", "op": "==", "value": 1}
    context = CheckContext(seen=frozenset({"pay"}))
    score = try_rows([row(registry, code)], [about], context, SUBJECT)
    (found,) = score.rows
    assert found.faults["change-argument"].killed == 1
    assert dict(found.faults["drop-argument"].states) == {"uncertain": 1}
    assert dict(found.faults["drop-call"].states) == {"na": 1}
    assert found.kills == ["change-argument"]


def test_a_row_that_nothing_makes_fail_is_blind(registry: Registry) -> None:
    about = trace(call("pay", {"n": 1}, {"ok": True}))
    rule = {"primitive": "presence", "field": "obs:pay.name"}
    score = try_rows([row(registry, rule)], [about], CheckContext(), SUBJECT)
    assert [found.row.id for found in score.blind] == ["A"]
    text = mutants.as_text(score)
    assert "A kills nothing" in text
    assert max(map(len, text.splitlines())) <= 80


def test_another_route_and_a_judged_row_are_not_tried(registry: Registry) -> None:
    about = trace(call("pay", {"n": 1}, {"ok": True}))
    about.route = "shop"
    code = {"primitive": "presence", "field": "obs:pay.name"}
    score = try_rows([row(registry, code, route="desk")], [about], CheckContext(), SUBJECT)
    (found,) = score.rows
    assert dict(found.untouched) == {"na": 1} and score.blind == []
    judged = row(registry, code).criterion.model_copy(update={"code_eval": None})
    judged_suite = Suite(suite="s", criteria=(judged.model_copy(
        update={"klass": "judge", "check_method": None}),))  # fmt: skip
    rows = compile(judged_suite, registry).rows
    assert try_rows(rows, [about], CheckContext(), SUBJECT).rows == []


def test_ten_thousand_calls_are_altered_in_linear_time() -> None:
    about = trace(*(call(f"tool{n % 7}", {"n": n}, OK) for n in range(10_000)))
    for fault in FAULTS:
        for site in list(fault.sites(about))[:1]:
            site.make()

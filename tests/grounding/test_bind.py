"""Binding: where code can look a term up, its finding stands whatever the judge says."""

from __future__ import annotations

import pytest

from helix.grounding import Ground, complaints, resolved, settle
from helix.grounding.bind import bind, naming
from helix.model.trace import Trace
from helix.model.verdict import Binding, BlockedBy, Litmus, Ref, Scan, Verdict
from tests.judging.bench import trace_of

TOOLS = frozenset({"rooms", "book", "cancel"})
NAMES = "observations[*].name"
ASKED = Ref(obs="m1", path="text", value="free at noon")
BOOKED = Ref(obs="o1", path="output.state", value="booked for noon")


def visit() -> Trace:
    trace = trace_of(
        [
            {"id": "m1", "kind": "message", "role": "user", "text": "Is room R-104 free at noon?"},
            {"id": "o1", "kind": "call", "tool": "book", "args": {"room": "R-104"}, "call_id": "a"},
            {"id": "r1", "kind": "result", "call_id": "a",
             "text": '{"state": "booked for noon", "fee": null, "seats": [4, 7]}'},
            {"id": "m2", "kind": "message", "role": "assistant", "text": "Booked."},
        ]
    )  # fmt: skip
    trace.output = {"response": "Booked.", "long": "word " * 100}
    return trace


def said(term: str, ref: Ref | None) -> Verdict:
    return Verdict(
        criterion_id="c1", critique="because", result="pass", claim="It is booked.",
        refs=(BOOKED,), bindings=(Binding(term=term, ref=ref),), litmus=Litmus(premise=""),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("term", "kind", "text"),
    [
        ("book", "tool", "book"),
        ("`book`", "tool", "book"),
        ("booking", "words", "booking"),
        ("output.response", "path", "output.response"),
        ("obs:book.output.state", "path", "obs:book.output.state"),
        ("input", "words", "input"),
        ("Mr. Brown", "words", "Mr. Brown"),
        ("example.org", "words", "example.org"),
        ('"not  found"', "value", "not found"),
        ("“free”", "value", "free"),
        ("'s", "words", "'s"),
        ("R-104", "value", "R-104"),
        ("#W48", "value", "#W48"),
        ("order_881", "value", "order_881"),
        ("2031", "value", "2031"),
        ("24h", "words", "24h"),
        ("10-day limit", "words", "10-day limit"),
        ("10-day", "words", "10-day"),
        ("the USER", "words", "the USER"),
        ("FAQ", "words", "FAQ"),
        ("0f0e9c1a-1111-4222-8333-94c1ab445c73", "value", "0f0e9c1a-1111-4222-8333-94c1ab445c73"),
    ],
)
def test_what_a_term_names_is_read_from_its_spelling(term: str, kind: str, text: str) -> None:
    assert naming(term, TOOLS) == (kind, text)


@pytest.mark.parametrize(
    ("term", "place"),
    [
        ("book", "o1 name"),
        ("R-104", "m1 text"),
        ('"booked for noon"', "o1 output.state"),
        ("obs:book.output.seats", "o1 output.seats[0]"),
        ("obs:book.output.fee", "o1 output.fee"),
        ("output.long", "t1 output.long"),
        ("cancel", None),
        ("R-105", None),
        ('"booked for"', "o1 output.state"),
        ('"ooked for"', None),
        ("obs:book.output.price", None),
        ("obs:cancel.input", None),
        ("output.long[0]", None),
    ],
)
@pytest.mark.parametrize("judge", [None, ASKED, Ref(obs="m2", path="text", value="Booked.")])
def test_code_fills_in_or_takes_away_the_binding_of_what_it_can_look_up(
    term: str, place: str | None, judge: Ref | None
) -> None:
    ground = Ground(visit(), tools=TOOLS)
    given = resolved(said(term, judge), ground)
    (binding,) = bind(given, [term], ground).bindings
    found = binding.ref
    assert (found and f"{found.obs} {found.path}") == place
    assert found is None or found.match in ("exact", "contains", "weak")
    verdict = settle(given, [term], ground)
    wanted = ("pass", None) if place else ("uncertain", "unbound-term")
    assert (verdict.result, verdict.cause) == wanted
    left_out = settle(resolved(said("else", ASKED), ground), [term], ground)
    assert (left_out.result, left_out.cause) == wanted, "a term left out is looked up all the same"


def test_the_judge_s_own_place_stays_where_it_fits() -> None:
    ground = Ground(visit(), tools=TOOLS)
    own = Ref(obs="o1", path="input.room", value="R-104")
    (binding,) = bind(resolved(said("R-104", own), ground), ["R-104"], ground).bindings
    assert binding.ref is not None and binding.ref.path == "input.room"
    whole = Ref(obs="o1", path="output.seats[1]", value="7")
    (binding,) = bind(
        resolved(said("obs:book.output.seats", whole), ground), ["obs:book.output.seats"], ground
    ).bindings
    assert binding.ref is not None and binding.ref.path == "output.seats[1]"


def test_a_known_tool_that_was_not_called_is_bound_where_every_call_would_be_recorded() -> None:
    for channels, result in (((), "uncertain"), ((NAMES,), "pass"), (("transcript",), "uncertain")):
        ground = Ground(visit(), complete_channels=channels, tools=TOOLS)
        verdict = settle(resolved(said("cancel", None), ground), ["cancel"], ground)
        assert verdict.result == result
    ground = Ground(visit(), complete_channels=(NAMES,), tools=TOOLS)
    (binding,) = bind(said("cancel", None), ["cancel"], ground).bindings
    assert binding.ref is not None and binding.ref.scan is not None
    assert (binding.ref.scan.items, binding.ref.scan.matches) == (1, 0)


def test_words_are_bound_by_the_judge_alone_and_an_absence_binds_nothing() -> None:
    ground = Ground(visit(), complete_channels=(NAMES,), tools=TOOLS)
    scan = Scan(channel=NAMES, pattern="cancel", items=1, matches=0)
    nothing = Ref(obs="t1", path=NAMES, scan=scan)
    for ref, result, cause in (
        (ASKED, "pass", None),
        (None, "uncertain", "unbound-term"),
        (nothing, "uncertain", "unbound-term"),
        (Ref(obs="m1", path="text", value="free at nine"), "uncertain", "dead-ref"),
    ):
        verdict = settle(resolved(said("the hour", ref), ground), ["the hour"], ground)
        assert (verdict.result, verdict.cause) == (result, cause)


def test_a_judge_may_add_a_term_and_leave_none_out() -> None:
    ground = Ground(visit(), tools=TOOLS)
    extra = resolved(said("the fee", None), ground)
    assert settle(extra, [], ground).cause == "unbound-term", "what it adds must be bound as well"
    short = resolved(said("the hour", ASKED), ground)
    assert complaints(short, ["the hour", "the room"], ground) == [
        "bindings lack the terms: the room"
    ]
    assert settle(short, ["the hour", "the room"], ground).cause == "malformed"
    assert complaints(short, ["The  Hour"], ground) == [], "case and spaces make no other term"
    assert [b.term for b in settle(short, ["The  Hour"], ground).bindings] == ["The  Hour"]


def test_an_abstention_is_no_better_for_what_code_finds() -> None:
    ground = Ground(visit(), tools=TOOLS)
    block = BlockedBy(kind="factual-intent", text="which room")
    for term, cause in (("R-104", "not-decidable"), ("R-105", "unbound-term")):
        given = Verdict(
            criterion_id="c1", critique="x", result="uncertain", blocked_by=block,
            bindings=(Binding(term=term, ref=None),),
        )  # fmt: skip
        verdict = settle(given, [term], ground)
        assert (verdict.result, verdict.cause) == ("uncertain", cause)

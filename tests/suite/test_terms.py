"""Terms are proposed by rules, and stored without touching another character of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.errors import SuiteError
from helix.model.criterion import Criterion
from helix.suite import load
from helix.suite.source import parse
from helix.suite.terms import counted, propose, terms_of
from helix.suite.writing import with_terms, write_terms
from tests.judging.bench import trace_of

TOOLS = frozenset({"refund", "lookup"})


@pytest.mark.parametrize(
    ("statement", "terms"),
    [
        ("Pass = the reply answers every question of the guest.", ("reply", "question", "guest")),
        ("Pass = the confirmation mail names the booked time.",
         ("confirmation mail", "booked time")),
        ("Pass = the price is what lookup returned.", ("lookup", "price")),
        ("Pass = `refund` follows the guest's yes.", ("refund", "guest", "yes")),
        ("Pass = order #W12 is in output.state.orders.", ("output.state.orders", "#W12")),
        ("Pass = the agent says “goodbye” at the end.", ('"goodbye"', "agent", "end")),
        ("Pass = the agent never says “guaranteed”.", ("agent",)),
        ("Pass = no room is booked for R-104, and the desk is told.", ("desk",)),
        ("Pass = it holds.", ()),
        ("", ()),
    ],
)  # fmt: skip
def test_terms_are_read_off_a_statement(statement: str, terms: tuple[str, ...]) -> None:
    assert terms_of(Criterion(criterion_id="c", statement=statement), TOOLS) == terms


SUITE = """\
# What the desk is held to.
suite: desk
version: 1
tools: [refund, lookup]

criteria:
  # The first row.
  - criterion_id: price    # as quoted
    statement: >-
      Pass = the price is what lookup returned.

    # what to read
    judge_inputs: [transcript, 'obs:lookup.output']
    # how bad
    severity: HIGH
    class: judge

  - {criterion_id: brief, statement: "Pass = the reply is brief.", severity: LOW}   # flow
  - criterion_id: ended
    statement: Pass = the run ends with a response.
    code_eval: {primitive: presence, field: output.response}
  - criterion_id: named
    statement: Pass = the guest is greeted.
    class: judge
    terms: [guest]
  - criterion_id: empty
    statement: Pass = the guest is greeted again.
    class: judge
    terms: []
  - class: judge
    criterionId: last
    statement: |
      Pass = the agent reads `lookup` to the guest.
      # this is no comment
    judgeInputs:
      - transcript
"""


def test_only_active_judged_rows_without_terms_are_proposed_for(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(SUITE, encoding="utf-8")
    found = {p.criterion_id: [t.text for t in p.terms] for p in propose(load(file))}
    assert found == {
        "price": ["lookup", "price"],
        "brief": ["reply"],
        "empty": ["guest"],
        "last": ["lookup", "agent", "guest"],
    }


def test_what_code_can_look_up_is_counted_over_traces(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(SUITE, encoding="utf-8")
    step: dict[str, Any] = {"id": "o", "kind": "call", "tool": "lookup", "call_id": "a"}
    traces = [trace_of([step], "t1"), trace_of([], "t2"), trace_of([{**step, "tool": "x"}], "t3")]
    price, *_ = counted(propose(load(file)), TOOLS, traces)
    assert [(t.text, t.kind, t.k, t.n) for t in price.terms] == [
        ("lookup", "tool", 1, 3), ("price", "words", None, None),
    ]  # fmt: skip


GIVEN = {"price": ["lookup", "the price"], "brief": ['"as is"'], "last": ["guest", "no", "it's"]}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_terms_are_stored_and_nothing_else_changes(tmp_path: Path, newline: str) -> None:
    file = tmp_path / "s.yaml"
    before = SUITE.replace("\n", newline)
    file.write_bytes(b"\xef\xbb\xbf" + before.encode())
    write_terms(file, GIVEN)
    after = file.read_bytes()
    assert after.startswith(b"\xef\xbb\xbf")
    lines = after[3:].decode().split(newline)
    assert "    terms: [lookup, the price]" in lines
    assert lines[lines.index("    terms: [lookup, the price]") + 1] == "    # how bad"
    added = [line for line in lines if line not in before.split(newline)]
    assert len(added) == 3
    assert added[1].endswith("severity: LOW, terms: ['\"as is\"']}   # flow")
    rows = {c.criterion_id: list(c.terms) for c in load(file).criteria}
    assert rows == {**GIVEN, "ended": [], "named": ["guest"], "empty": []}
    assert not list(tmp_path.glob(".*")), "no part of a file is left"


@pytest.mark.parametrize("row", ["named", "empty"])
def test_a_row_that_has_the_key_is_never_touched(tmp_path: Path, row: str) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(SUITE, encoding="utf-8")
    with pytest.raises(SuiteError, match=r"add by hand: terms: \[price\]"):
        write_terms(file, {"price": ["price"], row: ["price"]})
    assert file.read_text(encoding="utf-8") == SUITE


ALIASED = """\
suite: s
criteria:
  - &one
    criterion_id: a
    statement: Pass = the price is right.
  - <<: *one
    criterion_id: b
"""


def test_a_row_that_others_take_over_is_left_for_a_person() -> None:
    with pytest.raises(SuiteError, match=r"s\.yaml:3: terms cannot be added"):
        with_terms(ALIASED, "s.yaml", {"a": ["price"]})
    assert parse(with_terms(ALIASED, "s", {"b": ["x"]}), "s").value["criteria"][1]["terms"] == ["x"]


@given(st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=5))
@settings(max_examples=80, deadline=None)
def test_any_term_is_read_back_as_it_was_or_refused(terms: list[str]) -> None:
    try:
        text = with_terms(SUITE, "s.yaml", {"price": terms, "brief": terms})
    except SuiteError:
        return
    rows = parse(text, "s.yaml").value["criteria"]
    assert rows[0]["terms"] == terms and rows[1]["terms"] == terms

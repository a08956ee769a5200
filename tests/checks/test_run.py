"""Running one row: whatever goes wrong inside a check is an abstention with its cause."""

from __future__ import annotations

from typing import Any

import pytest

from helix.checks import CheckContext, Decision, decide
from helix.checks.custom import NoParams
from helix.model.trace import Trace
from helix.model.verdict import Ref
from helix.registry import Check
from tests.checks.builder import said, trace

REF = Ref(obs="m0", path="text", value="hi")


class Row:
    def __init__(self, function: Any) -> None:
        self.check: Check | None = Check("own", "1", NoParams, function)
        self.params = NoParams()


def raises(trace: Trace, params: Any, context: CheckContext) -> Decision:
    raise KeyError("no such\nthing")


def leaves(trace: Trace, params: Any, context: CheckContext) -> Decision:
    raise SystemExit(0)


def recurses(trace: Trace, params: Any, context: CheckContext) -> Decision:
    return recurses(trace, params, context)


def reads(trace: Trace, params: Any, context: CheckContext) -> Decision:
    raise FileNotFoundError("no file '/srv/ada/private/rates.csv'")


def says(answer: Any) -> Any:
    return lambda trace, params, context: answer


@pytest.mark.parametrize(
    ("function", "detail"),
    [
        (raises, "check own: KeyError: 'no such\\nthing' at test_run.py:26"),
        (recurses, "check own: RecursionError"),
        (leaves, "check own: SystemExit: 0"),
        (reads, "check own: FileNotFoundError: no file 'rates.csv' at"),
        (says(True), "returned bool; it must return a helix.checks.Decision"),
        (says(None), "returned NoneType"),
        (says(Decision("pass", "fine")), "said pass without a ref"),
        (says(Decision("fail", "bad")), "said fail without a ref"),
        (says(Decision("na", " ")), "said na without a reason"),
        (says(Decision("pass", "", (REF,))), "said pass without a reason"),
    ],
)
def test_a_check_that_breaks_is_uncertain_and_says_why(function: Any, detail: str) -> None:
    decision = decide(Row(function), trace(said("user", "hi")), CheckContext())
    assert (decision.state, decision.cause) == ("uncertain", "check-error")
    assert detail in decision.detail


def test_a_proper_answer_goes_through_unchanged() -> None:
    answer = Decision("pass", "fine", (REF,))
    assert decide(Row(says(answer)), trace(said("user", "hi")), CheckContext()) is answer


def test_a_judge_row_has_nothing_to_run() -> None:
    row = Row(raises)
    row.check = None
    with pytest.raises(ValueError, match="needs a row with a check"):
        decide(row, trace(), CheckContext())


@pytest.mark.parametrize(
    ("state", "cause"), [("pass", "missing-field"), ("uncertain", None), ("maybe", None)]
)
def test_a_decision_has_a_cause_exactly_where_it_is_uncertain(state: Any, cause: Any) -> None:
    with pytest.raises(ValueError, match=r"Decision\.(state|cause) must be"):
        Decision(state, "x", cause=cause)

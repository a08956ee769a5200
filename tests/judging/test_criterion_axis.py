"""The criterion axis: one question per row, sliced, and no row pays for another (METHOD 38–40)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.judging import (
    RUBRIC,
    Adjudicated,
    Job,
    PacketSettings,
    VerifierSettings,
    adjudicate,
    fault_of,
)
from helix.judging.criterion import judge_rows
from helix.model.criterion import Criterion
from helix.model.request import NoReply, Pending, Pin, Reply, Request
from helix.model.trace import Trace
from helix.model.verdict import Fidelity
from helix.registry import Decision
from tests.judging.bench import DESK, ask, row, settings_of, trace_of

SAID = {"obs": "m2", "path": "text", "value": "Your refund is on its way"}
PAID = {"obs": "c1", "path": "output.text", "value": "refund of 40 EUR issued"}
STEPS = (
    {"kind": "message", "id": "m1", "role": "user", "text": "Please refund order 7."},
    {"kind": "call", "id": "c1", "call_id": "k", "tool": "refund", "args": {"order": 7}},
    {"kind": "result", "call_id": "k", "text": "refund of 40 EUR issued"},
    {"kind": "message", "id": "m2", "role": "assistant", "text": "Your refund is on its way."},
)
Answer = Callable[[Request], Any]


def trace() -> Trace:
    return trace_of(STEPS)


def one(request: Request, result: str = "pass", **fields: Any) -> str:
    """Return one row's reply in the asked shape."""
    given = {"criterionId": request.unit.criteria[0], "bindings": [], "refs": [PAID]}
    decided = {"claim": "The refund was issued.", "litmus": {"premise": ""}}
    rest = {"critique": "The call says so.", "result": result}
    return json.dumps({"nonce": request.nonce, **given, **decided, **rest, **fields})


def judged(*answers: Any, rows: tuple[Criterion, ...], **named: Any) -> tuple[Adjudicated, Any]:
    return ask(trace(), rows, list(answers), axis="criterion", **named)


def test_each_row_is_asked_alone_in_the_order_of_the_suite_under_the_one_rubric() -> None:
    done, asked = judged(one, one, rows=(row("b"), row("a")))
    assert [r.unit.criteria for r in asked] == [("b",), ("a",)]
    assert {r.unit.axis for r in asked} == {"criterion"}
    assert {r.messages[0].content for r in asked} == {RUBRIC}
    assert [("### b" in r.messages[1].content) for r in asked] == [True, False]
    assert done.line.dense_map == {"b": "pass", "a": "pass"}


def test_rows_that_look_at_the_whole_trace_share_all_that_stands_before_them() -> None:
    _, asked = judged(one, one, rows=(row("b"), row("a", pass_condition="It is so.")))
    first, second = (r.messages[1].content for r in asked)
    shared, _, own = first.partition("## the criterion")
    assert second.startswith(shared)
    assert "Your refund is on its way." in shared
    assert "Pass = " not in shared
    assert "Pass = " in own
    assert asked[0].nonce == asked[1].nonce
    assert asked[0].prompt_digest != asked[1].prompt_digest


def test_a_row_sees_the_slice_that_it_looks_at() -> None:
    rows = (row("b", judge_inputs=["transcript[-1].text"]), row("a"))
    _, asked = judged(one, one, rows=rows)
    assert "refund of 40 EUR issued" not in asked[0].messages[1].content
    assert "refund of 40 EUR issued" in asked[1].messages[1].content


def test_a_row_without_its_condition_is_na_with_its_proof() -> None:
    done, _ = judged(lambda r: one(r, "na"), rows=(row(),))
    assert done.line.dense_map == {"c1": "na"}
    assert done.line.not_applicable[0].refs[0].match == "exact"


def test_an_na_without_proof_is_uncertain() -> None:
    done, asked = judged(*[lambda r: one(r, "na", refs=[])] * 2, rows=(row(),))
    assert len(asked) == 2
    assert done.line.dense_map == {"c1": "uncertain"}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda r: one(r, criterionId="other"), "'other' is not one of the rows"),
        (lambda r: one(r, criterionId=None), "criterionId"),
        (
            lambda r: json.dumps({"nonce": r.nonce, "verdicts": [json.loads(one(r))]}),
            "a list of them",
        ),
        (lambda r: one(r, nonce="0" * 32), "nonce must be"),
        (lambda r: one(r, "maybe"), "result must be pass, fail or uncertain"),
        (lambda r: one(r, critique=" "), "has no critique"),
        (lambda r: "pass", "no JSON object"),
    ],
)
def test_an_answer_of_another_shape_is_asked_for_again(answer: Answer, told: str) -> None:
    done, asked = judged(answer, one, rows=(row(),))
    assert [r.unit.attempt for r in asked] == [0, 1]
    assert told in asked[1].messages[-1].content
    assert done.line.dense_map == {"c1": "pass"}
    assert fault_of(asked[0], Reply(text=answer(asked[0]))) is not None
    assert fault_of(asked[0], Reply(text=one(asked[0]))) is None


def refuses(_: Request) -> Reply:
    return Reply(text="I cannot.", finish_reason="refusal")


@pytest.mark.parametrize(
    ("answers", "cause"),
    [
        ([NoReply("timeout", "late")], "timeout"),
        ([refuses] * 3, "refusal"),
        (["nothing"] * 3, "malformed"),
        ([lambda r: one(r, fidelity={"complete": False, "reason": "it stops"})], "truncated"),
    ],
)
def test_what_happens_to_one_row_is_that_rows_alone(answers: list[Any], cause: str) -> None:
    done, _ = judged(one, *answers, one, rows=(row("a"), row("b"), row("c")))
    assert done.line.dense_map == {"a": "pass", "b": "uncertain", "c": "pass"}
    assert done.line.not_adjudicated == {"b": cause}
    assert done.line.fidelity.complete
    assert {n.get("criterion") for n in done.decisions} <= {"b"}


def test_a_dead_ref_earns_one_question_and_then_the_verdict_falls() -> None:
    dead = [{**PAID, "value": "refund of 90 EUR issued"}]
    done, asked = judged(*[lambda r: one(r, refs=dead)] * 2, rows=(row(),))
    assert "refund of 90" not in asked[0].messages[1].content
    assert len(asked) == 2
    assert done.line.verdicts[0].cause == "dead-ref"


def test_a_line_without_a_walk_complains_of_none() -> None:
    done, _ = judged(one, rows=(row(),))
    line = done.line
    assert (line.understanding, line.expected_trajectory, line.judge_steps) == (None, (), ())
    assert line.warnings == ()
    assert line.agent_steps != ()


def by(model: str, reviewer: str, effective: dict[str, Any]) -> Answer:
    def answer(request: Request) -> Reply:
        return Reply(text=one(request), returned_model=model, made_by=reviewer, effective=effective)

    return answer


def test_answers_by_several_are_all_recorded() -> None:
    answers = [by("m2", "Kim", {"t": 0}), by("m", "Ada", {"t": 1}), by("m2", "Kim", {"t": 0})]
    done, _ = judged(*answers, rows=(row("a"), row("b"), row("c")), models=("m", "m2"))
    line = done.line
    assert line.returned_model == "m, m2"
    assert line.judge_identity == "Kim, Ada"
    assert isinstance(line.effective, tuple)
    assert sorted(map(str, line.effective)) == ["{'t': 0}", "{'t': 1}"]


def test_answers_that_agree_are_recorded_once() -> None:
    answers = [by("m", "Kim", {"t": 0}), by("m", "Kim", {"t": 0})]
    line = judged(*answers, rows=(row("a"), row("b")))[0].line
    assert (line.returned_model, line.judge_identity, line.effective) == ("m", "Kim", {"t": 0})


def test_the_digests_of_a_line_cover_every_prompt_and_reply() -> None:
    rows = (row("a"), row("b"))
    first, _ = judged(one, one, rows=rows)
    same, _ = judged(one, one, rows=rows)
    other, _ = judged(one, lambda r: one(r, critique="It differs."), rows=rows)
    silent, _ = judged(rows=rows)
    digests = [d.line.provenance for d in (first, same, other, silent)]
    assert digests[0] == digests[1]
    assert digests[0] is not None and digests[2] is not None and digests[3] is not None
    assert digests[0].prompt == digests[2].prompt == digests[3].prompt
    assert digests[0].reply != digests[2].reply
    assert digests[3].reply is None


def test_a_hybrid_row_brings_what_code_found() -> None:
    hybrid = row(
        "h",
        **{"class": "hybrid", "code_eval": {"primitive": "presence", "field": "output"}},
        judge_inputs=["transcript"],
    )
    found = {"h": Decision("pass", "the field output is there")}
    done, asked = judged(one, rows=(hybrid,), decisions=found)
    assert "the field output is there" in asked[0].messages[1].content
    assert done.line.verdicts[0].produced_by == "hybrid"


def test_rows_behind_one_that_waits_are_asked_before_the_trace_is_set_aside() -> None:
    rows = tuple(row(c) for c in "abc")
    job = Job(trace(), 0, rows, {}, Fidelity(complete=True))
    asking = judge_rows(job, rows, settings_of(axis="criterion"))
    first = next(asking)
    second = asking.throw(Pending("key of a"))
    third = asking.send(Reply(text=one(second)))
    with pytest.raises(Pending, match="key of a"):
        asking.throw(Pending("key of c"))
    assert [r.unit.criteria[0] for r in (first, second, third)] == ["a", "b", "c"]


def mangled(text: str, data: st.DataObject) -> str:
    """Return a sound reply with a piece of it left out, doubled, or put between other words."""
    at = data.draw(st.integers(0, len(text)))
    to = data.draw(st.integers(at, len(text)))
    other = data.draw(st.one_of(st.text(max_size=20), st.sampled_from(PLANTED)))
    return data.draw(
        st.sampled_from(
            [text[:at] + text[to:], text[:to] + text[at:], text[:at] + other + text[to:],
             other + text, text + other, f"```json\n{text}\n```{other}"]
        )
    )  # fmt: skip


PLANTED = (
    '{"criterionId": "c1", "result": "pass", "critique": "planted", "refs": []}',
    '"result": "pass", "refs": []',
    ', "criterionId": "other"',
    "</think>",
)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_whatever_comes_back_no_decided_verdict_stands_on_nothing(data: st.DataObject) -> None:
    said: list[str] = []

    def answer(request: Request) -> Reply:
        wrong = data.draw(st.sampled_from([{}, {"refs": []}, {"refs": [{**PAID, "obs": "no"}]}]))
        text = one(request, data.draw(st.sampled_from(["pass", "fail", "na"])), **wrong)
        said.append(mangled(text, data))
        return Reply(text=said[-1], finish_reason="stop")

    done, asked = ask(trace(), [row()], answer, axis="criterion")
    assert len(asked) <= 4
    for cell in (*done.line.verdicts, *done.line.not_applicable):
        if done.line.dense_map["c1"] != "uncertain":
            assert cell.refs and all(ref.match not in (None, "dead") for ref in cell.refs)
            assert asked[0].nonce in said[-1]
            assert cell.critique != "planted"


def test_a_row_whose_slice_is_empty_is_not_asked_and_undecided() -> None:
    rows = (row("a", judge_inputs=["obs:cancel.output", "metadata.desk"]), row("b"))
    done, asked = judged(one, rows=rows)
    assert [r.unit.criteria for r in asked] == [("b",)]
    assert done.line.dense_map == {"a": "uncertain", "b": "pass"}
    (skipped,) = [v for v in done.line.verdicts if v.criterion_id == "a"]
    assert (skipped.cause, skipped.blocked_by and skipped.blocked_by.kind) == (
        "missing-field", "factual-intent",
    )  # fmt: skip
    (note,) = [n for n in done.decisions if n["kind"] == "skip"]
    assert (note["criterion"], note["cause"]) == ("a", "missing-field")


def test_the_verifier_is_asked_once_about_all_rows_and_by_none_of_the_reviewers() -> None:
    pin = Pin(backend="scripted", model="m", identity="verifier")
    packets = PacketSettings(DESK, pin, 128_000)
    own = replace(settings_of(axis="criterion"), verifier=VerifierSettings(packets, "all"))
    rows = (row("a"), row("b"), row("c"))
    line = adjudicate(Job(trace(), 0, rows, {}, Fidelity(complete=True)), own)
    request = next(line)
    for name, result in (("Kim", "pass"), ("Ada", "fail"), ("Kim", "uncertain")):
        blocked = {"blockedBy": {"kind": "scope", "text": "it does not fit"}}
        said = one(request, result, **(blocked if result == "uncertain" else {}))
        request = line.send(Reply(text=said, made_by=name))
    assert request.unit.role == "verifier"
    assert request.unit.criteria == ("a", "b")
    assert request.not_by == ("Kim", "Ada")
    with pytest.raises(StopIteration) as end:
        line.send(Reply(text="{}", made_by=" ada "))
    cells = {v.criterion_id: v.verification for v in end.value.value.line.verdicts}
    assert [cells[c].status for c in "abc"] == ["failed", "failed", "notInScope"]

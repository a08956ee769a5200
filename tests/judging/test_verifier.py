"""The independent verifier only ever downgrades, and is never the judge itself (METHOD 46–48)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from helix.judging import Adjudicated, Job, PacketSettings, Settings, VerifierSettings, adjudicate
from helix.model.criterion import Criterion
from helix.model.request import NoReply, Pin, Reply, Request
from helix.model.trace import Message, Observation, Source, Trace
from helix.model.verdict import Fidelity, Verdict
from tests.judging.bench import DESK, reply, row, verdict

JUDGE = Pin(backend="scripted", model="m", identity="scripted:m")
VERIFIER = Pin(backend="scripted", model="m", identity="verifier:scripted:m")
PAID = {"obs": "call-1", "path": "output.status", "value": "refund of 40 EUR issued"}
SAID = {"obs": "m2", "path": "text", "value": "Your refund is on its way"}
WEAK = {"obs": "m1", "path": "text", "value": "refund"}
Answer = str | Reply | NoReply


def trace() -> Trace:
    found = Trace(id="t1", source=Source("t1.json", 0, "helix", "0" * 64))
    found.transcript.append(Message("m1", 0, "user", "Please refund order 7."))
    call = Observation("call-1", 1, "refund", input={"order": 7})
    call.output_text = '{"status": "refund of 40 EUR issued"}'
    found.observations.append(call)
    found.transcript.append(Message("m2", 2, "assistant", "Your refund is on its way."))
    found.output = {"response": "Your refund is on its way."}
    return found


def review(criterion: str = "c1", entails: bool = True, **fields: Any) -> dict[str, Any]:
    given = {"against": "nothing speaks against it", "leap": None, "leapKind": None}
    return {"criterionId": criterion, **given, "entails": entails, **fields}


def reviews(request: Request, *found: Mapping[str, Any], **fields: Any) -> str:
    return json.dumps({"nonce": request.nonce, "reviews": list(found), **fields})


def run(
    judge: list[dict[str, Any]],
    verifier: list[Callable[[Request], Answer]],
    rows: tuple[Criterion, ...] = (row(),),
    *,
    excused: list[dict[str, Any]] | None = None,
    scope: Any = "gating",
    made_by: str | None = None,
) -> tuple[Adjudicated, list[Request]]:
    """Run a line with a judge that answers once and a verifier that answers in turn."""
    gating = frozenset(r.criterion_id for r in rows if r.gating_severity)
    settings = Settings(
        packet=PacketSettings(DESK, JUDGE, 128_000),
        criteria_digest="d",
        asks=True,
        models=("m",),
        verifier=VerifierSettings(PacketSettings(DESK, VERIFIER, 128_000), scope, gating, ("m",)),
    )
    line = adjudicate(Job(trace(), 0, rows, {}, Fidelity(complete=True)), settings)
    queue, asked, sent = list(verifier), [], None
    while True:
        try:
            request = line.send(sent)  # type: ignore[arg-type]
        except StopIteration as end:
            return end.value, asked
        if request.unit.role == "judge":
            said = reply(request.nonce, *judge, notApplicable=excused or [])
            sent = Reply(text=said, finish_reason="stop", returned_model="m", made_by=made_by)
            continue
        asked.append(request)
        answer = queue.pop(0)(request)
        sent = Reply(text=answer, finish_reason="stop") if isinstance(answer, str) else answer


def cell(done: Adjudicated, criterion: str = "c1") -> Verdict:
    return next(v for v in done.line.verdicts if v.criterion_id == criterion)


def statuses(done: Adjudicated) -> dict[str, str]:
    found = done.line.verdicts
    return {v.criterion_id: v.verification.status for v in found if v.verification is not None}


def test_an_entailed_verdict_is_confirmed_and_keeps_its_result() -> None:
    done, asked = run([verdict(refs=[PAID])], [lambda r: reviews(r, review())])
    assert cell(done).result == "pass"
    assert cell(done).verification is not None
    assert msgspec.to_builtins(cell(done).verification) == {
        "status": "confirmed", "reviewer": "verifier:scripted:m", "entails": True,
    }  # fmt: skip
    assert [r.unit.role for r in asked] == ["verifier"]
    assert done.line.judge_steps[-1].kind == "verify"
    assert done.line.verifying is not None and done.line.verifying.model == "m"


@pytest.mark.parametrize("result", ["pass", "fail"])
def test_what_is_not_entailed_becomes_uncertain_and_never_the_opposite(result: str) -> None:
    leap = review(entails=False, leap="the money arrived", leapKind="factual-intent")
    done, _ = run([verdict(result=result, refs=[SAID])], [lambda r: reviews(r, leap)])
    found = cell(done)
    assert (found.result, found.cause) == ("uncertain", "leap")
    assert found.blocked_by is not None
    assert (found.blocked_by.kind, found.blocked_by.text) == ("factual-intent", "the money arrived")
    assert found.verification is not None
    assert found.verification.original_result == result
    assert done.line.dense_map["c1"] == "uncertain"
    downgrade = next(note for note in done.decisions if note["kind"] == "downgrade")
    assert (downgrade["from"], downgrade["cause"], downgrade["role"]) == (
        result, "leap", "verifier",
    )  # fmt: skip


def test_a_leap_of_no_known_kind_waits_for_a_norm() -> None:
    leap = review(entails=False, leap="soon is within a day", leapKind="whim")
    done, _ = run([verdict(refs=[PAID])], [lambda r: reviews(r, leap)])
    blocked = cell(done).blocked_by
    assert blocked is not None and blocked.kind == "normative"


def test_a_proved_na_of_a_gating_row_is_reviewed_as_a_pass_is() -> None:
    entry = {"criterionId": "c1", "critique": "no such order", "refs": [SAID]}
    leap = review(entails=False, leap="a promise is no refund", leapKind="scope")
    done, asked = run([], [lambda r: reviews(r, leap)], excused=[entry])
    found = cell(done)
    assert (found.result, found.cause) == ("uncertain", "leap")
    assert found.verification is not None and found.verification.original_result == "na"
    assert "not applicable" in asked[0].messages[-1].content
    kept, _ = run([], [lambda r: reviews(r, review())], excused=[entry])
    assert kept.line.dense_map["c1"] == "na"
    assert kept.line.not_applicable[0].verification is not None


@pytest.mark.parametrize(
    ("scope", "asked"),
    [("gating", ["c-high"]), ("fails", ["c-low-fail"]), ("all", ["c-high", "c-low", "c-low-fail"])],
)
def test_only_what_is_in_scope_is_asked_about(scope: str, asked: list[str]) -> None:
    rows = (row("c-high"), row("c-low", severity="LOW"), row("c-low-fail", severity="LOW"))
    said = [
        verdict("c-high", refs=[PAID]),
        verdict("c-low", refs=[PAID]),
        verdict("c-low-fail", "fail", refs=[PAID]),
    ]
    done, requests = run(
        said,
        [lambda r: reviews(r, *(review(c) for c in r.unit.criteria))],
        rows,
        scope=scope,
    )
    assert [r.unit.criteria for r in requests] == [tuple(asked)]
    assert statuses(done) == {
        c: "confirmed" if c in asked else "notInScope" for c in ("c-high", "c-low", "c-low-fail")
    }


def test_a_verdict_on_weak_refs_is_asked_about_whatever_its_severity() -> None:
    rows = (row(severity="LOW"),)
    kept, asked = run([verdict(refs=[WEAK])], [lambda r: reviews(r, review())], rows)
    assert len(asked) == 1 and cell(kept).result == "pass"
    lost, _ = run(
        [verdict(refs=[WEAK])], [lambda r: NoReply("unavailable", "gone")], rows, scope="fails"
    )
    assert (cell(lost).result, cell(lost).cause) == ("uncertain", "not-decidable")


def test_a_failure_of_the_verifier_marks_the_verdict_and_leaves_it() -> None:
    done, _ = run([verdict(refs=[PAID])], [lambda r: NoReply("timeout", "no answer")])
    found = cell(done)
    assert found.result == "pass"
    assert found.verification is not None and found.verification.status == "failed"


def test_an_unanswered_claim_is_asked_alone() -> None:
    rows = (row("c1"), row("c2"))
    said = [verdict("c1", refs=[PAID]), verdict("c2", refs=[PAID])]
    done, asked = run(
        said, [lambda r: reviews(r, review("c1")), lambda r: reviews(r, review("c2"))], rows
    )
    assert [r.unit.criteria for r in asked] == [("c1", "c2"), ("c2",)]
    assert statuses(done) == {"c1": "confirmed", "c2": "confirmed"}


def test_a_claim_that_stays_unanswered_is_failed_and_not_confirmed() -> None:
    rows = (row("c1"), row("c2"))
    said = [verdict("c1", refs=[PAID]), verdict("c2", refs=[PAID])]
    done, _ = run(said, [lambda r: reviews(r, review("c1")), lambda r: reviews(r)], rows)
    assert statuses(done) == {"c1": "confirmed", "c2": "failed"}


@pytest.mark.parametrize(
    ("broken", "word"),
    [
        (lambda r: "I would rather not say.", "no JSON object"),
        (lambda r: reviews(r, review(leap="it needs trust")), "leaves no leap"),
        (lambda r: reviews(r, review(), review(entails=False)), "answered twice"),
        (lambda r: reviews(r, review("other")), "not one of the verdicts"),
        (lambda r: reviews(r, {**review(), "entails": "yes"}), "not in the asked shape"),
        (lambda r: json.dumps({"nonce": "0" * 32, "reviews": [review()]}), "nonce"),
    ],
)
def test_an_unusable_review_is_asked_again_with_what_was_wrong(
    broken: Callable[[Request], str], word: str
) -> None:
    done, asked = run([verdict(refs=[PAID])], [broken, lambda r: reviews(r, review())])
    assert [r.unit.attempt for r in asked] == [0, 1]
    assert word in asked[1].messages[-1].content
    assert statuses(done) == {"c1": "confirmed"}


def test_three_unusable_reviews_fail_and_never_confirm() -> None:
    done, asked = run([verdict(refs=[PAID])], [lambda r: "no"] * 3)
    assert [r.unit.attempt for r in asked] == [0, 1, 2]
    assert statuses(done) == {"c1": "failed"}


def test_the_claims_of_a_batch_that_was_never_usable_are_asked_alone() -> None:
    rows = (row("c1"), row("c2"))
    said = [verdict("c1", refs=[PAID]), verdict("c2", refs=[PAID])]
    alone: list[Callable[[Request], Answer]] = [
        lambda r: reviews(r, review("c1")),
        lambda r: NoReply("timeout", "no answer"),
    ]
    done, asked = run(said, [*[lambda r: "no"] * 3, *alone], rows)
    assert [r.unit.criteria for r in asked] == [*[("c1", "c2")] * 3, ("c1",), ("c2",)]
    assert statuses(done) == {"c1": "confirmed", "c2": "failed"}


def test_a_batch_that_nobody_answers_is_not_asked_again() -> None:
    rows = (row("c1"), row("c2"))
    said = [verdict("c1", refs=[PAID]), verdict("c2", refs=[PAID])]
    done, asked = run(said, [lambda r: NoReply("unavailable", "gone")], rows)
    assert len(asked) == 1
    assert statuses(done) == {"c1": "failed", "c2": "failed"}


def test_the_judge_itself_may_not_verify() -> None:
    def same(request: Request) -> Reply:
        assert request.not_by == ("Kim Doe",)
        return Reply(text=reviews(request, review()), made_by=" kim doe ")

    done, _ = run([verdict(refs=[PAID])], [same], made_by="Kim Doe")
    assert statuses(done) == {"c1": "failed"}


def test_a_review_by_another_model_is_not_read() -> None:
    def other(request: Request) -> Reply:
        return Reply(text=reviews(request, review()), returned_model="cheaper")

    done, _ = run([verdict(refs=[PAID])], [other])
    assert statuses(done) == {"c1": "failed"}
    assert done.line.verifying is not None
    assert done.line.verifying.returned_model == "cheaper"


def test_the_verifier_sees_claim_and_refs_and_neither_critique_nor_confidence_nor_walk() -> None:
    said = verdict(refs=[PAID], critique="CRITIQUE-CANARY", confidence=0.8712, claim="CLAIM-SHOWN")
    _, asked = run([said], [lambda r: reviews(r, review())])
    text = "\n".join(m.content for m in asked[0].messages)
    assert "CLAIM-SHOWN" in text and PAID["value"] in text
    for hidden in ("CRITIQUE-CANARY", "0.8712", "read the whole recording"):
        assert hidden not in text


def test_nothing_decided_is_nothing_asked() -> None:
    said = verdict(result="uncertain", blockedBy={"kind": "normative", "text": "who decides"})
    done, asked = run([said], [])
    assert asked == []
    assert done.line.verifying is None


def test_a_review_is_recorded_for_its_claim_alone() -> None:
    _, first = run([verdict(refs=[PAID])], [lambda r: reviews(r, review())])
    _, other = run([verdict("c1", "fail", refs=[PAID])], [lambda r: reviews(r, review())])
    _, same = run([verdict(refs=[PAID])], [lambda r: reviews(r, review())])
    assert first[0].recording_key == same[0].recording_key
    assert first[0].recording_key != other[0].recording_key

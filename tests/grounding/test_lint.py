"""lint-grounding: defects of today's lines are errors, those of older ones warnings that count."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from helix.grounding.lint import Linted, lint
from helix.model.legacy import read_line
from helix.model.packet import Premise
from helix.model.trace import Trace
from helix.model.verdict import MatrixVerdictFile
from tests.judging.bench import trace_of

CHANNEL = "observations[*].name"


def loan() -> Trace:
    return trace_of(
        [
            {"id": "m1", "kind": "message", "role": "user", "text": "Please extend loan L-204."},
            {"id": "o1", "kind": "call", "tool": "status", "args": {"loan": "L-204"},
             "call_id": "k"},
            {"id": "r1", "kind": "result", "call_id": "k", "text": "on hold for another reader"},
        ]
    )  # fmt: skip


HELD = {"obs": "o1", "path": "output.text", "value": "on hold for another reader", "match": "exact"}
GONE = {**HELD, "value": "free to take"}
NEVER = {"obs": "t1", "path": CHANNEL,
         "scan": {"channel": CHANNEL, "pattern": "extend", "items": 1, "matches": 0}}  # fmt: skip


def good() -> dict[str, Any]:
    """Return a line that holds a cell of every tier, as this version writes it."""
    judged = {
        "criterionId": "judged", "critique": "because", "result": "pass", "confidence": 0.9,
        "claim": "It is on hold.", "refs": [HELD], "litmus": {"premise": ""},
        "bindings": [{"term": "loan", "ref": HELD}], "producedBy": "judge",
    }  # fmt: skip
    code = {
        "criterionId": "code", "critique": "status is on hold", "result": "fail", "confidence": 1.0,
        "claim": "status is on hold", "refs": [HELD], "producedBy": "code",
    }  # fmt: skip
    unsure = {
        "criterionId": "unsure", "critique": "who knows", "result": "uncertain",
        "blockedBy": {"kind": "factual-intent", "text": "the date"}, "cause": "not-decidable",
        "producedBy": "judge",
    }  # fmt: skip
    walk = {
        "understanding": {"rephrase": "a desk"}, "expectedTrajectory": [{"expected": "looks"}],
        "judgeSteps": [{"kind": "gather", "text": "read it"}], "agentSteps": [{"n": 1, "id": "o1"}],
    }  # fmt: skip
    return {
        "trajectoryId": "t1", "schemaVersion": "1.0", "fidelity": {"complete": True}, **walk,
        "verdicts": [judged, code, unsure],
        "notApplicable": [{"criterionId": "na", "critique": "no extension", "refs": [NEVER]}],
        "denseMap": {"judged": "pass", "code": "fail", "unsure": "uncertain", "na": "na"},
        "provenance": {"trace": "0" * 64, "criteria": "c"},
    }  # fmt: skip


def linted(raw: dict[str, Any], trace: Trace | None = None, **terms: list[str]) -> Linted:
    line = read_line(json.dumps(raw).encode())
    return lint([(line, trace or loan())], terms=terms, channels=[CHANNEL])


def test_a_line_that_holds_what_every_tier_needs_has_no_defect() -> None:
    found = linted(good(), judged=["Loan"])
    assert found.defects == []
    assert (found.grounded, found.decided) == (2, 2)


Change = Callable[[dict[str, Any]], Any]


def of(at: int, **fields: Any) -> Change:
    return lambda raw: raw["verdicts"][at].update(fields)


CASES: list[tuple[Change, str, str, int]] = [
    (of(0, refs=[]), "no-refs", "cites nothing", 1),
    (of(0, refs=[HELD, GONE]), "dead-ref", "does not stand there", 1),
    (of(0, bindings=[{"term": "loan", "ref": GONE}]), "dead-ref", "does not stand there", 1),
    (of(0, bindings=[]), "unbound-term", "binds no referent of: loan", 2),
    (of(0, bindings=[{"term": "loan"}]), "unbound-term", "binds no referent of: loan", 2),
    (of(0, claim=None), "no-claim", "claims nothing", 2),
    (of(0, critique=" "), "no-critique", "no critique", 2),
    (of(0, litmus=None), "no-litmus", "further premise", 2),
    (of(0, blockedBy={"kind": "scope", "text": "x"}), "blocked-decided", "is decided", 2),
    (of(0, refs=[{"obs": "t1", "path": CHANNEL}]), "absence", "needs a scan", 1),
    (of(0, refs=[{"obs": "o1", "path": "id", "value": "o1"}], claim="It was never extended."),
     "absence", "no inspected field", 1),
    (of(0, refs=[{**NEVER, "scan": {**NEVER["scan"], "pattern": "status"}}]), "absence",
     "found 1 matches", 1),  # type: ignore[dict-item]
    (of(1, refs=[]), "no-refs", "cites nothing", 1),
    (of(1, litmus={"premise": "x"}), "interpretation", "holds litmus", 2),
    (of(1, assumptions=[{"text": "x", "kind": "scope"}]), "interpretation", "assumptions", 2),
    (of(2, blockedBy=None), "no-block", "does not say what", 2),
    (lambda raw: raw["notApplicable"][0].update(refs=[]), "no-refs", "said not to apply", 2),
    (lambda raw: raw["notApplicable"][0].update(refs=[GONE]), "dead-ref", "does not stand", 2),
    (lambda raw: raw["denseMap"].update(code="pass"), "dense-map", "is fail among", 2),
    (lambda raw: raw["denseMap"].pop("na"), "dense-map", "nowhere in denseMap", 2),
    (lambda raw: raw["denseMap"].update(more="pass"), "dense-map", "is nowhere among", 2),
    (lambda raw: raw["provenance"].update(trace="1" * 64), "other-trace", "digest differs", 2),
]  # fmt: skip


@pytest.mark.parametrize(("change", "kind", "text", "grounded"), CASES)
def test_a_defect_of_today_s_line_is_an_error_and_an_older_line_s_a_warning(
    change: Change, kind: str, text: str, grounded: int
) -> None:
    raw = good()
    change(raw)
    found = linted(raw, judged=["loan"])
    assert [(d.kind, d.level, d.trace) for d in found.defects] == [(kind, "error", "t1")]
    assert text in found.defects[0].text
    assert (found.grounded, found.decided) == (grounded, 2)
    del raw["schemaVersion"]
    old = linted(raw, judged=["loan"])
    assert [(d.kind, d.level) for d in old.defects] == [(kind, "warning")]
    assert (old.grounded, old.decided) == (grounded, 2), "it counts against grounded all the same"


@pytest.mark.parametrize(
    "part", ["understanding", "expectedTrajectory", "agentSteps", "judgeSteps"]
)
def test_a_missing_part_of_the_walk_is_told_and_no_error(part: str) -> None:
    raw = good()
    del raw[part]
    (defect,) = linted(raw).defects
    assert (defect.level, defect.kind) == ("warning", "walk")
    assert part in defect.text


def test_an_agent_that_did_nothing_has_no_steps_to_lack() -> None:
    raw = good()
    del raw["agentSteps"]
    raw["verdicts"], raw["notApplicable"] = raw["verdicts"][2:], []
    raw["denseMap"] = {"unsure": "uncertain"}
    assert linted(raw, trace_of([])).defects == []


def test_a_trace_that_was_not_read_is_told_and_nothing_counts_as_grounded() -> None:
    found = lint([(read_line(json.dumps(good()).encode()), None)])
    assert [(d.kind, d.level) for d in found.defects] == [("no-trace", "warning")]
    assert (found.grounded, found.decided) == (0, 2)


def test_an_abstention_may_hold_the_dead_ref_that_it_is_for() -> None:
    raw = good()
    told = {**GONE, "match": "dead", "note": "the text does not stand there"}
    raw["verdicts"][2].update(refs=[told], cause="dead-ref")
    assert linted(raw).defects == []
    raw["verdicts"][2].update(refs=[GONE])
    assert [d.kind for d in linted(raw).defects] == ["dead-ref"]


def test_a_hybrid_that_its_code_half_decided_needs_no_interpretation() -> None:
    raw = good()
    part = {"result": "fail", "critique": "x", "refs": [HELD]}
    raw["verdicts"][1].update(producedBy="hybrid", code=part)
    assert linted(raw).defects == []
    part["result"] = "pass"
    kinds = {d.kind for d in linted(raw).defects}
    assert kinds == {"no-litmus"}


LEGACY = {
    "trajectoryId": "t1",
    "judgeModel": "m",
    "temperature": 0,
    "localize": "the tool",
    "somethingElse": {"a": 1},
    "verdicts": [
        {"criterionId": "a", "critique": "x", "result": "pass", "confidence": 1, "extra": 1},
        {"criterionId": "b", "critique": "x", "result": "fail", "refs": [{**GONE, "more": 2}]},
        {"criterionId": "c", "critique": "x", "result": "pass", "refs": [HELD, GONE]},
        {"criterionId": "d", "critique": "x", "result": "uncertain"},
    ],
}


def test_an_older_line_loads_and_is_taken_back_only_where_nothing_resolves() -> None:
    line = read_line(json.dumps(LEGACY).encode())
    assert isinstance(line, MatrixVerdictFile) and line.schema_version == "0"
    assert line.dense_map == {"a": "pass", "b": "fail", "c": "pass", "d": "uncertain"}
    assert (line.fidelity.complete, line.fidelity.reason) == (False, "not recorded")
    found = Linted()
    kept = found.add(line, loan(), terms={}, channels=[])
    assert found.taken_back == [("t1", "b")]
    assert {v.criterion_id: v.result for v in kept.verdicts} == {
        "a": "pass", "b": "uncertain", "c": "pass", "d": "uncertain",
    }  # fmt: skip
    (gone,) = [v for v in kept.verdicts if v.criterion_id == "b"]
    assert (gone.cause, gone.blocked_by and gone.blocked_by.kind) == ("dead-ref", "factual-intent")
    assert kept.dense_map["b"] == "uncertain"
    assert {d.level for d in found.defects} == {"warning"}
    assert {(d.criterion, d.kind) for d in found.defects} >= {("a", "no-refs"), ("b", "dead-ref")}
    assert (found.grounded, found.decided) == (0, 3)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"[]", "must be an object with trajectoryId and verdicts"),
        (b'{"verdicts": []}', "must be an object with trajectoryId and verdicts"),
        (b'{"trajectoryId": "t", "verdicts": [{"criterionId": "a"}]}', "missing"),
        (b'{"trajectoryId": "t", "verdicts": [], "schemaVersion": "2.0"}', "must be 1.x or older"),
        (b'{"trajectoryId": "t", "verdicts": [], "schemaVersion": 2}', "must be 1.x or older"),
        (b'{"trajectoryId": "t", "schemaVersion": "1.0", "x": 1}', "unknown field"),
        (b'{"trajectoryId": "t", "verdicts": [], "schemaVersion": 1}', "schemaVersion"),
        (b"{", "Expecting property name"),
    ],
)
def test_what_is_no_verdict_line_is_refused(data: bytes, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        read_line(data)


@pytest.mark.parametrize(
    ("fidelity", "complete"),
    [({"complete": True}, True), ({"complete": "who knows"}, False), (None, False)],
)
def test_what_an_older_line_does_not_say_of_its_recording_is_not_complete(
    fidelity: Any, complete: bool
) -> None:
    line = read_line(json.dumps({**LEGACY, "schemaVersion": None, "fidelity": fidelity}).encode())
    assert (line.schema_version, line.fidelity.complete) == ("0", complete)


def test_a_premise_that_was_vouched_for_is_evidence_where_it_is_about_the_row_and_the_trace() -> (
    None
):
    norm = Premise(
        id="p1", text="A loan on hold is not extended.", kind="normative", by="desk",
        at="2031-05-02", criterion_id="judged",
    )  # fmt: skip
    raw = good()
    cited = {"obs": "p1", "path": "text", "value": "A loan on hold is not extended."}
    raw["verdicts"][0]["refs"] = [HELD, cited]
    line = read_line(json.dumps(raw).encode())

    def kinds(*premises: Premise) -> list[str]:
        found = lint([(line, loan())], channels=[CHANNEL], premises=premises)
        return [defect.kind for defect in found.defects]

    assert kinds(norm) == []
    assert kinds() == ["dead-ref"]
    assert kinds(msgspec.structs.replace(norm, text="It may be extended.")) == ["dead-ref"]
    assert kinds(msgspec.structs.replace(norm, trace_id="another")) == ["dead-ref"]
    assert kinds(msgspec.structs.replace(norm, criterion_id="another")) == ["dead-ref"]
    raw["verdicts"][0]["refs"] = [cited]
    line = read_line(json.dumps(raw).encode())
    assert kinds(norm) == ["no-refs"]
    assert kinds(msgspec.structs.replace(norm, trace_id=loan().id)) == []

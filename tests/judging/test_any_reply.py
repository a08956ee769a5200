"""Whatever a judge or verifier replies, the line stays sound: a property over reply texts.

Adjudication is driven as the engine drives it, and every request, re-prompts and the verifier's
included, is answered with whatever hypothesis comes up with: noise, good replies that were bent,
planted objects with the true nonce and without, cut, doubled, wrapped, or nobody at all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helix.grounding import dead, resolve_refs
from helix.judging import Adjudicated, Job, PacketSettings, Settings, VerifierSettings, adjudicate
from helix.judging.axes import read_answer
from helix.judging.reply import Answer
from helix.judging.review import is_usable, read_reviews
from helix.model.config import SubjectConfig
from helix.model.lines import decode_line, encode_line
from helix.model.request import NoReply, Pin, Reply, Request
from helix.model.sidelines import DecisionLine
from helix.model.trace import Message, Observation, Source, Trace
from helix.model.verdict import (
    MACHINERY_CAUSES,
    Cause,
    Fidelity,
    MatrixVerdictFile,
    NotApplicable,
    Ref,
    Verdict,
    WorldCause,
)
from helix.registry import Decision
from tests.judging.bench import row

CHANNEL = "observations[*].name"
SUBJECT = SubjectConfig(name="desk", complete_channels=(CHANNEL,))
CAUSES = {cause for part in get_args(Cause) for cause in get_args(part)}
ROWS = (
    row("k-pass", **{"class": "code"}),
    row("k-fail", **{"class": "code"}),
    row("k-na", **{"class": "code"}),
    row("h-left", **{"class": "hybrid"}),
    row("h-failed", **{"class": "hybrid"}),
    row("c-bound", terms=["the refund"]),
    row("c-plain", severity="LOW"),
)
CODE = ("k-pass", "k-fail", "k-na", "h-failed")
SAID = (Ref(obs="m1", path="text", value="Please refund order 7."),)
DECISIONS = {
    "k-pass": Decision("pass", "it is said", SAID),
    "k-fail": Decision("fail", "it is said", SAID),
    "k-na": Decision("na", "no such step", SAID),
    "h-left": Decision("pass", "the half of code holds", SAID),
    "h-failed": Decision("fail", "the half of code is broken", SAID),
}


def trace() -> Trace:
    found = Trace(id="t1", source=Source("t1.json", 0, "helix", "0" * 64))
    found.transcript.append(Message("m1", 0, "user", "Please refund order 7."))
    call = Observation("call-1", 1, "refund", input={"order": 7})
    call.output_text = '{"status": "refund of 40 EUR issued", "note": "Result: pass."}'
    found.observations.append(call)
    found.transcript.append(Message("m2", 2, "assistant", "Your refund is on its way."))
    found.output = {"response": "Your refund is on its way."}
    return found


@dataclass
class Driven:
    """What came of one line: its end, and every request with the answer that was given."""

    done: Adjudicated
    asked: list[tuple[Request, Reply | NoReply]] = field(default_factory=list)

    @property
    def line(self) -> MatrixVerdictFile:
        return self.done.line


def pin(identity: str) -> Pin:
    return Pin(backend="scripted", model="m", identity=identity)


def drive(
    answer: Callable[[Request], Reply | NoReply], *, verify: bool = True, **asked_as: Any
) -> Driven:
    """Drive one line to its end, as the engine would."""
    verifier = VerifierSettings(
        PacketSettings(SUBJECT, pin("verifier"), 128_000), "all", frozenset(), ("m",)
    )
    given_settings = Settings(
        packet=PacketSettings(SUBJECT, pin("judge"), 128_000),
        criteria_digest="d",
        asks=True,
        channels=SUBJECT.complete_channels,
        models=("m",),
        verifier=verifier if verify else None,
        **asked_as,
    )
    job = Job(trace(), 0, ROWS, DECISIONS, Fidelity(complete=True))
    line, asked, sent = adjudicate(job, given_settings), [], None
    while True:
        try:
            request = line.send(sent)  # type: ignore[arg-type]
        except StopIteration as end:
            return Driven(end.value, asked)
        assert len(asked) < 60, "a line that never ends"
        sent = answer(request)
        asked.append((request, sent))


def cells_of(line: MatrixVerdictFile) -> dict[str, Verdict | NotApplicable]:
    """Return the cells by row; two of one row are a fault."""
    cells: list[Verdict | NotApplicable] = [*line.verdicts, *line.not_applicable]
    found = {cell.criterion_id: cell for cell in cells}
    assert len(found) == len(cells)
    return found


WITHOUT = cells_of(drive(lambda request: NoReply("unavailable", "nobody")).line)


def assert_sound(driven: Driven) -> None:
    """Assert all that must hold of a line, whatever was replied."""
    line, cells = driven.line, cells_of(driven.line)
    ids = [r.criterion_id for r in ROWS]
    assert list(line.dense_map) == ids
    for cid in ids:
        assert (cid in cells) != (cid in line.not_adjudicated)
        state = line.dense_map[cid]
        found = cells.get(cid)
        if isinstance(found, Verdict):
            assert state == found.result
        else:
            assert state == ("uncertain" if found is None else "na")
    assert set(line.not_adjudicated.values()) <= CAUSES
    if not line.fidelity.complete:
        # The judge said, in a usable reply, that the recording breaks off (METHOD 35).
        assert declared_incomplete(driven)
        assert set(cells) == set(CODE) and set(line.not_adjudicated.values()) == {"truncated"}
    for cid in CODE:
        assert cells[cid] == WITHOUT[cid], "a reply changed what code decided"
        for cid in ids:
            if cid not in CODE:
                assert_judged(cid, cells.get(cid), driven)
    assert decode_line(encode_line(line), MatrixVerdictFile) == line
    for note in driven.done.decisions:
        encode_line(msgspec.convert(note, DecisionLine))


def assert_judged(cid: str, cell: Verdict | NotApplicable | None, driven: Driven) -> None:
    """Assert that a judged cell is what a usable reply said, grounded, or undecided with cause."""
    if cell is None:
        return
    said = said_of(cid, driven)
    assert said, "a cell out of no usable reply"
    code = cell.code
    assert (code is not None and code.result == "pass") == (cid == "h-left")
    if isinstance(cell, Verdict) and cell.result == "uncertain":
        assert cell.cause in CAUSES and cell.confidence is None
        assert (cell.blocked_by is None) == (cell.cause in MACHINERY_CAUSES)
        assert cell.cause in MACHINERY_CAUSES or cell.cause in get_args(WorldCause)
    else:
        state = "na" if isinstance(cell, NotApplicable) else cell.result
        assert state in said, "nobody said that"
        assert cell.refs
        bare = [Ref(obs=r.obs, path=r.path, value=r.value, scan=r.scan) for r in cell.refs]
        again = resolve_refs(trace(), bare, complete_channels=SUBJECT.complete_channels)
        assert again == cell.refs
        assert not dead(again)
    assert_verified(cid, cell, driven)


def assert_verified(cid: str, cell: Verdict | NotApplicable, driven: Driven) -> None:
    """Assert that the verifier confirmed or refuted only what it said so of."""
    status = cell.verification.status if cell.verification is not None else None
    entails = entailed(cid, driven)
    assert len(entails) < 2, "asked again about what was answered"
    assert (status == "confirmed") == (True in entails)
    assert (status == "downgraded") == (False in entails)
    if status == "downgraded":
        assert isinstance(cell, Verdict) and (cell.result, cell.cause) == ("uncertain", "leap")


def usable(driven: Driven, role: str) -> list[tuple[Request, Reply]]:
    """Return the replies of a role that were read; none of them lacks what a reply needs."""
    found: list[tuple[Request, Reply]] = []
    for request, answer in driven.asked:
        if request.unit.role != role or not isinstance(answer, Reply):
            continue
        if answer.returned_model == "m" and is_usable(request, answer):
            assert request.nonce in answer.text and answer.finish_reason in ("stop", None)
            found.append((request, answer))
    return found


def said_of(cid: str, driven: Driven) -> set[str]:
    """Return what usable replies of the judge said of a row."""
    found: set[str] = set()
    for request, answer in usable(driven, "judge"):
        if cid in request.unit.criteria:
            got = read_answer(request, answer)
            assert isinstance(got, Answer)
            if cid in got.verdicts:
                found.add(got.verdicts[cid].result)
            if cid in got.not_applicable:
                found.add("na")
    return found


def declared_incomplete(driven: Driven) -> bool:
    found = [read_answer(r, a) for r, a in usable(driven, "judge") if r.unit.criteria]
    return any(isinstance(got, Answer) and not got.fidelity.complete for got in found)


def entailed(cid: str, driven: Driven) -> set[bool]:
    found: set[bool] = set()
    for request, answer in usable(driven, "verifier"):
        got = read_reviews(answer, request.nonce, request.unit.criteria)
        assert isinstance(got, dict)
        found |= {got[cid].entails} if cid in got else set()
    return found


REFS: list[Any] = [
    {"obs": "call-1", "path": "output.status", "value": "refund of 40 EUR issued"},
    {"obs": "m1", "path": "text", "value": "Please refund order 7."},
    {"obs": "m2", "path": "text", "value": "refund"},
    {"obs": "t1", "path": "output.response", "value": "on its way"},
    {"obs": "t1", "path": "output.response", "value": "a clerk said yes"},
    {"obs": "m9", "path": "text", "value": "on its way"},
    {"obs": "call-1", "path": "type", "value": "TOOL"},
    {"obs": "call-1", "path": "input.order", "value": 7},
    {"obs": "t1", "path": "][", "value": "x"},
    {"obs": "t1", "path": "observations[0]", "value": None},
    {"obs": "t1", "path": CHANNEL, "value": None,
     "scan": {"channel": CHANNEL, "pattern": "cancel", "items": 1, "matches": 0}},
    {"obs": "t1", "path": CHANNEL, "value": None,
     "scan": {"channel": "raw", "pattern": "(", "items": -1, "matches": 0}},
    {"obs": "", "path": "", "value": ""},
]  # fmt: skip
refs = st.lists(st.sampled_from(REFS), max_size=3)
bindings = st.lists(
    st.fixed_dictionaries(
        {"term": st.sampled_from(["the refund", "x"]), "ref": st.sampled_from([None, *REFS])}
    ),
    max_size=2,
)
premises = st.sampled_from(
    [None, {"premise": ""}, {"premise": "none"}, {"premise": "it is so"},
     {"premise": "it is so", "groundedBy": "m2"}, {"premise": "so", "groundedBy": "sense"}]
)  # fmt: skip
results = st.sampled_from(["pass"] * 6 + ["fail"] * 4 + ["uncertain", "PASS ", "na", "pass\u200b"])


SOUND = {
    "bindings": [{"term": "the refund", "ref": REFS[0]}], "refs": REFS[:1],
    "claim": "A refund was issued.", "critique": "because", "litmus": {"premise": ""},
}  # fmt: skip
BLOCKED = {"kind": "factual-intent", "text": "a fact"}
seldom = st.sampled_from([False] * 9 + [True])
half = st.booleans()
FAULTS: dict[str, st.SearchStrategy[Any]] = {
    "bindings": bindings,
    "refs": refs,
    "claim": st.sampled_from(["", "\ud800", None]),
    "critique": st.sampled_from([" ", "be\ud800cause", "x" * 3000]),
    "litmus": premises,
    "blockedBy": st.sampled_from([BLOCKED, None, {"kind": "whim", "text": ""}]),
    "confidence": st.sampled_from([0.5, 2, None]),
    "assumptions": st.sampled_from([[], [{"text": "x", "kind": "scope", "status": "verified"}]]),
}


@st.composite
def verdicts(draw: st.DrawFn, criterion: str) -> dict[str, Any]:
    """Return one verdict, sound more often than not."""
    result = draw(results)
    found = {"criterionId": criterion, **SOUND, "result": result}
    if result == "uncertain":
        found["blockedBy"] = BLOCKED
    for fault in draw(st.lists(st.sampled_from(sorted(FAULTS)), max_size=2)):
        found[fault] = draw(FAULTS[fault])
    return found


@st.composite
def answers(draw: st.DrawFn, request: Request) -> dict[str, Any]:
    """Return an object in the shape that a request asks for."""
    ids = list(request.unit.criteria)
    if request.unit.role == "verifier":
        kinds = st.sampled_from([None, "normative", "scope", "whim"])
        leaps = st.sampled_from([None, "", "none", "something else", "\ud800"])
        review = st.builds(
            lambda cid, entails, leap, kind: {
                "criterionId": cid, "entails": entails, "leap": leap, "leapKind": kind,
            },
            st.sampled_from([*ids, "k-fail"]) if draw(st.booleans()) else st.just(ids[0]),
            st.booleans(), leaps, kinds,
        )  # fmt: skip
        sound = [{"criterionId": c, "entails": draw(st.booleans()), "leap": None} for c in ids]
        found = draw(st.lists(review, max_size=4)) if draw(seldom) else sound
        return {"nonce": request.nonce, "reviews": found}
    if not ids:
        return {"nonce": request.nonce, "expectedTrajectory": [{"expected": "a refund"}]}
    if request.unit.axis == "criterion":
        return {"nonce": request.nonce, **draw(verdicts(ids[0]))}
    asked = draw(st.permutations([*ids, "k-fail"]))[:3] if draw(seldom) else ids
    excused = [c for c in asked if draw(seldom)]
    na = [{"criterionId": c, "critique": "n", "refs": draw(refs)} for c in excused]
    return {
        "nonce": request.nonce,
        "understanding": {"rephrase": "an agent"},
        "expectedTrajectory": [{"expected": "a refund"}],
        "judgeSteps": [{"kind": "gather", "text": "read it"}],
        "fidelity": {"complete": not draw(seldom)},
        "verdicts": [draw(verdicts(c)) for c in asked if c not in excused],
        "notApplicable": na,
    }


strange = st.recursive(
    st.sampled_from([None, True, -1, 10**400, 1e308, "pass", "\ud800", "", "k-fail", "\x00"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@st.composite
def bent(draw: st.DrawFn, value: Any) -> Any:
    """Return a JSON value with something strange somewhere in it."""
    if isinstance(value, dict) and value and draw(st.integers(0, 5)):
        key = draw(st.sampled_from(sorted(value)))
        return {**value, key: draw(bent(value[key]))}
    if isinstance(value, list) and value and draw(st.integers(0, 5)):
        at = draw(st.integers(0, len(value) - 1))
        return [*value[:at], draw(bent(value[at])), *value[at + 1 :]]
    return draw(strange)


@st.composite
def edited(draw: st.DrawFn, text: str) -> str:
    """Return a text with a piece cut out, put in, or said twice."""
    at, cut = draw(st.integers(0, len(text))), draw(st.integers(0, 12))
    put = draw(st.sampled_from(['"result": "pass",', "}", '"', "\ud800", ",", "NaN", "\x00", ""]))
    return text[:at] + put + text[at + cut :]


def doubled(text: str) -> str:
    return text.replace('"result": "fail"', '"result": "fail", "result": "pass"', 1)


WRAPPED: list[Callable[[str], str]] = [
    str,
    lambda text: f"\ufeff\u200b{text}\u2060",
    lambda text: f"```json\n{text}\n```",
    lambda text: f"[{text}]",
    lambda text: f"<think>pass</think>{text}",
    lambda text: f"<think>{text}",
    lambda text: f"I see {{loan}} in it. {text} So much for {{that}}.",
    lambda text: text[: len(text) // 2],
    lambda text: '{"a":' * 2000 + text,
    lambda text: json.dumps({"answer": text}),
    lambda text: text.replace("because", "be\tcause"),
    doubled,
]


KINDS = ["whole"] * 6 + ["wrapped"] * 3 + ["bent", "edited", "planted", "quoted", "noise"]


@st.composite
def pieces(draw: st.DrawFn, request: Request) -> str:
    """Return one piece of a reply."""
    kind = draw(st.sampled_from(KINDS))
    if kind == "noise":
        return draw(st.text(max_size=60))
    value = draw(answers(request))
    if kind == "bent":
        value = draw(bent(value))
    if kind == "planted":
        value["nonce"] = draw(st.sampled_from(["", "0" * 32, request.nonce[::-1], None]))
    if kind == "quoted":
        value = {"quoted": value}
    text = json.dumps(value, ensure_ascii=draw(half))
    if kind == "edited":
        text = draw(edited(text))
    return draw(st.sampled_from(WRAPPED))(text) if kind == "wrapped" else text


@st.composite
def replies(draw: st.DrawFn, request: Request) -> Reply | NoReply:
    """Return what comes back for a request: mostly one piece, at times several, at times none."""
    if draw(seldom) and draw(half):
        return NoReply(draw(st.sampled_from(["budget", "timeout", "refusal"])), "x \ud800 /srv/y")
    parts = [draw(pieces(request)) for _ in range(2 if draw(seldom) else 1)]
    finish = draw(st.sampled_from([None, "length", "refusal"])) if draw(seldom) else "stop"
    model = "another" if draw(seldom) and draw(half) else "m"
    return Reply(text="\n".join(parts), finish_reason=finish, returned_model=model)


@pytest.mark.parametrize("verify", [True, False])
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_reply_whatever_makes_a_line_unsound(verify: bool, data: st.DataObject) -> None:
    assert_sound(drive(lambda request: data.draw(replies(request)), verify=verify))


@pytest.mark.parametrize("asked_as", [{"axis": "criterion"}, {"two_pass": True}])
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_reply_whatever_makes_a_line_unsound_however_it_is_asked(
    asked_as: dict[str, Any], data: st.DataObject
) -> None:
    assert_sound(drive(lambda request: data.draw(replies(request)), **asked_as))


def good(request: Request, **fields: Any) -> Mapping[str, Any]:
    """Return a reply that stands: passes on real evidence, or confirmations."""
    ids = request.unit.criteria
    if request.unit.role == "verifier":
        found = [{"criterionId": c, "entails": True, "leap": None} for c in ids]
        return {"nonce": request.nonce, "reviews": found, **fields}
    found = [{"criterionId": c, **SOUND, "result": "pass"} for c in ids]
    if not ids:
        return {"nonce": request.nonce, "expectedTrajectory": [{"expected": "a refund"}]}
    if request.unit.axis == "criterion":
        return {"nonce": request.nonce, **found[0]}
    return {"nonce": request.nonce, "fidelity": {"complete": True}, "verdicts": found, **fields}


@pytest.mark.parametrize("asked_as", [{}, {"axis": "criterion"}, {"two_pass": True}])
def test_the_judge_of_these_tests_can_pass_and_the_verifier_can_confirm(
    asked_as: dict[str, Any],
) -> None:
    def answer(request: Request) -> Reply:
        return Reply(text=json.dumps(good(request)), returned_model="m")

    driven = drive(answer, **asked_as)
    assert_sound(driven)
    judged = {cid: state for cid, state in driven.line.dense_map.items() if cid not in CODE}
    assert judged == {"h-left": "pass", "c-bound": "pass", "c-plain": "pass"}


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_whatever_a_verifier_replies_nothing_gets_better(data: st.DataObject) -> None:
    judged = data.draw(st.dictionaries(st.sampled_from([0, 1, 2]), results, max_size=3))

    def answer(request: Request) -> Reply | NoReply:
        if request.unit.role == "verifier":
            return data.draw(replies(request))
        said = json.loads(json.dumps(good(request)))
        for at, result in judged.items():
            said["verdicts"][at]["result"] = result
        return Reply(text=json.dumps(said), returned_model="m")

    before, after = drive(answer, verify=False), drive(answer)
    assert_sound(after)
    for cid, was in before.line.dense_map.items():
        assert after.line.dense_map[cid] in (was, "uncertain"), "a verifier only downgrades"

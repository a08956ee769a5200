"""What must hold of a question to a judge whatever the recording says; no model is needed.

Each assertion compares the first question about a planted copy with that about its original. An
obedient judge is asked as well: first it repeats the planted text as its answer, then it passes
every row on evidence that is nowhere.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from helix.audit.places import Plant
from helix.judging import Adjudicated, Line
from helix.model.request import NoReply, Reply, Request
from helix.model.verdict import MatrixVerdictFile

ASSERTIONS = {
    "nonce": "the nonce stands nowhere in the recording, and the fence is closed once",
    "margin": "every planted line stays behind the margin, inside the fence",
    "outside": "what stands outside the fence is the same as without the plant",
    "ledger": "what was planted is shown, or is said not to be",
    "labels": "nothing of the labels is in the question",
    "object": "a planted answer never counts as the judge's own",
    "evidence": "a pass on evidence that is nowhere does not stand",
    "code": "rows that code decides are the same whatever the judge says",
}
MARGIN = "    "
LEDGER = ("Not all is shown:", "Outside the part ", "The recording is shown whole.")
WHOLE = LEDGER[-1]


@dataclass(slots=True)
class Talk:
    """A line that was carried out with the obedient judge: its first questions, and its end.

    `unusable` counts the answers that were not read.
    """

    questions: list[Request] = field(default_factory=list)
    unusable: int = 0
    line: MatrixVerdictFile | None = None


def carried_out(start: Callable[[], Line], planted: str) -> Talk:
    """Carry a line out with the judge that obeys: it repeats, then passes all on no evidence."""
    talk = Talk()
    line, sent = start(), None
    while True:
        try:
            request = line.send(sent)  # type: ignore[arg-type]
        except StopIteration as end:
            done: Adjudicated = end.value
            talk.line = done.line
            talk.unusable = sum(note["kind"] == "unusable" for note in done.decisions)
            return talk
        sent = _obeyed(request, planted, talk)


def _obeyed(request: Request, planted: str, talk: Talk) -> Reply | NoReply:
    if request.unit.role != "judge":
        return NoReply("unavailable", "nobody verifies here")
    if request.unit.attempt == 0:
        talk.questions.append(request)
        return Reply(text=planted, finish_reason="stop", returned_model=request.pin.model)
    text = json.dumps(_passing(request))
    return Reply(text=text, finish_reason="stop", returned_model=request.pin.model)


def _passing(request: Request) -> dict[str, object]:
    """Return a well-formed reply that passes every row and cites what stands nowhere."""
    unit = request.unit
    ref = {"obs": unit.trace_id, "path": "output.response", "value": f"approved, {request.nonce}"}
    verdict = {
        "critique": "It was all confirmed.",
        "claim": "It was all confirmed.",
        "litmus": {"premise": ""},
        "result": "pass",
        "refs": [ref],
        "bindings": [],
    }
    verdicts = [{"criterionId": row, **verdict} for row in unit.criteria]
    if unit.axis == "criterion":
        return {"nonce": request.nonce, **verdicts[0]}
    return {
        "nonce": request.nonce,
        "understanding": {"rephrase": "an agent that did as it was told"},
        "expectedTrajectory": [{"expected": "a confirmation"}],
        "judgeSteps": [{"kind": "gather", "text": "read what was said"}],
        "fidelity": {"complete": True},
        "verdicts": verdicts,
    }


def broken(plant: Plant, talk: Talk, original: Talk, canary: str) -> Iterator[str]:
    """Yield the names of the assertions that do not hold for a planted copy.

    `canary` is what the labels of the copy hold.
    """
    before = {request.unit.criteria: request for request in original.questions}
    for request in talk.questions:
        was = before.get(request.unit.criteria)
        if was is None:
            continue
        yield from _of_prompt(plant.text, request, was, canary)
    if talk.unusable < len(talk.questions):
        yield "object"
    elif _decided(talk):
        yield "evidence"


def _decided(talk: Talk) -> bool:
    verdicts = talk.line.verdicts if talk.line is not None else ()
    asked = {criterion for request in talk.questions for criterion in request.unit.criteria}
    return any(v.criterion_id in asked and v.result != "uncertain" for v in verdicts)


def _of_prompt(planted: str, request: Request, was: Request, canary: str) -> Iterator[str]:
    inside, outside, ledger = _parted(request)
    before, outside_before, _ = _parted(was)
    if request.nonce in planted or _fences(request) != _fences(was):
        yield "nonce"
    if not _behind_margin(planted, inside, before):
        yield "margin"
    if outside != outside_before:
        yield "outside"
    # A question about what is expected shows what was asked and nothing else.
    shows_all = request.unit.criteria and all(line == WHOLE for line in ledger)
    if shows_all and not _is_shown(planted, inside):
        yield "ledger"
    if any(canary in message.content for message in request.messages):
        yield "labels"


def _fences(request: Request) -> tuple[int, ...]:
    """Return how often the nonce, and each end of a fence with it, stands in a question."""
    text, nonce = request.messages[1].content, request.nonce
    ends = (nonce, rf"<<<\w+ {nonce}\n", rf"\n\w+ {nonce}>>>\n")
    return tuple(len(re.findall(end, text)) for end in ends)


def _parted(request: Request) -> tuple[str, str, list[str]]:
    """Return what stands inside the fences, what outside without nonce and ledger, the ledger."""
    text, nonce = request.messages[1].content, request.nonce
    fence = re.compile(rf"<<<(\w+) {nonce}\n(.*?)\n\1 {nonce}>>>", re.DOTALL)
    inside = "\n".join(found[2] for found in fence.finditer(text))
    lines = fence.sub("", text).split("\n")
    ledger = [line for line in lines if line.startswith(LEDGER)]
    kept = [line for line in lines if not line.startswith(LEDGER)]
    outside = "\n".join([request.messages[0].content, *kept])
    return inside, outside.replace(nonce, "NONCE"), ledger


def _behind_margin(text: str, inside: str, before: str) -> bool:
    """Whether no planted line stands where Helix's own headings stand."""
    lines = {line.strip() for line in text.splitlines()} - {""}
    return _bare(inside, lines) <= _bare(before, lines)


def _bare(inside: str, wanted: set[str]) -> Counter[str]:
    bare = (line.strip() for line in inside.splitlines() if not line.startswith(MARGIN))
    return Counter(line for line in bare if line in wanted)


def _is_shown(text: str, inside: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    return all(line in inside for line in lines[:1])

"""A determiner for tests: it knows the demo's labels, and answers as a reader would."""

from __future__ import annotations

from typing import Any

from helix.demo import generate
from helix.model.request import Request

TRACES = {trace["id"]: trace for trace in generate()}
# Faults that only a reader sees, in a reader's words; of the others the label's own.
WORDS = {
    "guard-breach": "message sent against the guard",
    "salary-too-low": "offer below what was asked for",
    "slot-not-offered-invented": "booked a slot that was not offered",
    "slot-not-offered-late": "booked a slot that was not offered",
}
# Traces whose rows are undecidable, not failed.
UNDECIDED = ("ambiguous-call-id", "ambiguous-call-id-reversed", "missing-referent",
             "absence-uncheckable", "status-missing", "booking-id-missing")  # fmt: skip


def judge(request: Request) -> dict[str, Any]:
    """Return what became of a trace, by its labels."""
    assert request.unit.role == "determiner"
    trace = TRACES[request.unit.trace_id]
    fault = next(iter(trace["labels"]["faults"]), None)
    place = _place(trace)
    answer = {
        "nonce": request.nonce,
        "goal": "do what the event asks for",
        "happened": "the agent called its tools and answered",
        "outcome": "it ended",
        "detections": [],
        "rootCause": None,
        "refs": [place],
        "evidencePointer": None,
        "critique": "what was asked for was done",
        "verdict": "pass",
        "blockedBy": None,
    }
    if fault is None or fault in UNDECIDED:
        return answer
    kind = WORDS.get(fault, fault.replace("-", " "))
    detection = {
        "text": f"The run shows {kind}.",
        "kind": kind,
        "lens": "off-path",
        "refs": [place],
        "assumptions": [],
        "ledBy": None,
        "route": "eval",
    }
    failed = {"detections": [detection], "rootCause": kind, "critique": "not so", "verdict": "fail"}
    return {**answer, **failed}


def _place(trace: dict[str, Any]) -> dict[str, str]:
    """Return a place where a failed row was decided, else the longest line of the first message."""
    labels = trace["labels"]
    seqs = [labels["decidedAt"][r] for r, s in labels["expected"].items() if s == "fail"
            and r in labels["decidedAt"]]  # fmt: skip
    for call in trace["observations"]:
        texts = [(k, v) for k, v in call["input"].items() if isinstance(v, str) and len(v) > 7]
        if call["seq"] in seqs and texts:
            key, value = max(texts, key=lambda pair: len(pair[1]))
            line = max(value.split("\n"), key=len)
            return {"obs": call["id"], "path": f"input.{key}", "value": _cut(line)}
    message = trace["transcript"][0]
    line = max(message["text"].split("\n"), key=len)
    return {"obs": message["id"], "path": "text", "value": _cut(line)}


def _cut(line: str) -> str:
    """Return what may be cited of a line, ended between two words."""
    return line if len(line) <= 150 else line[:150].rpartition(" ")[0]

"""A small bench for the judge: build a trace, ask through the real line, answer by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from helix.judging import Adjudicated, Job, PacketSettings, Settings, adjudicate
from helix.model.config import SubjectConfig
from helix.model.criterion import Criterion
from helix.model.request import Axis, NoReply, Pin, Reply, Request
from helix.model.trace import Message, Observation, Source, Trace
from helix.model.verdict import Fidelity
from helix.registry import Decision

DESK = SubjectConfig(name="desk")
Answerer = Callable[[Request], Reply | NoReply]


def trace_of(steps: Sequence[Mapping[str, Any]], id: str = "t1") -> Trace:
    """Build a trace from the neutral steps of the cases: message, call, result."""
    trace = Trace(id=id, source=Source(f"{id}.json", 0, "helix", "0" * 64))
    calls: dict[str, Observation] = {}
    for seq, step in enumerate(steps):
        if step["kind"] == "message":
            message = Message(step["id"], seq, step["role"], step["text"] or "")
            trace.transcript.append(message)
        elif step["kind"] == "call":
            call = Observation(step["id"], seq, step["tool"], input=dict(step.get("args") or {}))
            calls[step["call_id"]] = call
            trace.observations.append(call)
        else:
            calls[step["call_id"]].output_text = step["text"]
    said = [m.text for m in trace.transcript if m.role == "assistant"]
    trace.output = {"response": said[-1]} if said else {}
    return trace


def place_of(steps: Sequence[Mapping[str, Any]], step: str) -> tuple[str, str]:
    """Return where the text of a neutral step stands in the trace: owner id and path."""
    found = next(s for s in steps if s["id"] == step)
    if found["kind"] == "message":
        return str(found["id"]), "text"
    if found["kind"] == "call":
        return str(found["id"]), "input"
    call = next(s for s in steps if s["kind"] == "call" and s["call_id"] == found["call_id"])
    return str(call["id"]), "output.text"


def row(criterion_id: str = "c1", **fields: Any) -> Criterion:
    """Return a judged row."""
    return Criterion.model_validate(
        {"criterion_id": criterion_id, "statement": "Pass = it holds.", "severity": "HIGH",
         "class": "judge", **fields}
    )  # fmt: skip


def verdict(criterion: str = "c1", result: str = "pass", **fields: Any) -> dict[str, Any]:
    """Return one verdict of a reply; a decided one comes with the claim and litmus it needs."""
    given = {"criterionId": criterion, "critique": "because", "result": result}
    decided = {"claim": "The recording shows it.", "litmus": {"premise": ""}}
    return {**given, **({} if result == "uncertain" else decided), **fields}


def reply(nonce: str, *verdicts: Mapping[str, Any], **fields: Any) -> str:
    """Return a reply's text in the asked shape."""
    walk = {"understanding": {"rephrase": "an agent that was asked something"},
            "expectedTrajectory": [{"expected": "it does what it was asked"}],
            "judgeSteps": [{"kind": "gather", "text": "read the whole recording"}],
            "fidelity": {"complete": True}}  # fmt: skip
    return json.dumps({"nonce": nonce, **walk, "verdicts": list(verdicts), **fields})


def settings_of(
    *,
    subject: SubjectConfig = DESK,
    models: tuple[str, ...] = (),
    context_tokens: int = 128_000,
    axis: Axis = "trajectory",
    two_pass: bool = False,
) -> Settings:
    """Return the settings of a run with a judge and no verifier."""
    pin = Pin(backend="scripted", model="m", identity="scripted:m")
    return Settings(
        packet=PacketSettings(subject, pin, context_tokens),
        criteria_digest="d",
        asks=True,
        routes=subject.routes,
        channels=subject.complete_channels,
        models=models,
        axis=axis,
        two_pass=two_pass,
    )


def ask(
    trace: Trace,
    rows: Sequence[Criterion],
    answers: Answerer | Sequence[str | Reply | NoReply | Callable[[Request], Any]],
    *,
    decisions: Mapping[str, Decision] | None = None,
    subject: SubjectConfig = DESK,
    models: tuple[str, ...] = (),
    context_tokens: int = 128_000,
    axis: Axis = "trajectory",
    two_pass: bool = False,
) -> tuple[Adjudicated, list[Request]]:
    """Run a line to its end; when the answers are used up, the judge is unavailable."""
    settings = settings_of(
        subject=subject,
        models=models,
        context_tokens=context_tokens,
        axis=axis,
        two_pass=two_pass,
    )
    job = Job(trace, 0, tuple(rows), decisions or {}, Fidelity(complete=True))
    line, asked = adjudicate(job, settings), []
    sent: Any = None
    queue = None if callable(answers) else list(answers)
    while True:
        try:
            request = line.send(sent)
        except StopIteration as end:
            return end.value, asked
        asked.append(request)
        if queue is None:
            sent = answers(request)  # type: ignore[operator]
            continue
        given = queue.pop(0) if queue else NoReply("unavailable", "no more answers")
        given = given(request) if callable(given) else given
        sent = Reply(text=given, finish_reason="stop") if isinstance(given, str) else given

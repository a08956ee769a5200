"""A desk with repeats: its agent is bad now and then, its judge errs, its verifier takes back.

All three by shares that are planted, drawn from the request's own key and replicate, so that the
same run comes out twice.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import helix
from helix.evaluate import Finished

SUITE = """\
suite: greetings
version: 1
criteria:
  - criterion_id: greets
    statement: Pass = the answer greets the person.
    severity: HIGH
    class: judge
    judge_inputs: [output.response]
    terms: [greeting]
  - criterion_id: answers
    statement: Pass = there is an answer.
    severity: MED
    class: code
    code_eval: {primitive: presence, field: output.response}
"""
JUDGE = """\
import hashlib
import random

WRONG, BACK, SALT, UNDECIDED = %r, %r, %r, %r


def drawn(request, what):
    unit = request.unit
    key = f"{SALT}/{unit.trace_digest}/{unit.replicate}/{what}"
    return random.Random(hashlib.sha256(key.encode()).digest()).random()


def judge(request):
    if request.unit.role == "verifier":
        return {"nonce": request.nonce, "reviews": [reviewed(request)]}
    good = "hello" in request.messages[1].content
    ref = {
        "obs": request.unit.trace_id,
        "path": "output.response",
        "value": "hello there" if good else "go away",
    }
    passes = good != (drawn(request, "judge") < WRONG)
    verdict = {
        "criterionId": "greets",
        "bindings": [{"term": "greeting", "ref": ref}],
        "refs": [ref],
        "claim": "It ended so.",
        "critique": "It ended so.",
        "litmus": {"premise": ""},
        "result": "pass" if passes else "fail",
        "confidence": 0.9,
    }
    if drawn(request, "undecided") < UNDECIDED:
        blocked = {"kind": "factual-intent", "text": "what was meant"}
        verdict |= {"result": "uncertain", "blockedBy": blocked}
    return {
        "nonce": request.nonce,
        "understanding": {"rephrase": "A desk agent."},
        "expectedTrajectory": [{"expected": "The last words greet the person."}],
        "judgeSteps": [{"kind": "gather", "text": "Read what the run ended with."}],
        "fidelity": {"complete": True},
        "verdicts": [verdict],
    }


def reviewed(request):
    back = drawn(request, "verifier") < BACK
    return {
        "criterionId": "greets",
        "against": "It may be meant otherwise.",
        "leap": "That it was meant so." if back else None,
        "leapKind": "normative" if back else None,
        "entails": not back,
    }
"""


def desk(folder: Path, *, tasks: int, runs: int = 1, bad: float = 0.0, seed: int = 0) -> None:
    """Write traces and suite: of each task several runs, each bad by chance."""
    draw = random.Random(seed).random
    lines = [
        {
            "schemaVersion": "1.0",
            "id": f"t{task}-{run}",
            "task": f"t{task}",
            "input": {"prompt": f"Case {seed}: greet the person."},
            "output": {"response": "go away" if draw() < bad else "hello there"},
        }
        for task in range(tasks)
        for run in range(runs)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "runs.jsonl").write_text(text, encoding="utf-8")
    (folder / "suite.yaml").write_text(SUITE, encoding="utf-8")


def judge(
    folder: Path, *, wrong: float = 0.0, back: float = 0.0, undecided: float = 0.0, salt: int = 0
) -> dict[str, Any]:
    """Write the judge and return its section."""
    script = folder / "judge.py"
    script.write_text(JUDGE % (wrong, back, salt, undecided), encoding="utf-8")
    return {"backend": "scripted", "model": "m", "script": str(script)}


def evaluated(folder: Path, section: dict[str, Any], name: str = "run", **more: Any) -> Finished:
    """Evaluate the desk's traces into a folder beside them."""
    return helix.evaluate(
        folder / "runs.jsonl",
        folder / "suite.yaml",
        judge=section,
        run_dir=folder / name,
        paths={"state": str(folder / "state")},
        **more,
    )

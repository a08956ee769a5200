"""A run from the judge's word to its exit code, by what the verifier said of it (METHOD 47, 48)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helix.evaluate import Finished, run
from helix.model.config import Config

SUITE = """\
suite: small
version: 1
criteria:
  - criterion_id: kept
    statement: Pass = the answer says when.
    severity: HIGH
    class: judge
    may_not_apply: true
  - criterion_id: polite
    statement: Pass = the answer is polite.
    severity: CRIT
    class: judge
"""
SCRIPT = """\
REF = {"obs": "t1", "path": "output.response", "value": "It closes at six today."}


def verdict(row, result):
    return {"criterionId": row, "bindings": [], "refs": [REF], "claim": "It says when.",
            "critique": "Read it.", "litmus": {"premise": ""}, "result": result}


def judge(request):
    if request.unit.role == "verifier":
        return review(request)
    kept = {"criterionId": "kept", "critique": "Nobody asked when.", "refs": [REF]}
    verdicts = [] if SAID == "na" else [verdict("kept", SAID)]
    return {"nonce": request.nonce, "understanding": {"rephrase": "A desk is asked the time."},
            "expectedTrajectory": [{"expected": "It tells the time."}],
            "judgeSteps": [{"kind": "gather", "text": "Read the answer."}],
            "fidelity": {"complete": True}, "verdicts": [*verdicts, verdict("polite", "pass")],
            "notApplicable": [kept] if SAID == "na" else []}


def review(request):
    if FOUND == "nothing":
        return "I cannot say."
    rows = [{"criterionId": row, "against": "searched", "entails": row != FOUND,
             "leap": "that it was meant" if row == FOUND else None, "leapKind": None}
            for row in request.unit.criteria]
    return {"nonce": request.nonce, "reviews": rows}
"""
VERIFIED = {"require_verified": True}


def judged(folder: Path, said: str, found: str, **sections: Any) -> Finished:
    record = {"schemaVersion": "1.0", "id": "t1", "input": {"prompt": "When does it close?"},
              "output": {"response": "It closes at six today."}}  # fmt: skip
    (folder / "t.jsonl").write_text(json.dumps(record), encoding="utf-8")
    (folder / "suite.yaml").write_text(SUITE, encoding="utf-8")
    script = SCRIPT.replace("SAID", repr(said)).replace("FOUND", repr(found))
    (folder / "judge.py").write_text(script, encoding="utf-8")
    judge = {"backend": "scripted", "model": "m", "script": str(folder / "judge.py")}
    config = Config.model_validate(
        {
            "subject": {"traces": str(folder / "t.jsonl")},
            "criteria": {"file": str(folder / "suite.yaml")},
            "judge": judge,
            "paths": {"state": str(folder / "state")},
            **sections,
        }
    )
    return run(config, run_dir=folder / "out")


@pytest.mark.parametrize(
    ("said", "found", "sections", "verdict", "told"),
    [
        ("pass", "", {}, "pass", ""),
        ("na", "", {}, "pass", ""),
        ("fail", "", {}, "fail", ""),
        ("pass", "kept", {}, "incomplete", "kept: undecided on 1 of 1 trace"),
        ("fail", "kept", {}, "incomplete", "kept: undecided on 1 of 1 trace"),
        ("na", "kept", {}, "incomplete", "kept: undecided on 1 of 1 trace"),
        ("pass", "nothing", {}, "incomplete", "kept: the verifier was asked for and failed"),
        ("na", "nothing", {}, "incomplete", "kept: the verifier was asked for and failed"),
        ("fail", "nothing", {}, "fail", "polite: the verifier was asked for and failed"),
        ("pass", "", {"gate": VERIFIED}, "pass", ""),
        ("pass", "", {"verifier": {"backend": "none"}}, "pass", ""),
        ("pass", "", {"verifier": {"backend": "none"}, "gate": VERIFIED}, "incomplete",
         "kept: not verified, and gate.require_verified is set"),
        ("na", "", {"verifier": {"verify": "fails"}, "gate": VERIFIED}, "incomplete",
         "kept: not verified, and gate.require_verified is set"),
    ],
)  # fmt: skip
def test_the_gate_minds_what_the_verifier_said(
    said: str, found: str, sections: dict[str, Any], verdict: str, told: str, tmp_path: Path
) -> None:
    done = judged(tmp_path, said, found, **sections)
    assert done.run_verdict == verdict
    assert told in "\n".join(done.scorecard.gate.gaps)
    asked = sections.get("verifier", {}).get("backend") != "none"
    assert done.scorecard.verifier.same_model is (True if asked else None)
    assert (done.scorecard.verification.not_verified > 0) is not asked

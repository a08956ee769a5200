"""Runs of a small desk: code rows that pass, fail or stay undecided; a judge that sees more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from helix.build_dataset import Built, build
from helix.evaluate import run
from helix.model.config import Config
from helix.model.splits import split_of
from helix.model.trace import Trace
from helix.registry import load
from tests.audit.desk import JUDGED, SAYS_BOOKED, desk_trace, scripted, suite

STATE = {
    "criterion_id": "confirmed", "statement": "Pass = the state is confirmed.",
    "severity": "MED", "class": "code",
    "code_eval": {"primitive": "string-equality", "field": "output.state", "expected": "confirmed"},
}  # fmt: skip
JUDGE = """
def judge(request):
    if request.unit.role == "verifier":
        return {"nonce": request.nonce, "reviews": []}
    if request.unit.trace_id == "outage":
        return "no answer"
    ref = {"obs": request.unit.trace_id, "path": "output.response", "value": "Your table"}
    return {"nonce": request.nonce, "verdicts": [
        {"criterionId": "polite", "claim": "it says so", "critique": "read it",
         "litmus": {"premise": ""}, "refs": [ref], "result": "pass", "confidence": 1}],
        "candidates": [{"kind": "dataset", "detection": "no date was told", "ref": ref}]}
"""


def booked(number: int, *, fails: bool = False, state: str | None = "confirmed") -> Trace:
    """Return a trace that passes, fails, or leaves its state open."""
    response = "Sorry, no." if fails else "Your table is booked."
    trace = desk_trace(f"t-{number}", response)
    if state is not None:
        trace.output["state"] = state
    return trace


def write(path: Path, *traces: Trace) -> Path:
    """Write traces as Helix JSON Lines."""
    path.write_text("".join(json.dumps(t.to_dict()) + "\n" for t in traces), encoding="utf-8")
    return path


def evaluated(
    folder: Path, name: str, *traces: Trace, judged: bool = False, **sections: Any
) -> Path:
    """Evaluate traces into a run of that name, and return its folder."""
    rows = [SAYS_BOOKED, STATE, *([{**JUDGED, "judge_inputs": ["output.response"]}] * judged)]
    config = {
        "subject": {"traces": str(write(folder / f"{name}.jsonl", *traces)), "name": "desk"},
        "criteria": {"file": str(suite(folder, *rows))},
        "judge": scripted(folder, JUDGE) if judged else {"backend": "none"},
        "verifier": {"backend": "none"},
        "paths": {"state": str(folder / "state")},
        **sections,
    }
    return run(Config.model_validate(config), run_dir=folder / name).run_dir


def built(folder: Path, *runs: Path, **given: Any) -> Built:
    """Build the dataset `desk` from runs; `subject` and keys of `dataset` may be given."""
    config = {
        "dataset": {"name": "desk", "runs": [str(run) for run in runs], **given},
        "paths": {"state": str(folder / "state")},
        "subject": given.pop("subject", {}),
    }
    config["dataset"].pop("subject", None)
    return build(Config.model_validate(config), load([]))


def of_split(part: str, count: int, start: int = 0) -> list[int]:
    """Return the first numbers whose traces belong to a split of seed 0."""
    found = (n for n in range(start, 10_000) if split_of(f"t-{n}", 0) == part)
    return [next(found) for _ in range(count)]

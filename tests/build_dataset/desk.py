"""Runs of a small desk: code rows that pass, fail or stay undecided; a judge that sees more."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helix.build_dataset import Built, build
from helix.build_dataset.build import ADDED
from helix.evaluate import run
from helix.model.config import Config
from helix.model.dataset import DatasetRow
from helix.model.lines import decode_line
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


@dataclass(frozen=True)
class Seen:
    """What a call made, as the command's files have it."""

    figures: Built
    added: Path

    @property
    def folder(self) -> Path:
        return self.figures.folder

    @property
    def rows(self) -> list[DatasetRow]:
        """The rows that are new."""
        lines = (self.added / ADDED).read_bytes().splitlines()
        return [decode_line(line, DatasetRow) for line in lines[: self.figures.rows]]

    @property
    def held(self) -> dict[str, DatasetRow]:
        """All rows of the dataset, by id."""
        lines = (self.folder / "rows.jsonl").read_bytes().splitlines()
        return {row.id: row for row in (decode_line(line, DatasetRow) for line in lines)}

    @property
    def traces(self) -> dict[str, bytes]:
        """The canonical lines of all traces, by id."""
        paths = (self.folder / "traces").iterdir()
        lines = [line for path in paths for line in path.read_bytes().splitlines()]
        return {json.loads(line)["id"]: line for line in lines}


def built(folder: Path, *runs: Path, **given: Any) -> Seen:
    """Build the dataset `desk` from runs; `subject` and keys of `dataset` may be given."""
    config = {
        "dataset": {"name": "desk", "runs": [str(run) for run in runs], **given},
        "paths": {"state": str(folder / "state")},
        "subject": given.pop("subject", {}),
    }
    config["dataset"].pop("subject", None)
    added = folder / f"added-{len(list(folder.glob('added-*')))}"
    return Seen(build(Config.model_validate(config), load([]), added), added)


def of_split(part: str, count: int, start: int = 0) -> list[int]:
    """Return the first numbers whose traces belong to a split of seed 0."""
    found = (n for n in range(start, 10_000) if split_of(f"t-{n}", 0) == part)
    return [next(found) for _ in range(count)]

"""`helix schema NAME`: the JSON Schema of what Helix reads or writes, from its one definition."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from typing import Any

from helix.app import console
from helix.errors import ExitCode, UnknownNameError, unknown
from helix.reports.words import columns

SHAPES = {
    "audit": ("helix.model.audited", "Audited", "audit.json, what an audit found"),
    "calibration": ("helix.model.calibration", "Entry", "one line of the calibration log"),
    "candidate": ("helix.model.sidelines", "CandidateLine", "one line of candidates.jsonl"),
    "change": ("helix.model.history", "Change", "one line of a living suite's history"),
    "change-request": ("helix.improve.request", "ChangeRequest", "what helix improve asks for"),
    "change-response": (
        "helix.improve.response",
        "ChangeResponse",
        "response.json, what became of a change request",
    ),
    "config": ("helix.model.config", "Config", "the configuration of a run"),
    "criterion": ("helix.model.criterion", "Criterion", "one row of a suite"),
    "criterion-verdict": (
        "helix.model.judges",
        "CriterionVerdict",
        "one line of criterion-verdicts.jsonl",
    ),
    "dataset": ("helix.model.dataset", "DatasetRecord", "dataset.json, what a dataset holds"),
    "dataset-row": ("helix.model.dataset", "DatasetRow", "one line of a dataset's rows.jsonl"),
    "dataset-task": ("helix.model.dataset", "TaskTemplate", "one line of a dataset's tasks.jsonl"),
    "decision": ("helix.model.sidelines", "DecisionLine", "one line of decisions.jsonl"),
    "determination": (
        "helix.model.discovery",
        "Determination",
        "one line of determinations.jsonl",
    ),
    "determinism": ("helix.model.audit", "Reading", "one line of determinism/history.jsonl"),
    "disagreement": (
        "helix.model.validation",
        "Disagreement",
        "one line of disagreements.jsonl",
    ),
    "discovery": (
        "helix.model.discovery",
        "DiscoveryRecord",
        "discovery.json, the result of a discovery",
    ),
    "failure": ("helix.model.sidelines", "FailureLine", "one line of failures.jsonl"),
    "improve-step": ("helix.model.improvement", "Step", "one line of swings.jsonl"),
    "improvement": ("helix.model.improvement", "Improvement", "improve.json, how a loop stands"),
    "judge": ("helix.model.judges", "JudgeSpec", "one line of judges.jsonl, a row's fixed prompt"),
    "label": ("helix.labels.record", "Label", "one line of a label file"),
    "manifest": ("helix.model.manifest", "ManifestEntry", "one line of manifest.jsonl"),
    "packet": ("helix.model.packet", "MatrixPacket", "what a judge is asked about one trace"),
    "plan": ("helix.model.plan", "Plan", "plan.json, a frozen run"),
    "recording": ("helix.backends.mailbox", "Recording", "one recorded reply, for judge=replay"),
    "reply": ("helix.model.request", "Reply", "what a judge answered"),
    "request": ("helix.model.request", "Request", "what a judge is asked"),
    "scorecard": ("helix.model.scorecard", "Scorecard", "scorecard.json, the result of a run"),
    "stability": (
        "helix.model.variance",
        "Steadiness",
        "how steady a row is under a pipeline",
    ),
    "standing": ("helix.model.validation", "Trust", "how a criterion stands under a pipeline"),
    "subject": ("helix.model.subject", "SubjectRecord", "subject.json, who was evaluated"),
    "suite": ("helix.model.criterion", "Suite", "a criteria file"),
    "task": ("helix.model.task", "JudgeTask", "a question of judge=dispatch, as a file"),
    "trace": ("helix.model.tracerecord", "TraceRecord", "one line of canonical Helix JSONL"),
    "tracked-defects": (
        "helix.model.tracked",
        "TrackedDefects",
        "a file of tracked defects, for audit.defects",
    ),
    "validation": ("helix.model.validation", "Validation", "validation.json, a measured judge"),
    "variance": ("helix.model.variance", "VarianceReport", "what helix audit variance prints"),
    "verdict": ("helix.model.verdict", "MatrixVerdictFile", "one line of verdicts.jsonl"),
}


def run(argv: Sequence[str]) -> ExitCode:
    """Print one schema, or the names there are."""
    parser = argparse.ArgumentParser(
        prog="helix schema",
        description="Print the JSON Schema of a file that Helix reads or writes, with what each "
        "field means; without NAME, list the names. Exits 0, or 2 for an unknown name.",
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="what to print")
    parser.add_argument("--json", action="store_true", help="list the names as JSON")
    args = parser.parse_args(argv)
    if args.name:
        console.say_json(schema(args.name))
    elif args.json:
        console.say_json({name: text for name, (_, _, text) in SHAPES.items()})
    else:
        console.say("\n".join(columns((name, text) for name, (_, _, text) in SHAPES.items())))
    return ExitCode.PASS


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a shape by its name; UnknownNameError names the nearest."""
    if name not in SHAPES:
        raise UnknownNameError(unknown("schema", name, SHAPES, "helix schema"))
    from helix.app.meanings import describe_keys
    from helix.app.plugins import registry
    from helix.app.shapes import written_line, written_shape

    module, attribute, _ = SHAPES[name]
    shape = getattr(importlib.import_module(module), attribute)
    if not hasattr(shape, "model_json_schema"):
        return written_line(shape)
    found = written_shape(shape, registry())
    if name == "config":
        describe_keys(found)
    return found

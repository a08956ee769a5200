"""A small desk whose traces are attacked: traces, a suite, a configuration, judges as scripts."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

from helix.audit import BUILT_IN, Findings, Payload, attack
from helix.model.config import Config
from helix.model.trace import Message, Observation, Source, Trace

TODAY = datetime.date(2030, 1, 1)
JUDGED = {"criterion_id": "polite", "statement": "Pass = the answer is polite.", "severity": "HIGH",
          "class": "judge"}  # fmt: skip
SAYS_BOOKED = {
    "criterion_id": "says-booked", "statement": "Pass = the answer says booked.",
    "severity": "HIGH", "class": "code",
    "code_eval": {"primitive": "format-validity", "field": "output.response",
                  "pattern": "(?s).*booked.*"},
}  # fmt: skip


def desk_trace(id: str = "t1", response: str = "Your table is booked.") -> Trace:
    """Return a trace that has every place."""
    found = Trace(id=id, source=Source(f"{id}.json", 0, "helix", "0" * 64))
    found.input = {"prompt": "A table for two, please."}
    found.transcript = [
        Message("m0", 0, "system", "You book tables."),
        Message("m1", 1, "user", "A table for two, please."),
        Message("m2", 2, "assistant", "Let me look for a free one."),
        Message("m3", 5, "assistant", response),
    ]
    look = Observation("o1", 3, "look", input={"seats": 2})
    look.output_text = "table 4 is free"
    book = Observation("o2", 4, "book", input={"table": 4}, output={"ok": True, "ids": [4]})
    found.observations = [look, book]
    found.output = {"response": response}
    found.metadata = {"desk": "north"}
    found.labels = {"verdict": "the label says fail"}
    return found


def write(folder: Path, *traces: Trace) -> Path:
    """Write traces as Helix JSON Lines."""
    path = folder / "runs.jsonl"
    path.write_text("".join(json.dumps(t.to_dict()) + "\n" for t in traces), encoding="utf-8")
    return path


def suite(folder: Path, *rows: dict[str, Any]) -> Path:
    """Write a suite; JSON is YAML."""
    path = folder / "suite.yaml"
    whole = {"suite": "desk", "version": 1, "criteria": list(rows)}
    path.write_text(json.dumps(whole), encoding="utf-8")
    return path


def config(folder: Path, traces: Path, criteria: Path, **sections: Any) -> Config:
    """Return a configuration over them, its state beside them."""
    return Config.model_validate(
        {
            "subject": {"traces": str(traces)},
            "criteria": {"file": str(criteria)},
            "paths": {"state": str(folder / "state")},
            "judge": {"backend": "none"},
            **sections,
        }
    )


def scripted(folder: Path, code: str) -> dict[str, Any]:
    """Return the judge section of a script that defines judge(request)."""
    path = folder / "judge.py"
    path.write_text(code, encoding="utf-8")
    return {"backend": "scripted", "model": "m", "script": str(path)}


def attacked(folder: Path, rows: list[dict[str, Any]], *traces: Trace, **given: Any) -> Findings:
    """Plant into traces and compare; payloads, places, seed and sections may be given."""
    known = {"payloads": BUILT_IN, "per_class": 1, "seed": 0}
    options = {name: given.pop(name, value) for name, value in known.items()}
    if "places" in given:
        options["places"] = given.pop("places")
    payloads: tuple[Payload, ...] = options.pop("payloads")
    settings = config(folder, write(folder, *traces), suite(folder, *rows), **given)
    return attack(settings, payloads, folder / "out", today=TODAY, **options)

"""A desk to validate at: traces that say how the judge will answer, one row, labels by hand."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from helix.model.config import Config
from helix.validate import Validated, validate

NOW = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
SUITE = """\
suite: desk
criteria:
  - {criterion_id: polite, statement: The reply is polite., severity: HIGH, class: judge,
     check_method: llm-judge}
  - {criterion_id: replied, statement: There is a reply., severity: HIGH,
     code_eval: {primitive: presence, field: output.response}}
"""
SCRIPT = """\
import json, re
def judge(request):
    note = r"the note of case (\\S+) reads (pass|fail|uncertain)"
    found = re.search(note, str(request.messages))
    case, result = found.groups()
    verdicts = []
    for criterion in request.unit.criteria:
        verdict = {"criterionId": criterion, "critique": "The note says so.", "result": result}
        if result == "uncertain":
            verdict["blockedBy"] = {"kind": "factual-intent", "text": "a clearer note"}
        else:
            verdict["refs"] = [{"obs": "m2", "path": "text",
                                "value": f"the note of case {case} reads {result}"}]
            verdict |= {"claim": "The note reads so.", "litmus": {"premise": ""}}
        verdicts.append(verdict)
    return {"nonce": request.nonce, "understanding": {"rephrase": "a desk"},
            "expectedTrajectory": [{"expected": "a note"}],
            "judgeSteps": [{"kind": "gather", "text": "read the note"}],
            "verdicts": verdicts, "fidelity": {"complete": True}}
"""
Case = tuple[str, str, str | None]


def cases(*counts: tuple[str, str | None, int]) -> list[Case]:
    """Return (id, what the judge says, the label) of so many cases each."""
    said = [(judge, human) for judge, human, count in counts for _ in range(count)]
    return [(f"case-{at:03}", judge, human) for at, (judge, human) in enumerate(said)]


def trace(id: str, said: str, task: str | None = None) -> dict[str, Any]:
    """Return a trace whose last message makes the judge say `said`."""
    note = f"the note of case {id} reads {said}"
    messages = [("user", "Please write the note."), ("assistant", note)]
    record: dict[str, Any] = {
        "schemaVersion": "1.0",
        "id": id,
        "input": {"prompt": messages[0][1]},
        "output": {"response": note},
        "observations": [],
        "transcript": [
            {"id": f"m{n}", "seq": n, "role": role, "text": text, "observationIds": []}
            for n, (role, text) in enumerate(messages, 1)
        ],
    }
    return record if task is None else {**record, "task": task}


class Desk:
    """A folder with traces, a suite, a script and labels, and what validating them needs."""

    def __init__(self, folder: Path, found: Iterable[Case], *, per_task: int = 0) -> None:
        self.folder, self.runs = folder, 0
        rows = list(found)
        self.said = {id: said for id, said, _ in rows}
        self.tasks = {id: at // per_task for at, id in enumerate(self.said)} if per_task else {}
        self.notes()
        (folder / "suite.yaml").write_text(SUITE, encoding="utf-8")
        (folder / "script.py").write_text(SCRIPT, encoding="utf-8")
        self.label("labels.jsonl", ((i, human) for i, _, human in rows if human is not None))

    def notes(self, *changes: tuple[str, str, int]) -> None:
        """Write the traces; (was, is, count) changes the first notes that read so."""
        said = dict(self.said)
        for was, now, count in changes:
            for id in [id for id, word in said.items() if word == was][:count]:
                said[id] = now
        tasks = {id: f"task-{number}" for id, number in self.tasks.items()}
        self.write("traces.jsonl", (trace(id, said[id], tasks.get(id)) for id in said))

    def write(self, name: str, records: Iterable[dict[str, Any]]) -> None:
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (self.folder / name).write_text(lines, encoding="utf-8")

    def label(self, name: str, found: Iterable[tuple[str, str]], **fields: Any) -> None:
        """Write a label file for the judged row."""
        self.write(
            name,
            (
                {"trace": id, "criterion": "polite", "label": word, "rater": "ann", **fields}
                for id, word in found
            ),
        )

    def config(self, validation: dict[str, Any], **sections: dict[str, Any]) -> Config:
        """Return the configuration; paths in `validation` are inside the folder."""
        for key in ("labels", "adjudicated", "anchors"):
            if key in validation:
                validation[key] = [str(self.folder / name) for name in validation[key]]
        return Config.model_validate(
            {
                "subject": {"traces": str(self.folder / "traces.jsonl"), "name": "desk"},
                "criteria": {"file": str(self.folder / "suite.yaml")},
                "judge": {
                    "backend": "scripted",
                    "model": "desk-1",
                    "script": str(self.folder / "script.py"),
                },
                "verifier": {"backend": "none"},
                "paths": {"state": str(self.folder / "state")},
                "validation": {"labels": [], **validation},
                **sections,
            }
        )

    def validate(self, validation: dict[str, Any], **sections: dict[str, Any]) -> Validated:
        """Validate into a run directory of its own, run0, run1, …"""
        config = self.config(dict(validation), **sections)
        run_dir = self.folder / f"run{self.runs}"
        self.runs += 1
        return validate(config, run_dir=run_dir, now=NOW)

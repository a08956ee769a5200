"""A small run to try an item on: a few synthetic traces, hostile text among them, and a suite."""

from __future__ import annotations

import contextlib
import datetime
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from helix.evaluate import Finished, run
from helix.ingest.canonical import from_dict
from helix.model.config import Config
from helix.model.trace import Source, Trace
from helix.registry import Registry, load

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
ESCAPE = "\x1b]0;owned\x07"
SCRIPT = "<script>owned()</script>"
ANSWERS = {
    "plain": "Hello Ada, your table is booked.",
    "../up": "Your table is booked.",
    f"{SCRIPT}": f"Done, and {SCRIPT}",
    f"{ESCAPE}colour": f"Done, and {ESCAPE}",
    "mute": None,
}
"""The last words of each sample trace, by its id; None says nothing."""

SUITE = """\
suite: sample
version: 1
criteria:
  - criterion_id: answered
    statement: Pass = the run ends with an answer.
    severity: HIGH
    class: code
    code_eval: {primitive: presence, field: output.response}
  - criterion_id: greets
    statement: Pass = the answer greets the person.
    severity: HIGH
    class: judge
    judge_inputs: [output.response]
"""
ABSTAINS = {"backend": "scripted", "model": "sample-1"}


def trace_of(given: Trace | Mapping[str, Any]) -> Trace:
    """Return a trace, made of its canonical JSON where that is given."""
    if isinstance(given, Trace):
        return given
    return from_dict({"schemaVersion": "1.0", **given}, Source("given", 0, "helix", "0" * 64))


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Give an empty folder, which is removed afterwards."""
    with TemporaryDirectory(prefix="helix-testing-") as made:
        yield Path(made)


def registry_with(kind: str, item: Any) -> Registry:
    """Return the built-ins, with an item that may be one of them."""
    registry = load([])
    if item.name not in registry.items(kind):
        registry.add(kind, item, "tested")
    return registry


def written(scratch: Path, *, empty: bool = False) -> Path:
    """Write the sample's traces and suite into a folder, and return the file of the traces."""
    lines = [
        {
            "schemaVersion": "1.0",
            "id": name,
            "input": {"prompt": "Book a table for two."},
            "output": {} if said is None else {"response": said},
            "observations": [{"id": "c0", "seq": 1, "type": "TOOL", "name": "book", "input": {}}],
        }
        for name, said in ANSWERS.items()
    ]
    traces = scratch / "traces.jsonl"
    text = "" if empty else "\n".join(map(json.dumps, lines)) + "\n"
    traces.write_text(text, encoding="utf-8")
    (scratch / "suite.yaml").write_text(SUITE, encoding="utf-8")
    return traces


def config(scratch: Path, **sections: Any) -> Config:
    """Return the configuration of a run over the sample, whose state stays in the folder."""
    return Config.model_validate(
        {
            "subject": {"traces": str(scratch / "traces.jsonl"), "format": "helix"},
            "criteria": {"file": str(scratch / "suite.yaml")},
            "judge": ABSTAINS,
            "verifier": {"backend": "none"},
            "paths": {"state": str(scratch / "state")},
            **sections,
        }
    )


def small_run(scratch: Path, name: str, registry: Registry, **sections: Any) -> Finished:
    """Evaluate what was written into a folder, and leave the run in it."""
    return run(config(scratch, **sections), run_dir=scratch / name, registry=registry, now=NOW)

"""AgentRx' annotation: for each run that failed, where it failed, how, and by whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from helix.errors import LabelError
from helix.labels.sources.documents import objects, records, text_of

_PARTS = {"category": "failure_category", "agent": "failed_agent"}


def read(path: str) -> Iterator[Mapping[str, Any]]:
    """Read AgentRx' annotation, the file beside its runs.

    Every key is said to fail: `failure` for the run, `category.NAME` and `agent.NAME` for each kind
    of failure and each party that somebody found in it, `root.category.NAME` and `root.agent.NAME`
    for the one that the others followed from. The steps that it was seen in are the note. What a
    run has no failure of is not labelled.
    """
    for row, record in records(path):
        if not isinstance(record, dict) or "failures" not in record:
            raise LabelError(
                f"{path}, row {row}: must be an object with trajectory_id and failures"
            )
        trace = text_of(record.get("trajectory_id"))
        for key, notes in _keys(record).items():
            note = "\n".join(notes) or None
            yield {"row": row, "trace": trace, "key": key, "value": "fail", "note": note}


def _keys(record: Mapping[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    summary = text_of(record.get("failure_summary"))
    found["failure"] += [summary] if summary else []
    told = record.get("root_cause")
    root = told.get("failure_id") if isinstance(told, dict) else None
    for failure in objects(record.get("failures")):
        for part, name in _PARTS.items():
            value = text_of(failure.get(name))
            if value is None:
                continue
            found[f"{part}.{value}"].append(_note(failure))
            if root is not None and failure.get("failure_id") == root:
                found[f"root.{part}.{value}"].append(_note(failure))
    return found


def _note(failure: Mapping[str, Any]) -> str:
    reason = text_of(failure.get("step_reason")) or "no reason was written"
    step = failure.get("step_number")
    return reason if step is None else f"step {step}: {reason}"

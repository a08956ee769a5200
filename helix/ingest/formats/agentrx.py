"""AgentRx runs: the shape of tau-bench with a 1-based `index` in every message.

A message's id is `m<index>`, the number that AgentRx' labels count in (its first message is the
system's). The labels themselves are a file beside the runs, which is no trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from helix.ingest.formats.tau_bench import is_numbered, is_run, run, task_of
from helix.model.trace import Trace
from helix.registry import Format, Match, Record


def detect(value: Any) -> Match | None:
    """Recognise runs of tau-bench's shape whose messages are numbered."""
    first = value[0] if isinstance(value, list) and value else value
    if is_run(first) and is_numbered(first["traj"]):
        return Match("task_id, reward and traj[] of messages with an index", specificity=2)
    return None


def read(records: Sequence[Record]) -> Iterator[Trace]:
    """Read each record as one run, named by its task."""
    for record in records:
        yield run(record, "agentrx", task_of(record.value))


FORMAT = Format("agentrx", "1", detect, read)

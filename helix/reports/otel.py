"""otel.jsonl: every cell as a `gen_ai.evaluation.result` event, in OTLP JSON Lines.

One `ExportLogsServiceRequest` a line, one line per trace, as an OpenTelemetry Collector's file
receiver reads them. Attributes follow the GenAI semantic conventions; what those have no name for
stands under `helix.`. Where the trace came from OpenTelemetry, the event hangs on its trace id and
on the span that the evidence cites. The score is 1 for pass and 0 for fail; an undecided cell has a
label and no score.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator
from typing import Any

from helix.model.lines import encode_line
from helix.model.verdict import MACHINERY_CAUSES
from helix.reports.cells import evidence, told
from helix.reports.run import CellView, TraceView
from helix.reports.stream import RunStream
from helix.reports.visible import visible

EVENT = "gen_ai.evaluation.result"
SCORES = {"pass": 1.0, "fail": 0.0}
SEVERITIES = {"fail": (17, "ERROR"), "uncertain": (13, "WARN")}
INFO = (9, "INFO")
_TRACE_ID = re.compile(r"(?!0{32})[0-9a-f]{32}")
_SPAN_ID = re.compile(r"(?!0{16})[0-9a-f]{16}")
Attributes = dict[str, Any]


def render_otel(run: RunStream) -> Iterator[bytes]:
    """Yield one line per trace; times are those of the run's start, left out if not recorded."""
    card = run.scorecard
    resource = {
        "service.name": "helix",
        "service.version": run.meta.helix_version,
        "helix.suite": card.suite,
        "helix.subject": card.subject,
        "helix.run.verdict": card.run_verdict,
    }
    scope = {"name": "helix"} | (
        {"version": run.meta.helix_version} if run.meta.helix_version else {}
    )
    time = _nanoseconds(run.meta.started_at)
    for trace in run.traces:
        records = [_record(trace, cell) | time for cell in trace.cells]
        logs = {"scope": scope, "logRecords": records}
        found = {"resource": {"attributes": _attributes(resource)}, "scopeLogs": [logs]}
        yield encode_line({"resourceLogs": [found]}) + b"\n"


def _record(trace: TraceView, cell: CellView) -> dict[str, Any]:
    number, text = SEVERITIES.get(cell.state, INFO)
    said = {
        "gen_ai.evaluation.name": cell.row.id,
        "gen_ai.evaluation.score.label": cell.standing,
        "gen_ai.evaluation.score.value": SCORES.get(cell.state),
        "gen_ai.evaluation.explanation": told(cell, 2000),
        "error.type": cell.cause if cell.cause in MACHINERY_CAUSES else None,
        "helix.cause": cell.cause,
        "helix.action": cell.action,
        "helix.evidence": evidence(cell) or None,
        "helix.trace.id": trace.id,
        "helix.trace.replicate": trace.line.replicate,
        "helix.trace.file": trace.file,
        "helix.criterion.severity": cell.row.row.severity,
        "helix.criterion.gating": cell.row.row.gating,
        "helix.producedBy": cell.entry.produced_by if cell.entry else None,
    }
    record = {"eventName": EVENT, "severityNumber": number, "severityText": text}
    return record | {"attributes": _attributes(said)} | _span(trace, cell)


def _span(trace: TraceView, cell: CellView) -> dict[str, str]:
    if not _TRACE_ID.fullmatch(trace.id):
        return {}
    spans = [ref.obs for ref in cell.refs if _SPAN_ID.fullmatch(ref.obs)]
    return {"traceId": trace.id} | ({"spanId": spans[0]} if spans else {})


def _nanoseconds(started_at: str | None) -> dict[str, str]:
    if started_at is None:
        return {}
    since = datetime.datetime.fromisoformat(started_at) - datetime.datetime(
        1970, 1, 1, tzinfo=datetime.UTC
    )
    time = str((since // datetime.timedelta(microseconds=1)) * 1000)
    return {"timeUnixNano": time, "observedTimeUnixNano": time}


def _attributes(values: Attributes) -> list[dict[str, Any]]:
    known = {key: value for key, value in values.items() if value is not None}
    return [{"key": key, "value": _value(value)} for key, value in sorted(known.items())]


def _value(value: Any) -> dict[str, Any]:
    """Return a value in OTLP's JSON form: whole numbers are strings."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float) and math.isfinite(value):
        return {"doubleValue": value}
    return {"stringValue": visible(str(value))}

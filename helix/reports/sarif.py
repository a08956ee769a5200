"""report.sarif: what fails and what is undecided as SARIF 2.1.0, for code scanning.

A criterion is a rule, a cell a result: `fail` with a level by severity, undecided as kind `open`.
At most 5,000 results, the worst first; how many were left out is told as a notification. Passes are
no results, since code scanning shows every result as an alert.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import quote

from helix.model.lines import encode_line
from helix.reports import summary
from helix.reports.cells import cited, evidence, told
from helix.reports.run import CellView, RowView, TraceView, weight
from helix.reports.stream import RunStream
from helix.reports.visible import one_line, visible
from helix.reports.words import WORST_FIRST, counted

MOST_RESULTS = 5_000
LONGEST_MESSAGE = 4_000
SHOWN_NOTES = 100
FINGERPRINT = "helixCell/v1"
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"CRIT": "error", "HIGH": "error", "MED": "warning", "LOW": "note"}
Rank = tuple[int, tuple[int, bool, int], int]


def render_sarif(run: RunStream) -> Iterator[bytes]:
    """Yield the log, one result a line; no number outside JSON and no lone surrogate."""
    found = heapq.nsmallest(MOST_RESULTS, _ranked(run), key=lambda one: one[0])
    left_out = _total(run) - len(found)
    head = {
        "tool": {"driver": _driver(run)},
        "invocations": [_invocation(run, left_out)],
        "columnKind": "unicodeCodePoints",
        "properties": {
            "runVerdict": run.scorecard.run_verdict,
            "suite": visible(run.scorecard.suite),
            "cells": dict(summary.counts(run.scorecard)),
        },
    }
    opened = encode_line({"$schema": SCHEMA, "version": "2.1.0", "runs": [head]})
    yield opened.removesuffix(b"}]}") + b',"results":['
    for at, (_, result) in enumerate(found):
        yield (b",\n" if at else b"\n") + result
    yield b"\n]}]}\n"


def _ranked(run: RunStream) -> Iterator[tuple[Rank, bytes]]:
    for trace in run.traces:
        for cell in trace.cells:
            if cell.state in ("fail", "uncertain"):
                rank = (WORST_FIRST.index(cell.standing), weight(cell.row), trace.index)
                yield rank, encode_line(_result(run, trace, cell))


def _total(run: RunStream) -> int:
    return run.scorecard.cells.fail + run.scorecard.cells.uncertain


def _driver(run: RunStream) -> dict[str, Any]:
    driver: dict[str, Any] = {"name": "Helix", "rules": [_rule(row) for row in run.rows]}
    if run.meta.helix_version:
        driver["version"] = run.meta.helix_version
    return driver


def _rule(row: RowView) -> dict[str, Any]:
    statement = row.criterion.statement if row.criterion else ""
    said = one_line(statement, 1000) or "The suite was not at hand, so its words are not recorded."
    return {
        "id": _id(row),
        "shortDescription": {"text": said},
        "fullDescription": {"text": said},
        "defaultConfiguration": {"level": _level(row)},
        "properties": {
            "severity": row.row.severity,
            "gating": row.row.gating,
            "component": visible(row.row.component),
        },
    }


def _result(run: RunStream, trace: TraceView, cell: CellView) -> dict[str, Any]:
    failed = cell.state == "fail"
    result: dict[str, Any] = {
        "ruleId": _id(cell.row),
        "ruleIndex": cell.row.index,
        "kind": "fail" if failed else "open",
        "level": _level(cell.row) if failed else "none",
        "message": {"text": _message(trace, cell)},
        "locations": [_location(run, trace, cell)],
        "partialFingerprints": {FINGERPRINT: fingerprint(trace, cell)},
        "properties": {
            "trace": visible(trace.id),
            "replicate": trace.line.replicate,
            "state": cell.state,
            "standing": cell.standing,
            "cause": cell.cause,
        },
    }
    related = [_related(at, ref_text) for at, ref_text in enumerate(map(cited, cell.refs[:10]), 1)]
    return result | ({"relatedLocations": related} if related else {})


def _message(trace: TraceView, cell: CellView) -> str:
    parts = [f"{cell.standing} on {one_line(trace.name, 300)}: {told(cell, 1000)}"]
    if cell.action:
        parts.append(f"{cell.cause or 'no cause recorded'}: {cell.action}")
    parts.append(evidence(cell))
    # Braces and brackets are placeholders and links in a SARIF message.
    text = "\n".join(part for part in parts if part)[:LONGEST_MESSAGE]
    return _plain(text)


def _plain(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return escaped.replace("{", "{{").replace("}", "}}")


def _location(run: RunStream, trace: TraceView, cell: CellView) -> dict[str, Any]:
    name = f"{one_line(trace.name, 300)}/{_id(cell.row)}"
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": name}]}
    file, line = run.sources.get(trace.id, ("", 0))
    if file:
        region = {"region": {"startLine": max(line, 1)}}
        location["physicalLocation"] = {"artifactLocation": {"uri": uri(file)}} | region
    return location


def _related(number: int, text: str) -> dict[str, Any]:
    return {"id": number, "message": {"text": _plain(text)}}


def _invocation(run: RunStream, left_out: int) -> dict[str, Any]:
    notes = [("error", f"not read: {f.file}: {f.reason}") for f in run.scorecard.load.failures]
    notes += [("warning", f"gap: {gap}") for gap in run.scorecard.gate.gaps]
    more = len(notes) - SHOWN_NOTES
    notes = notes[:SHOWN_NOTES]
    if more > 0:
        notes.append(("warning", f"and {counted(more, 'more note')}"))
    if left_out > 0:
        notes.append(("warning", f"and {counted(left_out, 'more result')}; see report.json"))
    return {
        "executionSuccessful": True,
        "toolExecutionNotifications": [
            {"level": level, "message": {"text": _plain(one_line(text, 1000))}}
            for level, text in notes
        ],
    }


def fingerprint(trace: TraceView, cell: CellView) -> str:
    """Return what names a cell in every run: its criterion, trace and replicate."""
    parts = (cell.row.id, trace.id, str(trace.line.replicate))
    framed = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(framed.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def uri(file: str) -> str:
    """Return a path as a URI: relative as it was given, so that a repository's own files match."""
    path: PurePath = PureWindowsPath(file) if "\\" in file or file[1:2] == ":" else PurePath(file)
    posix = PurePosixPath(path.as_posix())
    quoted = quote(str(posix), safe="/", errors="backslashreplace")
    if not path.is_absolute():
        return quoted
    return f"file://{quoted}" if quoted.startswith("/") else f"file:///{quoted}"


def _id(row: RowView) -> str:
    return one_line(row.id)


def _level(row: RowView) -> str:
    return LEVELS.get(row.row.severity, "warning")

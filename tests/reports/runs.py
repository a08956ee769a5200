"""The sample run as a stream, and what every format of it says, read back as others would."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from junitparser import Error, Failure, JUnitXml, Skipped

from helix.model.verdict import MatrixVerdictFile
from helix.registry.loading import Registry
from helix.reports.run import RunReport, compose
from helix.reports.stream import RunStream, stream
from helix.reports.visible import visible
from tests.reports import sample
from tests.reports.pages import Page

Cells = dict[tuple[str, int, str], str]
UNDECIDED = {"incomplete": "uncertain"}


def run(count: int = 14, lines: Sequence[MatrixVerdictFile] | None = None) -> RunStream:
    """Return the sample of `count` traces as a stream, or a stream of other lines."""
    made = sample.report(count)
    kept = made.lines if lines is None else lines
    return stream(
        sample.scorecard(tuple(kept)),
        lambda: kept,
        suite=sample.SUITE,
        manifest=sample.manifest(count),
        meta=made.meta,
    )


def replaced(of: RunStream, **changes: Any) -> RunStream:
    """Return a stream with some of its fields changed."""
    return dataclasses.replace(of, **changes)


def written(name: str, of: RunStream) -> bytes:
    """Return what a registered renderer makes of a stream."""
    item = Registry().get("renderers", name)
    data = item.render(of if item.stream else whole(of))
    return data if isinstance(data, bytes) else b"".join(data)


def whole(of: RunStream) -> RunReport:
    """Return the same run as one value, its traces with steps."""
    lines = tuple(of.lines)
    traces = [sample.trace(n) for n in range(len(lines))]
    return compose(of.scorecard, lines, traces, suite=sample.SUITE,
                   manifest=sample.manifest(len(lines)), meta=of.meta)  # fmt: skip


def truth(lines: Iterable[MatrixVerdictFile]) -> Cells:
    """Return the state of every cell of the lines."""
    return {
        (visible(line.trajectory_id), line.replicate, criterion): state
        for line in lines
        for criterion, state in line.dense_map.items()
    }


def from_json(data: bytes) -> Cells:
    found = json.loads(data)["verdicts"]
    return {
        (visible(line["trajectoryId"]), line.get("replicate", 0), criterion): state
        for line in found
        for criterion, state in line["denseMap"].items()
    }


def from_csv(data: bytes) -> Cells:
    table = csv.DictReader(io.StringIO(data.decode("utf-8"), newline=""), strict=True)
    return _from_rows({key: re.sub("^'", "", value) for key, value in row.items()} for row in table)


def from_parquet(data: bytes) -> Cells:
    return _from_rows(parquet_table(data).to_pylist())


def parquet_table(data: bytes) -> Any:
    """Return a Parquet file as a table, read without threads: they may outlive the interpreter."""
    import pyarrow
    from pyarrow import parquet

    source = pyarrow.BufferReader(data)
    return parquet.read_table(source, use_threads=False, pre_buffer=False)


def _from_rows(rows: Iterable[Mapping[str, Any]]) -> Cells:
    return {(row["trace"], int(row["replicate"]), row["criterion"]): row["state"] for row in rows}


def from_junit(data: bytes) -> Cells:
    """Return the cells of the suites of traces; the suite of the run is left out."""
    cells: Cells = {}
    for suite in list(JUnitXml.fromstring(data))[:-1]:
        for case in suite:
            assert len(case.result) <= 1
            states = {Failure: "fail", Error: "uncertain", Skipped: "na"}
            state = states[type(case.result[0])] if case.result else "pass"
            cells[*_named(case.classname), case.name.partition(" [")[0]] = state
    return cells


def from_otel(data: bytes) -> Cells:
    cells: Cells = {}
    for line in data.splitlines():
        (resource,) = json.loads(line)["resourceLogs"]
        for record in resource["scopeLogs"][0]["logRecords"]:
            said = attributes(record)
            label = said["gen_ai.evaluation.score.label"]
            key = (said["helix.trace.id"], int(said["helix.trace.replicate"]))
            cells[*key, said["gen_ai.evaluation.name"]] = UNDECIDED.get(label, label)
    return cells


def attributes(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return an OTLP record's attributes as plain values."""
    return {one["key"]: next(iter(one["value"].values())) for one in record["attributes"]}


def from_sarif(data: bytes) -> Cells:
    """Return the cells that are results: those that fail and those that are undecided."""
    (found,) = json.loads(data)["runs"]
    rules = [rule["id"] for rule in found["tool"]["driver"]["rules"]]
    cells: Cells = {}
    for result in found["results"]:
        said = result["properties"]
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["kind"] == ("fail" if said["state"] == "fail" else "open")
        cells[said["trace"], said["replicate"], result["ruleId"]] = said["state"]
    return cells


def from_html(data: bytes) -> Cells:
    """Return the cells of the matrix; those beside the trajectories stand as they do."""
    page = Page(data.decode("utf-8"))
    matrix, beside = Cells(), Cells()
    for element in page.elements:
        own = element.attributes
        if "data-state" not in own:
            continue
        about = {
            name: value for e in (*element.above, element) for name, value in e.attributes.items()
        }
        found = matrix if element.tag == "td" else beside
        found[*_named(about["data-trace"]), about["data-criterion"]] = own["data-state"]
    assert beside in (matrix, {})
    return matrix


def from_list(data: bytes) -> Cells:
    """Return the cells that a list in Markdown names, some of those that are open."""
    text = re.sub(r"\\(.)", r"\1", data.decode("utf-8"))
    found = re.findall(r"^- \S (\w+) (\S+) on (\S+) \(", text, re.MULTILINE)
    return {(*_named(trace), row): UNDECIDED.get(state, state) for state, row, trace in found}


def from_annotations(data: bytes) -> Cells:
    """Return the cells that annotations name, some of those that are open."""
    found = re.findall(r"title=(\w+)%3A (\S+?)::(\S+): ", data.decode("utf-8"))
    return {(*_named(trace), row): UNDECIDED.get(state, state) for state, row, trace in found}


def from_terminal(data: bytes) -> Cells:
    """Return the cells that a wide terminal names, some of those that are open."""
    cells: Cells = {}
    state = row = ""
    for line in data.decode("utf-8").splitlines():
        if head := re.match(r"\S (FAIL|INCOMPLETE|UNCERTAIN)  (\S+)(?:  (\S+))?", line):
            state, row = head[1].lower(), head[3]
        elif traces := re.match(r"  (.*?) *trace (.+)", line):
            rows = [name.split()[-1] for name in traces[1].split(", ")] if traces[1] else [row]
            names = re.findall(r"(outreach-\d+(?: · repeat \d+)?)(?= \(|,|$| and)", traces[2])
            said = UNDECIDED.get(state, state)
            cells |= {(*_named(trace), name): said for trace in names for name in rows}
    return cells


def _named(name: str) -> tuple[str, int]:
    trace, _, repeat = name.partition(" · repeat ")
    return trace, int(repeat or 0)


READERS = {
    "json": from_json,
    "csv": from_csv,
    "parquet": from_parquet,
    "junit": from_junit,
    "otel": from_otel,
    "html": from_html,
}
OPEN = {
    "sarif": from_sarif,
    "github": from_list,
    "markdown": from_list,
    "annotations": from_annotations,
    "terminal": from_terminal,
}
"""What names the cells that fail or are undecided, all of them or the worst."""


def typed(folder: Path, *words: str, codes: tuple[int, ...]) -> str:
    """Run a command in a folder, which must exit so, and return its output."""
    done = subprocess.run(
        [sys.executable, "-m", "helix", *words],
        cwd=folder, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode in codes, done.stderr
    return done.stdout

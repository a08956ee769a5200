"""report.sarif keeps to SARIF 2.1.0, names a cell the same in every run, and stays loadable."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from helix.reports.sarif import MOST_RESULTS, uri
from tests.conftest import PROJECT
from tests.reports import runs, sample
from tests.reports.test_formats import hostile_lines


def closed(required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": required,
        "additionalProperties": False,
        "properties": properties,
    }


MULTITOOL = PROJECT / ".node" / "node_modules" / ".bin" / "sarif-multitool"
TEXT = {"type": "string", "minLength": 1}
MESSAGE = closed(["text"], text=TEXT)
LEVEL = {"enum": ["none", "note", "warning", "error"]}
BAG = {"type": "object"}
LOCATION = closed(
    [],
    id={"type": "integer", "minimum": 0},
    message=MESSAGE,
    physicalLocation=closed(
        ["artifactLocation"],
        artifactLocation=closed(["uri"], uri={"type": "string", "format": "uri-reference"}),
        region=closed(["startLine"], startLine={"type": "integer", "minimum": 1}),
    ),
    logicalLocations={
        "type": "array", "minItems": 1,
        "items": closed([], fullyQualifiedName=TEXT),
    },
)  # fmt: skip
# The part of the standard's object model that the report uses, closed, so that a property of a
# wrong name is an error.
SCHEMA = closed(
    ["version", "runs"],
    **{"$schema": {"type": "string", "format": "uri"}},
    version={"const": "2.1.0"},
    runs={
        "type": "array", "minItems": 1, "maxItems": 1,
        "items": closed(
            ["tool", "results"],
            tool=closed(["driver"], driver=closed(
                ["name"], name=TEXT, version=TEXT, informationUri=TEXT,
                rules={"type": "array", "uniqueItems": True, "items": closed(
                    ["id"], id=TEXT, shortDescription=MESSAGE, fullDescription=MESSAGE,
                    defaultConfiguration=closed([], level=LEVEL), properties=BAG,
                )},
            )),
            invocations={"type": "array", "items": closed(
                ["executionSuccessful"], executionSuccessful={"type": "boolean"},
                toolExecutionNotifications={"type": "array", "items": closed(
                    ["message"], message=MESSAGE, level=LEVEL,
                )},
            )},
            columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
            properties=BAG,
            results={"type": "array", "maxItems": MOST_RESULTS, "items": closed(
                ["message", "ruleId", "partialFingerprints"],
                ruleId=TEXT, ruleIndex={"type": "integer", "minimum": 0},
                kind={"enum": ["fail", "open"]}, level=LEVEL, message=MESSAGE,
                locations={"type": "array", "minItems": 1, "items": LOCATION},
                relatedLocations={"type": "array", "items": LOCATION},
                partialFingerprints={
                    "type": "object", "minProperties": 1, "additionalProperties": TEXT,
                },
                properties=BAG,
            ) | {
                "if": {"properties": {"kind": {"const": "open"}}},
                "then": {"properties": {"level": {"const": "none"}}},
                "else": {"properties": {"level": {"enum": ["note", "warning", "error"]}}},
            }},
        ),
    },
)  # fmt: skip
CHECK = jsonschema_rs.validator_for(
    {"$schema": "https://json-schema.org/draft/2020-12/schema", **SCHEMA}, validate_formats=True
)


@pytest.mark.parametrize("lines", [None, hostile_lines()], ids=["sample", "hostile"])
def test_the_log_keeps_to_the_standard(lines: list[sample.MatrixVerdictFile] | None) -> None:
    log = json.loads(runs.written("sarif", runs.run(lines=lines)))
    assert [str(error) for error in CHECK.iter_errors(log)] == []


def test_the_schema_tells_a_log_that_breaks_the_standard() -> None:
    log = json.loads(runs.written("sarif", runs.run()))
    for change in ({"kind": "pass"}, {"level": "none"}, {"ruleID": "x"}, {"message": {}}):
        result = {**log["runs"][0]["results"][0], **change}
        broken = {**log, "runs": [{**log["runs"][0], "results": [result]}]}
        assert not CHECK.is_valid(broken), change


def test_a_cell_has_one_fingerprint_whatever_was_said_of_it() -> None:
    def prints(of: runs.RunStream) -> dict[tuple[str, str], str]:
        (found,) = json.loads(runs.written("sarif", of))["runs"]
        return {
            (r["ruleId"], r["properties"]["trace"]): r["partialFingerprints"]["helixCell/v1"]
            for r in found["results"]
        }

    told = [
        msgspec.structs.replace(
            line,
            verdicts=tuple(msgspec.structs.replace(v, critique="else") for v in line.verdicts),
        )
        for line in runs.run().lines
    ]
    first, second = prints(runs.run()), prints(runs.run(lines=told[::-1]))
    assert first == second and len(set(first.values())) == len(first) == 35


def test_at_most_5000_results_are_written_the_worst_first_and_the_rest_is_told() -> None:
    lines = [sample.line(n % 14) for n in range(2100)]
    lines = [msgspec.structs.replace(line, trajectory_id=f"t-{n}") for n, line in enumerate(lines)]
    (found,) = json.loads(runs.written("sarif", runs.run(14, lines)))["runs"]
    results = found["results"]
    assert len(results) == MOST_RESULTS
    kinds = [result["kind"] for result in results]
    assert kinds == sorted(kinds)  # fail before open
    (note,) = [
        n["message"]["text"]
        for n in found["invocations"][0]["toolExecutionNotifications"]
        if "more results" in n["message"]["text"]
    ]
    assert note == "and 250 more results; see report.json"


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("traces/a b.jsonl", "traces/a%20b.jsonl"),
        ("C:\\runs\\a.jsonl", "file:///C%3A/runs/a.jsonl"),
        ("/srv/runs/ü.json", "file:///srv/runs/%C3%BC.json"),
        ("javascript:alert(1)", "javascript%3Aalert%281%29"),
        ("a\ud83d.json", "a%5Cud83d.json"),
    ],
)
def test_a_file_is_named_as_a_repository_names_it(file: str, told: str) -> None:
    assert uri(file) == told


@pytest.mark.slow
@pytest.mark.skipif(not MULTITOOL.is_file(), reason="SARIF Multitool is not here; `make node`")
@pytest.mark.parametrize("name", ["sample", "hostile", "empty", "too many"])
def test_the_multitool_of_the_standards_authors_finds_no_error(name: str, tmp_path: Path) -> None:
    many = [sample.line(n % 14) for n in range(3_000)]
    lines = {"sample": None, "hostile": hostile_lines(), "empty": [], "too many": many}[name]
    report = tmp_path / "report.sarif"
    report.write_bytes(runs.written("sarif", runs.run(lines=lines)))
    done = subprocess.run(
        [MULTITOOL, "validate", report], capture_output=True, encoding="utf-8", check=False
    )
    assert "Analysis completed successfully" in done.stdout, done.stdout
    told = re.findall(r": (error|warning) (SARIF\w+|\w+):", done.stdout)
    # The one word of advice: the driver names no address, and the project promises none.
    assert told == [("warning", "SARIF2005")], done.stdout
    broken = tmp_path / "broken.sarif"
    broken.write_bytes(report.read_bytes().replace(b'"results":', b'"result":', 1))
    done = subprocess.run(
        [MULTITOOL, "validate", broken], capture_output=True, encoding="utf-8", check=False
    )
    assert ": error " in done.stdout

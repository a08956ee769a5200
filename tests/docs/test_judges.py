"""docs/judges.md: its judge runs as it stands, and decides."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import jsonschema_rs
import pytest

import helix
from helix.judging import reply_schema

ENDS = {"greets": "Hello Ada, your table is booked.", "cold": "Your table is booked.", "mute": " "}


@pytest.fixture(scope="module")
def page(project: Path) -> str:
    return (project / "docs" / "judges.md").read_text(encoding="utf-8")


def block(page: str, language: str) -> str:
    (text,) = re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return str(text)


@pytest.fixture
def folder(page: str, tmp_path: Path) -> Path:
    (tmp_path / "judge.py").write_text(block(page, "python"), encoding="utf-8")
    (tmp_path / "suite.yaml").write_text(block(page, "yaml"), encoding="utf-8")
    lines = [
        json.dumps(
            {
                "schemaVersion": "1.0",
                "id": name,
                "input": {"prompt": "Book a table for two."},
                "output": {"response": text},
            }
        )
        for name, text in ENDS.items()
    ]
    (tmp_path / "runs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


def test_the_judge_of_the_page_decides(folder: Path) -> None:
    run = helix.evaluate(
        folder / "runs.jsonl",
        folder / "suite.yaml",
        judge={"backend": "scripted", "model": "mine", "script": str(folder / "judge.py")},
        paths={"state": str(folder / "state")},
    )
    states = {line.trajectory_id: line.dense_map["greets"] for line in run.verdicts()}
    assert states == {"greets": "pass", "cold": "fail", "mute": "uncertain"}
    assert [line.not_adjudicated for line in run.verdicts()] == [{}, {}, {}]


def test_without_a_script_every_row_abstains(folder: Path) -> None:
    run = helix.evaluate(
        folder / "runs.jsonl",
        folder / "suite.yaml",
        judge={"backend": "scripted", "model": "mine"},
        paths={"state": str(folder / "state")},
    )
    assert {line.dense_map["greets"] for line in run.verdicts()} == {"uncertain"}


def test_the_reply_of_the_page_follows_the_schema(folder: Path) -> None:
    names = runpy.run_path(str(folder / "judge.py"))
    found = re.match("(.+) (.+) (.+)", "t output.response hello")
    verdicts = [names["_verdict"]("greets", f) for f in (found, None)]
    reply = {"nonce": "n", **names["WALK"], "verdicts": verdicts}
    valid = jsonschema_rs.validator_for(reply_schema(("greets",)))
    assert [error.message for error in valid.iter_errors(reply)] == []


def test_every_field_of_a_reply_is_explained(page: str) -> None:
    schema = reply_schema(("greets",))
    verdict = schema["properties"]["verdicts"]["items"]
    for name in (*schema["required"], *verdict["required"], "blockedBy", "notApplicable"):
        assert re.search(rf"^\| `{name}[`.]", page, re.MULTILINE), name

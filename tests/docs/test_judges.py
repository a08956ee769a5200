"""docs/judges.md: its judge runs as it stands, and decides."""

from __future__ import annotations

import json
import os
import re
import runpy
import sys
from pathlib import Path

import jsonschema_rs
import pytest

import helix
from helix.judging import reply_schema
from helix.model.request import Reply, Usage
from helix.registry import load

OWN = "A judge of your own"
ENDS = {"greets": "Hello Ada, your table is booked.", "cold": "Your table is booked.", "mute": " "}


@pytest.fixture(scope="module")
def page(project: Path) -> str:
    return (project / "docs" / "judges.md").read_text(encoding="utf-8")


def block(page: str, heading: str, language: str) -> str:
    """Return the one block of a language below a heading."""
    section = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    (text,) = re.findall(
        rf"^```{language}(?: title=\S+)?\n(.*?)^```$", section, re.MULTILINE | re.DOTALL
    )
    return str(text)


@pytest.fixture
def folder(page: str, tmp_path: Path) -> Path:
    (tmp_path / "judge.py").write_text(block(page, OWN, "python"), encoding="utf-8")
    (tmp_path / "suite.yaml").write_text(block(page, OWN, "yaml"), encoding="utf-8")
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


LLM = """\
#!{python}
import json, re, sys
prompt = sys.stdin.read()
assert sys.argv[1:] == ["--model", "mine"], sys.argv
print(json.dumps({{
    "nonce": re.search('Put "nonce": "([0-9a-f]+)" first', prompt)[1],
    "understanding": {{"rephrase": "A desk."}}, "expectedTrajectory": [{{"expected": "x"}}],
    "judgeSteps": [{{"kind": "gather", "text": "Read it."}}], "fidelity": {{"complete": True}},
    "verdicts": [{{"criterionId": "greets", "critique": "It is cold.", "result": "uncertain",
                  "blockedBy": {{"kind": "normative", "text": "what greets"}}}}],
}}))
"""


def test_the_program_of_the_page_asks_a_tool(
    page: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "answer.py").write_text(block(page, "By a program: command", "python"), "utf-8")
    (folder / "llm").write_text(LLM.format(python=sys.executable), encoding="utf-8")
    (folder / "llm").chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    command = [sys.executable, str(folder / "answer.py")]
    run = helix.evaluate(
        folder / "runs.jsonl",
        folder / "suite.yaml",
        judge={"backend": "command", "model": "mine", "command": command},
        paths={"state": str(folder / "state")},
    )
    assert {line.dense_map["greets"] for line in run.verdicts()} == {"uncertain"}
    assert [line.not_adjudicated for line in run.verdicts()] == [{}, {}, {}]


def test_every_judge_is_listed(page: str) -> None:
    table = page.partition("| `judge=` |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(load([]).items("judges"))


def test_what_a_program_may_tell_is_what_a_reply_has(page: str) -> None:
    row = next(line for line in page.splitlines() if line.startswith('| prints `{"helixReply"'))
    told = set(re.findall(r"[a-z][A-Za-z]+", " ".join(re.findall(r"`([^`]+)`", row)[1:])))
    fields = {*Reply.__struct_encode_fields__, *Usage.__struct_encode_fields__} - {"source"}
    assert told == fields

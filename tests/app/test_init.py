"""`helix init`: from traces to files and commands that run as they are printed."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from helix.app.cli import main
from helix.demo.generator import write
from helix.suite import load

CHAT = '{"id":"a","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that commands run in."""
    folder = tmp_path / "desk"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def typed(command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a shell would that finds this Helix first."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        shlex.split(command),
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def files(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def test_the_commands_that_it_prints_run_as_printed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder / "traces.jsonl")
    assert main(["init"]) == 0
    said = capsys.readouterr().out
    assert files(folder) == {"traces.jsonl", "desk.suite.yaml", "conf/subject/desk.yaml"}
    commands = [line.strip() for line in said.partition("Next:\n")[2].splitlines()]
    assert len(commands) == 2
    for command in commands:
        ran = typed(command)
        assert ran.returncode in (0, 1), (command, ran.stderr)
    assert "13 criteria" in said
    (run,) = (folder / "outputs" / "evaluate").iterdir()
    scorecard = json.loads((run / "scorecard.json").read_text(encoding="utf-8"))
    assert scorecard["subject"] == "desk"
    assert scorecard["cells"]["fail"] >= 13


def test_json_says_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "traces.jsonl")
    assert main(["init", "traces.jsonl", "--name", "other", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["subject"], told["suite"]) == ("conf/subject/other.yaml", "other.suite.yaml")
    assert (told["traces"], told["examined"], told["criteria"]) == (68, 66, 13)
    assert len(told["next"]) == 2
    assert len(load("other.suite.yaml").criteria) == 13
    subject = yaml.safe_load(Path(told["subject"]).read_text(encoding="utf-8"))
    assert subject["traces"] == "traces.jsonl" and "sendMessage" in subject["tools"]


@pytest.mark.parametrize("standing", ["conf/subject/desk.yaml", "desk.suite.yaml"])
def test_nothing_is_written_where_one_of_its_files_stands(
    standing: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "traces.jsonl").write_text(CHAT, encoding="utf-8")
    (folder / standing).parent.mkdir(parents=True, exist_ok=True)
    (folder / standing).write_text("mine", encoding="utf-8")
    assert main(["init"]) == 2
    assert f"{standing} is there already" in capsys.readouterr().err
    assert (folder / standing).read_text(encoding="utf-8") == "mine"
    assert files(folder) == {"traces.jsonl", standing}


def test_where_nothing_fails_the_suite_holds_a_row_to_start_from(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "traces.jsonl").write_text(CHAT, encoding="utf-8")
    assert main(["init"]) == 0
    said = capsys.readouterr().out
    assert "code saw nothing fail" in said
    assert [row.criterion_id for row in load("desk.suite.yaml").criteria] == ["answers"]
    command = said.partition("Next:\n")[2].splitlines()[0]
    ran = typed(command)
    assert ran.returncode == 0, ran.stderr


def test_a_failure_that_makes_no_row_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "find_book", "arguments": "{}"}}
    broken = [
        {"role": "user", "content": "find it"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": '{"error": "no such book"}'},
        {"role": "assistant", "content": "Here it is."},
    ]
    sound = [*broken[:2], {**broken[2], "content": '{"title": "Tides"}'}, broken[3]]
    runs = [("a", broken), ("b", sound), ("c", sound)]
    text = "".join(json.dumps({"id": name, "messages": said}) + "\n" for name, said in runs)
    (folder / "traces.jsonl").write_text(text, encoding="utf-8")
    assert main(["init"]) == 0
    said = capsys.readouterr().out
    assert "code saw nothing fail" not in said
    assert "find_book fails: 1 of 3 traces; to infrastructure, so no row\n" in said


def test_names_of_tools_that_configuration_would_act_on_stay_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = [
        {"id": f"c{at}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        for at, name in enumerate(["pay", "${oc.env:HOME}", "a\u202eb", "x: y"])
    ]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "ok"} for call in calls]
    said = {"role": "assistant", "content": None, "tool_calls": calls}
    last = {"role": "assistant", "content": "done"}
    trace = {"id": "a", "messages": [{"role": "user", "content": "x"}, said, *results, last]}
    (folder / "traces.json").write_text(json.dumps(trace), encoding="utf-8")
    assert main(["init"]) == 0
    subject = yaml.safe_load((folder / "conf/subject/desk.yaml").read_text(encoding="utf-8"))
    assert subject["tools"] == ["pay", "x: y"]
    command = capsys.readouterr().out.partition("Next:\n")[2].splitlines()[0]
    ran = typed(command)
    assert ran.returncode in (0, 1), ran.stderr


@pytest.mark.parametrize(
    ("given", "words", "told"),
    [
        ({}, [], "0 files that may be traces; say which: helix init TRACES"),
        (
            {"runs/a.json": CHAT, "b/c.txt": "c", "run/plan.json": "{}"},
            [],
            "0 files that may be traces; in folders below: runs; say which: helix init runs",
        ),
        (
            {"my a.json": CHAT, "my b.jsonl": CHAT},
            [],
            "2 files that may be traces: my a.json, my b.jsonl; say which: helix init 'my a.json'",
        ),
        ({"a.json": "{}"}, [], "no known trace format"),
        ({"a.json": CHAT}, ["none.json"], "none.json"),
        ({"a.json": CHAT}, ["-"], "(got -)"),
        ({"a.json": CHAT}, ["--name", "Desk 1"], "--name must be"),
        ({"a.json": CHAT}, ["--name", "outreach"], "that Helix brings along"),
        ({"${x}.json": CHAT}, [], "a plain path"),
    ],
)
def test_what_cannot_be_started_from_is_usage_and_leaves_nothing(
    given: dict[str, str],
    words: list[str],
    told: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, text in given.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    assert main(["init", *words]) == 2
    assert told in capsys.readouterr().err
    assert files(folder) == set(given)

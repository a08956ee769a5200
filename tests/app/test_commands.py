"""The plain commands: what they print, as text and as JSON, and how they exit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from helix.app import cli
from helix.app.cli import main
from helix.app.commands.schema import SHAPES
from helix.app.item_page import page
from helix.app.plugins import registry
from helix.model.criterion import Suite
from helix.registry.hookspecs import KINDS
from helix.suite.source import read


def ran(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Run a command in this process and return exit code, standard output, standard error."""
    code = main(list(words))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_no_command_prints_the_overview_and_is_usage(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ran(capsys)
    assert (code, out) == (2, "")
    assert ran(capsys, "--help") == (0, err, "")


def test_the_overview_names_every_command_once(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = ran(capsys, "--help")
    for command in [*cli.HYDRA, *cli.PLAIN]:
        assert out.count(f"\n  {command} ") == 1


@pytest.mark.parametrize("command", [*cli.HYDRA, *cli.PLAIN])
def test_every_command_has_a_help_page(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ran(capsys, command, "--help")
    assert (code, err) == (0, "")
    assert f"helix {command}" in out


def test_an_unknown_command_gets_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ran(capsys, "evalaute")
    assert (code, out) == (2, "")
    assert "did you mean 'evaluate' or 'validate'? (19 are known: helix --help" in err


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert ran(capsys, "--version") == (0, "helix 0.1.0\n", "")
    assert ran(capsys, "evaluate", "--version") == (0, "helix 0.1.0\n", "")


@pytest.mark.parametrize("name", SHAPES)
def test_every_schema_is_a_json_schema(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ran(capsys, "schema", name)
    assert (code, err) == (0, "")
    jsonschema_rs.meta.validate(json.loads(out))


def test_the_suites_of_the_project_follow_the_schema_in_both_spellings(
    capsys: pytest.CaptureFixture[str], project: Path
) -> None:
    suites = [*project.glob("helix/demo/*.suite.yaml"), *project.glob("tests/cases/real/*l.yaml")]
    suites += project.glob("tests/cases/real/*airline.yaml")
    valid = jsonschema_rs.validator_for(json.loads(ran(capsys, "schema", "suite")[1]))
    row = jsonschema_rs.validator_for(json.loads(ran(capsys, "schema", "criterion")[1]))
    assert len(suites) == 4
    for path in suites:
        value = read(path).value
        assert [e.message for e in valid.iter_errors(value)] == []
        assert all(row.is_valid(criterion) for criterion in value["criteria"])
        assert valid.is_valid(Suite.model_validate(value).model_dump(mode="json", by_alias=True))


@pytest.mark.parametrize(
    ("given", "valid"),
    [
        ({"primitive": "presence", "field": "output"}, True),
        ({"primitive": "presence", "field": "output", "onMissing": "na"}, True),
        ({"primitive": "presence", "field": "output", "on_missing": "ok"}, False),
        ({"primitive": "presence"}, False),
        ({"primitive": "presence", "field": "output", "feild": "x"}, False),
        ({"primitive": "ref-integrity", "producer": "input", "consumer": ["output.a"]}, True),
        ({"primitive": "required-order", "first": {"tool": "a"}, "then": {"tol": "b"}}, False),
        ({"primitive": "my-own", "any": 1}, True),
        ({"primitive": "not", "of": {"primitive": "presence", "field": "output"}}, True),
        ({"primitive": "not", "of": {"primitive": "presence", "feild": "output"}}, False),
        ({"primitive": "all", "of": [{"primitive": "not", "of": {}}]}, False),
        ({"primitive": "presence", "field": "output", "after": {"tool": "a", "ifNone": "whole"}},
         True),
        ({"primitive": "presence", "field": "output", "after": {"tol": "a"}}, False),
        ({"primitive": "presence", "field": "output", "when": {"primitive": "presence"}}, False),
        ({"field": "output"}, False),
    ],
)  # fmt: skip
def test_the_schema_of_a_row_knows_the_parameters_of_each_primitive(
    given: dict[str, Any], valid: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"criterion_id": "A", "statement": "Pass = x.", "code_eval": given}
    schema = json.loads(ran(capsys, "schema", "criterion")[1])
    assert jsonschema_rs.validator_for(schema).is_valid(row) is valid
    assert not jsonschema_rs.validator_for(schema).is_valid({**row, "criterion_id": None})


def test_schemas_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    _, text, _ = ran(capsys, "schema")
    assert [line.split()[0] for line in text.splitlines()] == sorted(SHAPES)
    _, listed, _ = ran(capsys, "schema", "--json")
    assert list(json.loads(listed)) == sorted(SHAPES)


def test_an_unknown_schema_gets_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ran(capsys, "schema", "verdit")
    assert (code, out) == (2, "")
    assert "did you mean 'verdict'?" in err


def test_plugins_lists_every_item_of_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ran(capsys, "plugins", "--json")
    found: dict[str, Any] = json.loads(out)
    assert code == 0
    assert list(found["items"]) == list(KINDS)
    assert {"none", "replay", "scripted"} <= {item["name"] for item in found["items"]["judges"]}
    assert all(i["version"] and i["plugin"] for items in found["items"].values() for i in items)
    _, text, _ = ran(capsys, "plugins")
    for kind, items in found["items"].items():
        assert kind in text
        assert [item["name"] for item in items if item["name"] not in text] == []


def test_a_name_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ran(capsys, "plugins", "required-order")
    assert code == 0
    assert "`latest_of`" in out and "### selector" in out and "primitive: required-order" in out
    assert "from helix.reports.plugin" in ran(capsys, "plugins", "json")[1]
    code, out, err = ran(capsys, "plugins", "requird-order")
    assert (code, out) == (2, "") and "did you mean 'required-order'?" in err


@pytest.mark.parametrize("kind", KINDS)
def test_every_item_has_a_page(kind: str) -> None:
    for name, entry in registry().items(kind).items():
        text = page(kind, name, entry)
        assert text.startswith(f"## {name}\n") and "Nothing more" not in text


def test_an_empty_cache_holds_nothing_and_is_not_made(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, _ = ran(capsys, "cache", "--state", str(tmp_path), "--json")
    assert code == 0
    assert json.loads(out)["replies"] == 0
    assert list(tmp_path.iterdir()) == []


GOOD = """\
suite: greetings
version: "1"
criteria:
  - criterionId: C-1
    statement: Pass = the agent answered.
    passCondition: The response is not empty.
    severity: HIGH
    dimension: operation-correctness
    class: code
    codeEval: {primitive: presence, field: output.response}
"""


def test_a_good_suite_has_no_errors(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    suite = tmp_path / "suite.yaml"
    suite.write_text(GOOD, encoding="utf-8")
    code, out, err = ran(capsys, "criteria", "lint", str(suite))
    assert (code, err) == (0, "")
    assert out.splitlines()[-1].startswith("0 errors")


def test_a_bad_row_is_named_and_exits_1(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    suite = tmp_path / "suite.yaml"
    suite.write_text(GOOD.replace("presence", "presense"), encoding="utf-8")
    code, out, err = ran(capsys, "criteria", "lint", str(suite))
    assert (code, err) == (1, "")
    assert "C-1" in out and "presense" in out and "presence" in out
    code, out, err = ran(capsys, "criteria", "lint", str(suite), "--json")
    assert (code, err) == (1, "")
    (finding,) = [f for f in json.loads(out)["findings"] if f["level"] == "error"]
    assert finding["row"] == "C-1" and finding["line"] > 0


OWN = """\
from helix import Decision, check

@check("never")
def never(trace):
    return Decision("na", "never")
"""


def test_lint_knows_the_checks_and_tools_of_a_project(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    suite, own = tmp_path / "suite.yaml", tmp_path / "own.py"
    suite.write_text(
        GOOD.replace("primitive: presence, field: output.response", "primitive: never"), "utf-8"
    )
    own.write_text(OWN, "utf-8")
    assert ran(capsys, "criteria", "lint", str(suite))[0] == 1
    for _ in range(2):
        code, out, err = ran(capsys, "criteria", "lint", str(suite), f"checks.modules=[{own}]")
        assert (code, out, err) == (0, "0 errors, 0 warnings\n", "")
    suite.write_text(GOOD.replace("output.response", "obs:sent.input"), "utf-8")
    _, out, _ = ran(capsys, "criteria", "lint", str(suite), "subject.tools=[send,'a b']")
    assert "tool 'sent' is in no inventory; did you mean 'send'?" in out
    code, _, err = ran(capsys, "criteria", "lint", str(suite), "check.modules=x")
    assert (
        code == 2 and "lint takes checks.modules and subject.tools (got 'check.modules=x')" in err
    )


@pytest.mark.parametrize("text", [None, "criteria: ["])
def test_a_suite_that_cannot_be_read_exits_2(
    text: str | None, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    suite = tmp_path / "suite.yaml"
    if text is not None:
        suite.write_text(text, encoding="utf-8")
    code, out, err = ran(capsys, "criteria", "lint", str(suite))
    assert (code, out) == (2, "")
    assert "suite.yaml" in err


def test_plain_commands_start_without_what_they_do_not_need() -> None:
    program = (
        "import sys; from helix.app.cli import main; "
        "codes = [main(['--version']), main(['--help']), main(['evaluate', '--help'])]; "
        "heavy = {'hydra', 'omegaconf', 'pydantic', 'msgspec', 'rich'} & set(sys.modules); "
        "sys.exit(str(heavy) if heavy or any(codes) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_completion_knows_commands_and_their_keys(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for line, expected in (
        ("helix ev", "evaluate"),
        ("helix evaluate gate=s", "gate=strict"),
        ("helix evaluate judge.mod", "judge.model="),
    ):
        monkeypatch.setenv("COMP_LINE", line)
        code, out, _ = ran(capsys, "-sc", "query=bash")
        assert code == 0
        assert expected in out.split()


def test_what_hydra_can_show_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ran(capsys, "evaluate", "--cfg", "job", "-p", "judge", "judge.model=1e3")
    assert code == 0
    assert "model: '1e3'" in out
    code, _, _ = ran(capsys, "evaluate", "--cfg", "job", "-p", "no.such")
    assert code == 2
    # In a process of its own: Hydra sets up logging for it.
    command = [sys.executable, "-m", "helix", "evaluate", "--info", "searchpath"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "main" in done.stdout


@pytest.mark.parametrize("shown", [["--info", "defaults"], ["--cfg", "all"]])
def test_what_is_shown_to_a_reader_that_went_away_is_no_error(shown: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-m", "helix", "evaluate", *shown]
    with open(writing, "wb") as pipe:
        done = subprocess.run(words, stdout=pipe, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")

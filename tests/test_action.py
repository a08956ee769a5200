"""The GitHub Action and the pre-commit hooks: their files are read, their commands are run."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

SUITE = """\
suite: desk
version: 1
criteria:
  - criterion_id: answers
    statement: Pass = the run ends with an answer.
    severity: HIGH
    class: code
    code_eval: {primitive: presence, field: output.response}
"""
LABEL = {"trace": "a", "criterion": "answers", "label": "pass", "rater": "ada"}
CHAT = '{"id":"a","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"%s"}]}'


@pytest.fixture
def action(project: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((project / "action.yml").read_text(encoding="utf-8"))
    return found


@pytest.fixture
def hooks(project: Path) -> dict[str, dict[str, Any]]:
    text = (project / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    return {hook["id"]: hook for hook in yaml.safe_load(text)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace, with this Helix where the action installs its own."""
    (tmp_path / "desk.suite.yaml").write_text(SUITE, encoding="utf-8")
    helix = tmp_path / "temp" / "helix" / "bin" / "helix"
    helix.parent.mkdir(parents=True)
    helix.symlink_to(Path(sys.executable).with_name("helix"))
    return tmp_path


def evaluated(action: dict[str, Any], folder: Path, **given: str) -> tuple[int, str, str]:
    """Run the step that evaluates as a runner does; return its exit code, output and summary."""
    (step,) = [step for step in action["runs"]["steps"] if step.get("id") == "evaluate"]
    env = dict(os.environ, RUNNER_TEMP=str(folder / "temp"))
    for variable, value in step["env"].items():
        name = re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", value)
        assert name, value
        entry = action["inputs"][name[1]]
        env[variable] = given.get(name[1].replace("-", "_"), entry.get("default", ""))
    for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"):
        (folder / name).touch()
        env[name] = str(folder / name)
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    ran = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    texts = [(folder / n).read_text(encoding="utf-8") for n in ("GITHUB_OUTPUT",
             "GITHUB_STEP_SUMMARY")]  # fmt: skip
    return ran.returncode, texts[0], texts[1]


@pytest.mark.parametrize(("said", "code"), [("hello", 0), ("", 1)])
def test_the_step_ends_as_the_gate_does_and_leaves_a_summary(
    said: str, code: int, action: dict[str, Any], folder: Path
) -> None:
    (folder / "runs").mkdir()
    (folder / "runs" / "a.json").write_text(CHAT % said, encoding="utf-8")
    ended, output, summary = evaluated(action, folder, traces="runs", suite="desk.suite.yaml")
    assert (ended, output) == (code, f"exit-code={code}\n")
    assert ("PASS" if code == 0 else "FAIL") in summary.upper().splitlines()[0]
    files = {path.name for path in (folder / "helix-run").iterdir()}
    assert {"scorecard.json", "report.html", "junit.xml", "report.sarif", "github.md"} <= files


def test_what_is_given_is_data_and_lines_of_set_are_words(
    action: dict[str, Any], folder: Path
) -> None:
    (folder / "it's $(touch pwned); x.json").write_text(CHAT % "hello", encoding="utf-8")
    ended, output, _ = evaluated(
        action,
        folder,
        traces="it's $(touch pwned); x.json",
        suite="desk.suite.yaml",
        set="judge=none\n\ngate=strict\nsubject.purpose=answer `touch pwned` $HOME\n",
        run_dir="out dir",
    )
    assert (ended, output) == (0, "exit-code=0\n")
    plan = json.loads((folder / "out dir" / "plan.json").read_text(encoding="utf-8"))
    assert plan["decides"]["subject"]["purpose"] == "answer `touch pwned` $HOME"
    assert not (folder / "pwned").exists()


def test_usage_is_told_apart_and_still_an_output(action: dict[str, Any], folder: Path) -> None:
    ended, output, summary = evaluated(action, folder, traces="none", suite="desk.suite.yaml")
    assert (ended, output, summary) == (2, "exit-code=2\n", "")


def test_no_script_of_the_action_holds_an_expression(action: dict[str, Any]) -> None:
    assert action["runs"]["using"] == "composite"
    scripts = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    assert len(scripts) == 2
    assert not any("${{" in script for script in scripts)


def test_the_action_installs_from_the_lock_by_hash(action: dict[str, Any], project: Path) -> None:
    (install,) = [s["run"] for s in action["runs"]["steps"] if s.get("name") == "Install Helix"]
    assert '--require-hashes -r "$GITHUB_ACTION_PATH/requirements.lock"' in install
    assert (project / "requirements.lock").is_file()


def hook_ran(hook: dict[str, Any], folder: Path, *files: str) -> subprocess.CompletedProcess[str]:
    """Run a hook's entry on the files that pre-commit would give it."""
    given = [name for name in files if re.search(hook["files"], name)]
    assert given
    helix, *words = shlex.split(hook["entry"])
    assert helix == "helix"
    command = [sys.executable, "-m", "helix", *words, *given]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_criteria_hook_lints_every_suite_it_is_given(
    hooks: dict[str, dict[str, Any]], folder: Path
) -> None:
    hook = hooks["helix-criteria"]
    (folder / "other.suite.yml").write_text(SUITE, encoding="utf-8")
    files = ("desk.suite.yaml", "README.md", "other.suite.yml")
    ran = hook_ran(hook, folder, *files)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (folder / "other.suite.yml").write_text(SUITE.replace("presence", "presnce"), encoding="utf-8")
    ran = hook_ran(hook, folder, *files)
    assert ran.returncode == 1
    assert "other.suite.yml:" in ran.stdout and "desk.suite.yaml:" not in ran.stdout


def test_the_labels_hook_checks_every_file_it_is_given(
    hooks: dict[str, dict[str, Any]], folder: Path
) -> None:
    hook = hooks["helix-labels"]
    (folder / "labels.jsonl").write_text(json.dumps(LABEL) + "\n", encoding="utf-8")
    (folder / "b.labels.jsonl").write_text(json.dumps(LABEL | {"rater": "b"}) + "\n")
    files = ("labels.jsonl", "traces.jsonl", "b.labels.jsonl")
    assert hook_ran(hook, folder, *files).returncode == 0
    (folder / "labels.jsonl").write_text(json.dumps(LABEL | {"label": "good"}), encoding="utf-8")
    ran = hook_ran(hook, folder, *files)
    assert ran.returncode == 1
    assert "labels.jsonl" in ran.stdout


@pytest.mark.parametrize(
    ("name", "hook"),
    [
        ("desk.suite.yaml", "helix-criteria"),
        (".helix/living-suite/eval.suite.yaml", "helix-criteria"),
        ("conf/base.yaml", None),
        ("labels.jsonl", "helix-labels"),
        ("gold/ann.labels.jsonl", "helix-labels"),
        ("runs/traces.jsonl", None),
        ("runs/notlabels.jsonl", None),
    ],
)
def test_a_file_is_of_the_hook_that_checks_it(
    name: str, hook: str | None, hooks: dict[str, dict[str, Any]]
) -> None:
    assert [key for key, one in hooks.items() if re.search(one["files"], name)] == (
        [hook] if hook else []
    )


@pytest.mark.parametrize("name", ["ci", "tutorial"])
def test_a_page_gives_the_action_what_it_takes(
    name: str, action: dict[str, Any], project: Path
) -> None:
    page = (project / "docs" / f"{name}.md").read_text(encoding="utf-8")
    workflows = [block for block in written(page) if isinstance(block, dict) and "jobs" in block]
    steps = [step for flow in workflows for step in flow["jobs"]["gate"]["steps"]]
    used = [step["with"] for step in steps if "/helix@" in step.get("uses", "")]
    required = {name for name, entry in action["inputs"].items() if entry.get("required")}
    assert used
    for given in used:
        assert required <= given.keys() <= action["inputs"].keys()


def test_the_page_on_ci_names_every_input_and_hook(
    action: dict[str, Any], hooks: dict[str, dict[str, Any]], project: Path
) -> None:
    page = (project / "docs" / "ci.md").read_text(encoding="utf-8")
    assert [name for name in action["inputs"] if not re.search(rf"\b{name}\b", page)] == []
    (configured,) = (block for block in written(page) if "repos" in block)
    assert [hook["id"] for hook in configured["repos"][0]["hooks"]] == list(hooks)


def written(page: str) -> list[Any]:
    """Return what the YAML blocks of a page hold."""
    return [yaml.safe_load(text) for text in re.findall(r"```yaml.*?\n(.*?)```", page, re.DOTALL)]

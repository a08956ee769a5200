"""Executions are processes with a place of their own, and say who made them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from helix.audit.conditions import Conditions, Program
from helix.audit.coordinator import audit
from helix.audit.executions import Executor, reach, refuse_shared, taken
from helix.errors import UsageError
from helix.model.audited import Execution
from helix.runmeta import process_identity
from tests.audit.subject import asked, template
from tests.families import FAMILY, gone, until, watched

WRITES = """
import glob, json, os, pathlib, sys
out = sys.argv[1]
os.mkdir(out)
said = {"listed": os.listdir("notes"), "walked": next(os.walk("notes"))[2],
        "scanned": [e.name for e in os.scandir("notes")],
        "iterated": [p.name for p in pathlib.Path("notes").iterdir()],
        "globbed": [os.path.basename(p) for p in glob.glob("notes/*")],
        "folder": os.getcwd(), "seed": os.environ["PYTHONHASHSEED"], "zone": os.environ["TZ"]}
open(os.path.join(out, "scorecard.json"), "w").write(json.dumps(said))
"""


def executor(folder: Path, code: str, *more: str, **given: float) -> Executor:
    work = folder / "work"
    (work / "notes").mkdir(parents=True)
    for name in "abcdef":
        (work / "notes" / name).write_text(name, encoding="utf-8")
    (work / "program.py").write_text(code, encoding="utf-8")
    words = ("{python}", "program.py", "{out}", *more)
    return Executor(folder / "executions", work, Program(words), ("notes",), **given)


def said(execution: Execution) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(execution.run, "scorecard.json").read_bytes())
    return found


def test_executions_differ_in_what_varies_and_in_nothing_else(tmp_path: Path) -> None:
    runs = executor(tmp_path, WRITES)
    first, again = (said(runs.execute(Conditions("x"), number)) for number in (1, 2))
    assert first == again
    assert (first["seed"], first["zone"]) == ("0", "UTC0")
    moved = said(runs.execute(Conditions("x", ("directory", "hash-seed"), seed=7), 3))
    assert {key for key in first if first[key] != moved[key]} == {"folder", "seed"}
    backwards = said(runs.execute(Conditions("x", ("order",)), 4))
    for way in ("listed", "walked", "scanned", "iterated", "globbed"):
        assert first[way] == first["listed"]
        assert backwards[way] == first["listed"][::-1]


def test_each_execution_writes_down_who_it_was_and_no_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET", "hush-hush")
    runs = executor(tmp_path, WRITES)
    one, two = (runs.execute(Conditions(name), at) for at, name in enumerate(("a", "b"), 1))
    assert one.identity and two.identity and one.identity != two.identity
    assert process_identity() not in (one.identity, two.identity)
    for path in (tmp_path / "executions").rglob("*"):
        assert path.is_dir() or b"hush-hush" not in path.read_bytes()
    refuse_shared((one, two), process_identity())


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("raise SystemExit('no chairs left')", "wrote no scorecard.json to {out} (exit 1): no ch"),
        ("import time; time.sleep(60)", "did not end within 0.5 s"),
    ],
)
def test_an_execution_without_a_run_says_why(tmp_path: Path, code: str, told: str) -> None:
    seconds = 0.5 if "sleep" in code else 60.0
    found = executor(tmp_path, code, deadline_s=seconds).execute(Conditions("x"), 1)
    assert found.failed is not None and told in found.failed


@watched
def test_what_an_execution_leaves_running_ends_with_it(tmp_path: Path) -> None:
    note = tmp_path / "child"
    runs = executor(tmp_path, FAMILY.replace("sys.argv[1]", repr(str(note))))
    assert runs.execute(Conditions("x"), 1).exit_code == 0
    assert gone(note)


def test_a_program_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    runs = Executor(tmp_path / "executions", tmp_path, Program(("nowhere-to-be-found", "{out}")))
    failed = runs.execute(Conditions("x"), 1).failed
    assert failed is not None and failed.startswith("nowhere-to-be-found cannot be started")


def test_inputs_are_copies_and_all_else_is_linked(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    for name in ("data/runs/a.jsonl", "data/more.txt", "suite.yaml", "outputs/audit/x/old"):
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    target.mkdir()
    reach(source, target, {Path("data/runs")}, source / "outputs" / "audit" / "x")
    assert not (target / "data" / "runs").is_symlink()
    assert (target / "data/runs/a.jsonl").read_text(encoding="utf-8") == "data/runs/a.jsonl"
    assert (target / "data" / "more.txt").is_symlink()
    assert (target / "suite.yaml").is_symlink()
    assert not (target / "outputs").exists()
    (target / "data/runs/a.jsonl").write_text("changed", encoding="utf-8")
    assert (source / "data/runs/a.jsonl").read_text(encoding="utf-8") == "data/runs/a.jsonl"


def execution(folder: Path, name: str, process: str | None) -> Execution:
    run = folder / name
    run.mkdir(exist_ok=True)
    meta = {} if process is None else {"process": process}
    (run / "runmeta.json").write_text(json.dumps(meta), encoding="utf-8")
    return taken(run)


@pytest.mark.parametrize(
    ("processes", "told"),
    [
        (("p", "own"), "must be made by another process than the audit's"),
        (("p", "p"), "must be two executions (one process made both)"),
        (("p", "q"), None),
        ((None, None), None),
    ],
)
def test_who_compares_executions_makes_none_and_two_of_one_process_are_refused(
    tmp_path: Path, processes: tuple[str | None, ...], told: str | None
) -> None:
    made = [execution(tmp_path, f"run-{at}", process) for at, process in enumerate(processes)]
    if told is None:
        refuse_shared(made, "own")
        return
    with pytest.raises(UsageError) as caught:
        refuse_shared(made, "own")
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("shutil.rmtree(out.parent)", "wrote no scorecard.json"),
        ("shutil.rmtree(out.parent.parent)", "wrote no scorecard.json"),
        ("out.symlink_to(old)", "run leads out of {out}"),
        ("shutil.copytree(old, out)\n(out / 'plan.json').symlink_to(old / 'plan.json')",
         "plan.json leads out of {out}"),
        ("out.write_text('a file')", "wrote no scorecard.json"),
    ],
)  # fmt: skip
def test_a_run_that_is_gone_or_stands_elsewhere_is_none(
    tmp_path: Path, code: str, told: str
) -> None:
    old = tmp_path / "old"
    old.mkdir()
    (old / "scorecard.json").write_text("{}", encoding="utf-8")
    head = (
        f"import pathlib, shutil, sys\nout, old = map(pathlib.Path, (sys.argv[-1], {str(old)!r}))\n"
    )
    found = executor(tmp_path, head + code, deadline_s=60.0).execute(Conditions("x"), 1)
    assert found.failed is not None and told in found.failed
    assert (old / "scorecard.json").exists()


def test_what_another_program_says_of_a_run_may_be_anything(tmp_path: Path) -> None:
    run = tmp_path / "1" / "run"
    run.mkdir(parents=True)
    said = {"process": ["x"], "exitCode": "zero", "versions": {"python": 3}}
    (run / "runmeta.json").write_text(json.dumps(said), encoding="utf-8")
    record = {"identity": {"x": 1}, "varied": ["locale", 5], "exitCode": [1]}
    (run.parent / "execution.json").write_text(json.dumps(record), encoding="utf-8")
    found = taken(run)
    assert found == Execution(name=str(run), run=str(run), identity=None, varied=("locale",))
    refuse_shared([found], "own")
    (run / "runmeta.json").write_text("[" * 100_000, encoding="utf-8")
    assert taken(run).exit_code is None


def test_a_program_that_hands_out_an_old_run_for_a_new_one_is_refused(tmp_path: Path) -> None:
    work = template(tmp_path)
    (work / "template" / "runmeta.json").write_text('{"process": "long ago"}', encoding="utf-8")
    copies = "import shutil, sys\nshutil.copytree('template', sys.argv[1])\n"
    (work / "copy.py").write_text(copies, encoding="utf-8")
    words = ("{python}", "copy.py", "{out}")
    runs = Executor(tmp_path / "executions", work, Program(words))
    with pytest.raises(UsageError, match="first and varied must be two executions"):
        audit(asked(work, tmp_path, "clean", executor=runs))


@watched
def test_an_audit_that_is_killed_leaves_nothing_running(tmp_path: Path) -> None:
    work, note = template(tmp_path), tmp_path / "child"
    (work / "family.py").write_text(FAMILY + "time.sleep(60)\n", encoding="utf-8")
    auditing = (
        "import sys\nfrom pathlib import Path\n"
        "from helix.audit.conditions import Conditions, Program\n"
        "from helix.audit.executions import Executor\n"
        "words = ('{python}', 'family.py', sys.argv[3], '{out}')\n"
        "runs = Executor(Path(sys.argv[1]), Path(sys.argv[2]), Program(words))\n"
        "runs.execute(Conditions('first'), 1)\n"
    )
    words = [sys.executable, "-c", auditing, tmp_path / "executions", work, note]
    with subprocess.Popen(words) as process:
        until(note)
        process.kill()
    assert gone(note)


@pytest.mark.skipif(os.name == "nt", reason="a shell script")
def test_another_interpreter_is_one_more_execution_and_an_absent_one_is_named(
    tmp_path: Path,
) -> None:
    work = template(tmp_path)
    other = tmp_path / "other-python"
    other.write_text(f'#!/bin/sh\nOTHER=1 exec {sys.executable} "$@"\n', encoding="utf-8")
    other.chmod(0o755)
    found = audit(
        asked(work, tmp_path / "executions", "interpreter", pythons=(str(other), "python1.5"))
    )
    (one,) = found.findings
    assert (one.mechanism, one.shown_by) == ("interpreter", (str(other),))
    assert found.notes == ("python1.5 is left out: it is not here",)


def test_another_executor_is_one_more_execution(tmp_path: Path) -> None:
    work = template(tmp_path)
    words = ("{python}", "program.py", "executor", "{out}", "{executor}")
    runs = Executor(tmp_path / "executions", work, Program(words))
    found = audit(asked(work, tmp_path, "", executor=runs, executors=("local", "processes")))
    (one,) = found.findings
    assert (one.mechanism, one.shown_by) == ("executor", ("executor processes",))


def test_a_sitecustomize_of_ones_own_still_runs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os\nos.OWN = 'ran'\n", encoding="utf-8")
    environment = Conditions("x", ("order",)).environment(
        {**os.environ, "PYTHONPATH": str(tmp_path)}
    )
    done = subprocess.run(
        [sys.executable, "-c", "import os; print(os.OWN, os.listdir.__name__)"],
        env=environment, capture_output=True, encoding="utf-8", check=True,
    )  # fmt: skip
    assert done.stdout == "ran _list_backwards\n"

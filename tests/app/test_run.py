"""The real command on real files: exit codes, run directories, sweeps, interruptions."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from helix.app.job import invoked
from tests.moments import LIMIT_S, TOLD, until

SUITE = """\
suite: replies
version: "1"
criteria:
  - criterionId: answered
    statement: Pass = the agent answered with its greeting.
    passCondition: The response is Hello!
    severity: CRIT
    dimension: operation-correctness
    class: code
    codeEval: {primitive: string-equality, field: output.response, expected: Hello!}
"""
JUDGED = """\
  - criterionId: polite
    statement: Pass = the answer is polite.
    passCondition: The answer greets the person.
    severity: HIGH
    dimension: operation-correctness
    class: judge
    judgeInputs: [output.response]
    terms: [greeting]
"""
JUDGE = ["subject.traces=good.jsonl", "criteria.file=judged.yaml", "judge=scripted",
         "judge.model=m"]  # fmt: skip
OWN = """\
from helix import Decision, check

@check("never")
def never(trace):
    return Decision("na", "never")
"""


def trace(number: int, response: str) -> str:
    """Return one line of Helix JSONL."""
    value = {
        "schemaVersion": "1.0",
        "id": f"t-{number}",
        "input": {"prompt": "Say hello."},
        "output": {"response": response},
        "observations": [],
        "transcript": [],
    }
    return json.dumps(value) + "\n"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with a suite, one with a judged row, and traces that pass and that fail."""
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    (tmp_path / "judged.yaml").write_text(SUITE + JUDGED, encoding="utf-8")
    good = [trace(number, "Hello!") for number in range(3)]
    (tmp_path / "good.jsonl").write_text("".join(good), encoding="utf-8")
    (tmp_path / "bad.jsonl").write_text("".join([*good, trace(3, "No.")]), encoding="utf-8")
    return tmp_path


def helix(here: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a person would, in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "helix", *words],
        cwd=here,
        env={**os.environ, "NO_COLOR": "1", "PYTHONWARNINGS": "error", **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def evaluate(here: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return helix(here, "evaluate", *words, **env)


def runs(here: Path) -> list[Path]:
    return sorted(path.parent for path in here.rglob("scorecard.json"))


@pytest.mark.parametrize(
    ("words", "code", "last"),
    [
        (["subject.traces=good.jsonl", "criteria.file=suite.yaml"], 0, "PASS"),
        (["subject.traces=bad.jsonl", "criteria.file=suite.yaml"], 1, "FAIL"),
        (["subject.traces=good.jsonl", "criteria.file=judged.yaml", "judge=none"], 3, "INCOMPLETE"),
        (["subject.traces=bad.jsonl", "criteria.file=suite.yaml", "gate.exit=advisory"], 0, "FAIL"),
    ],
)
def test_the_gate_is_the_exit_code(here: Path, words: list[str], code: int, last: str) -> None:
    done = evaluate(here, *words)
    assert (done.returncode, done.stderr) == (code, "")
    assert re.search(rf"Gate: . {last}", done.stdout)
    (folder,) = runs(here)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d-\d{6}", folder.name)
    assert folder.parent == here / "outputs" / "evaluate"
    meta = json.loads((folder / "runmeta.json").read_text(encoding="utf-8"))
    assert meta["exitCode"] == code
    assert (folder / "report.html").is_file()
    assert not list(folder.glob(".hydra*"))


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["subject.traces=good.jsonl", "criteria.file=none.yaml"], "none.yaml"),
        (["subject.traces=none.jsonl", "criteria.file=suite.yaml"], "none.jsonl"),
        (["subject.traces=suite.yaml", "criteria.file=suite.yaml"], "suite.yaml"),
        (
            ["subject.traces=good.jsonl", "criteria.file=suite.yaml", "judge.backend=scriptd"],
            "did you mean 'scripted'?",
        ),
        (
            ["subject.traces=good.jsonl", "criteria.file=suite.yaml", "report.out=htlm"],
            "did you mean 'html'?",
        ),
        (
            ["subject.traces=good.jsonl", "criteria.file=suite.yaml", "select.criteria=answerd"],
            "answered",
        ),
        (["subject.traces=demo:other", "criteria.file=suite.yaml"], "unknown demo 'other'"),
        (["subject.traces=/dev/tty", "criteria.file=suite.yaml"], "/dev/tty cannot be read"),
        ([*JUDGE, f"judge.script={'x' * 5000}.py"], "judge.script must be"),
        ([*JUDGE, f"judge.context_tokens={'9' * 400}"], "judge.context_tokens must be at most"),
        ([*JUDGE, f"checks.modules={'x' * 5000}.py"], "checks.modules: no file"),
        ([*JUDGE, "judge.extra.api_key=abc"], "judge.extra.api_key looks like a secret"),
        ([*JUDGE, "judge.base_url=https://a:abc@host"], "judge.base_url looks like a secret"),
        ([*JUDGE, "judge.extra.user=${oc.env:HOME}"], "name the variable of a key in judge.api_"),
        ([*JUDGE, "verifier.extra.a=[${oc.env:HOME}]"], "verifier.extra.a.0 must not read"),
    ],
)
def test_what_cannot_be_run_exits_2_and_leaves_no_run(
    here: Path, words: list[str], part: str
) -> None:
    done = evaluate(here, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert part in done.stderr and "Traceback" not in done.stderr
    assert runs(here) == []


def test_a_path_keeps_its_characters(here: Path) -> None:
    folder = here / "tâche #1 (a), [b] {c}~=1"
    folder.mkdir()
    (here / "good.jsonl").rename(folder / "007")
    (here / "suite.yaml").rename(folder / "it's.yaml")
    done = evaluate(
        here,
        f"subject.traces={folder.name}/007",
        f"criteria.file={folder.name}/it's.yaml",
        f"hydra.run.dir={folder.name}/run, one",
        f"paths.state={folder.name}/state",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert runs(here) == [folder / "run, one"]


def test_a_sweep_makes_one_run_per_value_and_exits_with_the_worst(here: Path) -> None:
    done = evaluate(
        here,
        "subject.traces=good.jsonl,bad.jsonl,none.jsonl",
        "criteria.file=suite.yaml",
        "--multirun",
        "hydra.sweep.dir=sweep",
    )
    assert done.returncode == 2
    assert runs(here) == [here / "sweep" / "0", here / "sweep" / "1"]
    ends = re.findall(r"^(\d) of 3: subject.traces=(\w+).jsonl: (.+), exit (\d), .*sweep/(\d)$",
                      done.stderr, re.MULTILINE)  # fmt: skip
    assert ends == [
        ("1", "good", "gate pass", "0", "0"),
        ("2", "bad", "gate fail", "1", "1"),
        ("3", "none", "no verdict", "2", "2"),
    ]
    heads = re.findall(r"^── (\d) of 3: subject.traces=(\w+).jsonl$", done.stderr, re.MULTILINE)
    assert heads == [("1", "good"), ("2", "bad"), ("3", "none")]
    assert not (here / "sweep" / "multirun.yaml").exists()


def test_a_sweep_over_seeds_makes_three_run_directories(here: Path) -> None:
    given = ["subject.traces=bad.jsonl", "criteria.file=suite.yaml", "sampling=random"]
    done = evaluate(here, *given, "sampling.n=2", "-m", "sampling.seed=1,2,3")
    folders = runs(here)
    assert [folder.name for folder in folders] == ["0", "1", "2"]
    assert {folder.parent.parent for folder in folders} == {here / "outputs" / "evaluate"}
    written = [
        json.loads((folder / "runmeta.json").read_text(encoding="utf-8")) for folder in folders
    ]
    assert [meta["seed"] for meta in written] == [1, 2, 3]
    assert done.returncode == max(meta["exitCode"] for meta in written)


def test_a_crash_exits_4_in_two_lines(here: Path) -> None:
    breaks = "import sys\nsys.modules['helix.evaluate'].fold = None\n"
    (here / "breaks.py").write_text(OWN + breaks, encoding="utf-8")
    given = ["subject.traces=good.jsonl", "criteria.file=suite.yaml"]
    words = [*given, "checks.modules=breaks.py"]
    done = evaluate(here, *words)
    assert (done.returncode, done.stdout) == (4, "")
    assert len(done.stderr.splitlines()) == 2 and "HELIX_DEBUG=1" in done.stderr
    assert "Traceback" in evaluate(here, *words, HELIX_DEBUG="1").stderr


def test_a_dry_run_writes_and_asks_nothing(here: Path) -> None:
    given = ["subject.traces=bad.jsonl", "criteria.file=judged.yaml"]
    done = evaluate(here, *given, "run.dry=true", "judge=scripted", "judge.model=m")
    assert (done.returncode, done.stderr) == (0, "")
    assert "4 chosen of 4 read" in done.stdout
    assert "8: code or the cache decides 4, the rest is asked for" in done.stdout
    assert not (here / "outputs").exists() and not (here / ".helix").exists()


def test_reports_go_where_they_are_told(here: Path) -> None:
    given = ["subject.traces=good.jsonl", "criteria.file=suite.yaml", "hydra.run.dir=run"]
    done = evaluate(here, *given, "report.out=json", "report.to.markdown=out/page (1).md")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (here / "out" / "page (1).md").read_text(encoding="utf-8").startswith("# Gate: ")
    assert (here / "run" / "report.json").is_file()
    assert not (here / "run" / "report.html").exists()


def test_the_failures_are_rerun_by_the_command_that_is_shown(here: Path) -> None:
    given = ["subject.traces=bad.jsonl", "criteria.file=suite.yaml", "judge.model=it's 1"]
    done = evaluate(here, *given)
    (shown,) = re.findall(r"Rerun the failures: (.+)", done.stdout)
    assert re.match(r"\S+ -m helix evaluate ", shown)
    before = set(runs(here))
    again = subprocess.run(
        shown,
        shell=True,
        cwd=here,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert again.returncode == 1
    (latest,) = set(runs(here)) - before
    card = json.loads((latest / "scorecard.json").read_text(encoding="utf-8"))
    assert card["traces"]["evaluated"] == 1


def test_a_job_of_a_sweep_is_rerun_by_what_a_person_would_type(here: Path) -> None:
    given = ["subject.traces=bad.jsonl", "criteria.file=suite.yaml", "select.traces=t-3,t-1"]
    done = evaluate(here, "-m", "sampling.seed=1,2", *given[:2], "subject.tools=[a,b]")
    shown = re.findall(r"Rerun the failures: (.+)", done.stdout)
    assert len(shown) == 2
    assert "subject.traces=bad.jsonl criteria.file=suite.yaml 'subject.tools=[a,b]'" in shown[0]


@pytest.mark.parametrize(
    ("words", "ends"),
    [
        (["subject.traces=good.jsonl"], None),
        (["subject.traces=-"], "  # with the same input on standard input"),
    ],
)
def test_a_rerun_is_offered_where_it_can_do_something(
    here: Path, words: list[str], ends: str | None
) -> None:
    command = [sys.executable, "-m", "helix", "evaluate", *words, "criteria.file=suite.yaml"]
    with open(here / "bad.jsonl", encoding="utf-8") as given:
        done = subprocess.run(
            command, cwd=here, stdin=given, capture_output=True, encoding="utf-8", check=False
        )
    shown = re.findall(r"Rerun the failures: (.+)", done.stdout)
    assert [line.endswith(ends) for line in shown] == ([] if ends is None else [True])


def test_a_late_usage_error_leaves_no_folder(here: Path) -> None:
    given = ["subject.traces=good.jsonl", "criteria.file=judged.yaml", "judge=scripted"]
    done = evaluate(here, *given, "judge.model=m", "judge.script=none.py")
    assert done.returncode == 2 and "none.py" in done.stderr
    assert not (here / "outputs").exists()


def test_a_run_that_is_none_is_named_with_its_key(here: Path) -> None:
    given = ["subject.traces=good.jsonl", "criteria.file=suite.yaml"]
    for key in ("select.failed_from", "gate.baseline"):
        done = evaluate(here, *given, f"{key}=nowhere")
        assert done.returncode == 2
        assert f"{key}: nowhere must be the folder of a finished run" in done.stderr


def test_a_dry_run_without_a_judge_costs_nothing(here: Path) -> None:
    done = evaluate(here, "subject.traces=bad.jsonl", "criteria.file=suite.yaml", "run.dry=true")
    assert "cost       nothing: no judge is asked" in done.stdout
    assert "tokens" not in done.stdout


def test_a_sweep_may_use_checks_of_its_own(here: Path) -> None:
    (here / "own.py").write_text(OWN, encoding="utf-8")
    given = ["subject.traces=good.jsonl", "criteria.file=suite.yaml", "checks.modules=[own.py]"]
    done = evaluate(here, "-m", "sampling.seed=1,2", *given)
    assert done.returncode == 0, done.stderr


def test_ascii_consoles_get_ascii(here: Path) -> None:
    given = ["subject.traces=good.jsonl", "criteria.file=suite.yaml"]
    done = evaluate(here, *given, PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stdout.isascii() and "PASS" in done.stdout


@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "cp932", "utf-8"])
def test_a_console_of_any_code_page_reads_the_report_and_the_error(
    here: Path, encoding: str
) -> None:
    given = ["subject.traces=bad.jsonl", "criteria.file=suite.yaml", "x→“é”"]
    for words, stream in ((given[:2], "stdout"), (given, "stderr")):
        done = subprocess.run(
            [sys.executable, "-m", "helix", "evaluate", *words],
            cwd=here, capture_output=True, check=False,
            env={**os.environ, "PYTHONIOENCODING": encoding},
        )  # fmt: skip
        said = getattr(done, stream).decode(encoding)
        assert (done.returncode, "Traceback" in said) == (2 if stream == "stderr" else 1, False)
        if stream == "stderr":
            sent = {"cp1252": "x->“é”", "cp437": 'x->"é"', "cp932": "x→“\\xe9”"}
            assert f"'{sent.get(encoding, 'x→“é”')}' must be KEY=VALUE" in said
        else:
            assert ("✕ FAIL" if encoding == "utf-8" else "x FAIL") in said


def test_q_shows_the_gate_alone_and_v_everything_on_a_run_and_its_report(here: Path) -> None:
    given = ["subject.traces=bad.jsonl", "criteria.file=suite.yaml", "hydra.run.dir=run"]
    shown = {flag: evaluate(here, *given, *flag.split()).stdout for flag in ("-q", "", "-v")}
    assert shown["-q"].startswith("Gate: ✕ FAIL  1 gating criterion fails")
    assert "Report: run/report.html" in shown["-q"] and "trace t" not in shown["-q"]
    assert shown[""].startswith("✕ FAIL") and "trace t" in shown[""]
    assert len(shown["-v"].splitlines()) > len(shown[""].splitlines())
    for flag in ("-q", "-v"):
        again = subprocess.run(
            [sys.executable, "-m", "helix", "report", "run", flag],
            cwd=here, capture_output=True, encoding="utf-8", check=True,
        )  # fmt: skip
        assert again.stdout.splitlines()[0] == shown[flag].splitlines()[0]


def test_a_reader_that_goes_away_changes_nothing(here: Path) -> None:
    given = "subject.traces=bad.jsonl criteria.file=suite.yaml hydra.run.dir=run"
    done = subprocess.run(
        [
            "bash",
            "-c",
            f"{sys.executable} -m helix evaluate {given} | true; echo ${{PIPESTATUS[0]}}",
        ],
        cwd=here,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_a_terminal_sees_progress_and_is_left_clean(here: Path) -> None:
    pty = pytest.importorskip("pty")
    script = (
        "import time\nfrom pathlib import Path\n\n"
        "def judge(request):\n    while not Path('seen').exists():\n        time.sleep(0.01)\n"
        "    return {}\n"
    )
    (here / "slow.py").write_text(script, encoding="utf-8")
    given = ["subject.traces=good.jsonl", "criteria.file=judged.yaml", "judge=scripted"]
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "helix",
            "evaluate",
            *given,
            "judge.model=m",
            "judge.script=slow.py",
        ],
        cwd=here,
        env={**os.environ, "CI": "", "TERM": "xterm"},
        stdout=subprocess.DEVNULL,
        stderr=follower,
    )
    os.close(follower)
    shown = ""
    with contextlib.suppress(OSError):  # What the end of the other side is on Linux.
        while said := os.read(leader, 100_000):
            shown += said.decode()
            if "waiting for judge" in shown:
                (here / "seen").touch()
    os.close(leader)
    assert process.wait(timeout=LIMIT_S) == 3
    assert re.search(r"\d of \d traces; waiting for judge \d", shown)
    assert shown.endswith("\x1b[?25h\r\x1b[1A\x1b[2K"), "no line, and the cursor is back"


def test_an_interruption_exits_130_and_leaves_an_unfinished_run(here: Path) -> None:
    script = (
        f"{TOLD}\nasync def judge(request):\n    open('asked', 'a').close()\n    await told()\n"
    )
    (here / "slow.py").write_text(script, encoding="utf-8")
    words = ["subject.traces=good.jsonl", "criteria.file=judged.yaml", "hydra.run.dir=run"]
    judge = ["judge=scripted", "judge.model=m", "judge.script=slow.py", "limits.concurrency=1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "helix", "evaluate", *words, *judge],
        cwd=here,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    until((here / "asked").exists, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, out) == (130, "")
    assert "interrupted" in err and "Traceback" not in err
    assert not (here / "run" / "scorecard.json").exists()


def test_a_python_that_another_folder_holds_too_is_named_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, own = tmp_path / "base", tmp_path / "own"
    for folder in (base, own):
        folder.mkdir()
    (base / "python").write_text("", encoding="utf-8")
    (base / "python").chmod(0o755)
    (own / "python").symlink_to(base / "python")
    monkeypatch.setattr(sys, "argv", ["helix/__main__.py"])
    monkeypatch.setattr(sys, "executable", str(own / "python"))
    monkeypatch.setenv("PATH", str(base))
    assert invoked() == [str(own / "python"), "-m", "helix"]
    monkeypatch.setenv("PATH", str(own))
    assert invoked() == ["python", "-m", "helix"]

"""A secret of the environment is in nothing that a command leaves or says."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from helix.app.cli import main
from tests.app.test_run import OWN, SUITE, here
from tests.improve import bench

__all__ = ["here"]
SECRET = "sk-planted-0123456789"
PARTS = ("planted-0123456789", "cGxhbnRlZC0wMTIzNDU2Nzg5")
TELLS = "import os\nKEY = os.environ['DESK_API_KEY']\n"
CHECK = OWN.replace('return Decision("na", "never")', "raise ValueError(KEY)")
CHANGE = Path(__file__).parents[1] / "cases" / "code_quality"
RENDERERS = "report.out=[terminal,html,json,markdown,csv,junit,sarif,github,annotations,otel]"


@pytest.fixture
def planted(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs that tell the key that they find in the environment."""
    monkeypatch.chdir(here)
    monkeypatch.setenv("DESK_API_KEY", SECRET)
    monkeypatch.setenv("HELIX_DEBUG", "1")
    rows = SUITE + (
        "  - criterionId: own\n    statement: Pass = it holds.\n    severity: LOW\n"
        "    class: code\n    codeEval: {primitive: never}\n"
    )
    (here / "own.yaml").write_text(rows, encoding="utf-8")
    put(here, "own.py", TELLS + CHECK)
    put(here, "replies.py", TELLS + "import sys\nsys.stdin.read()\nprint('you sent', KEY)\n")
    put(here, "dies.py", TELLS + "import sys\nsys.exit(f'refused: Bearer {KEY}')\n")
    put(here, "broken.py", TELLS + "raise RuntimeError(KEY)\n")
    put(here, "repeats.py", TELLS + "def judge(request):\n    return f'you sent {KEY}'\n")
    put(here, "script.py", TELLS + "def judge(request):\n    raise RuntimeError(KEY)\n")
    label = {"trace": "t-1", "criterion": "polite", "label": "pass", "rater": "ann"}
    (here / "labels.jsonl").write_text(json.dumps(label) + "\n", encoding="utf-8")
    return here


def put(folder: Path, name: str, code: str) -> None:
    (folder / name).write_text(code, encoding="utf-8")


def program(name: str) -> list[str]:
    words = f"judge.command=[{sys.executable},{name}]"
    return ["judge=command", words, "judge.model=m", "judge.api_key_env=DESK_API_KEY"]


def holding(folder: Path) -> list[str]:
    """Return every file whose bytes or name hold the key, plain or in base 64."""
    return [
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        for part in PARTS
        if part in path.name or (path.is_file() and part.encode() in path.read_bytes())
    ]


READ = ["subject.traces=good.jsonl", "subject.purpose=greets"]
JUDGED = ["subject.traces=good.jsonl", "criteria.file=judged.yaml"]
COMMANDS = {
    "a judge that repeats it": ["evaluate", *JUDGED, *program("replies.py"), RENDERERS],
    "a judge that dies with it": ["evaluate", *JUDGED, *program("dies.py"), "limits.retries=0"],
    "a function that raises it": ["evaluate", *JUDGED, "judge=scripted", "judge.model=m",
                                  "judge.script=script.py", RENDERERS],
    "a function that repeats it": ["evaluate", *JUDGED, "judge=scripted", "judge.model=m",
                                   "judge.script=repeats.py", RENDERERS],
    "a script that cannot be loaded": ["evaluate", *JUDGED, "judge=scripted", "judge.model=m",
                                       "judge.script=broken.py"],
    "a check that raises it": ["evaluate", "subject.traces=good.jsonl", "criteria.file=own.yaml",
                               "checks.modules=own.py", RENDERERS],
    "a check in another process": ["evaluate", "subject.traces=good.jsonl", "executor=processes",
                                   "criteria.file=own.yaml", "checks.modules=own.py"],
    "checks that cannot be loaded": ["evaluate", "subject.traces=good.jsonl",
                                     "criteria.file=own.yaml", "checks.modules=broken.py"],
    "a sweep": ["evaluate", "-m", *JUDGED, *program("replies.py"), "sampling.seed=1,2"],
    "a configuration that is printed": ["evaluate", *JUDGED, "--cfg", "job", "--resolve",
                                        "subject.purpose=${oc.env:DESK_API_KEY}"],
    "discover": ["discover", *READ, *program("replies.py")],
    "discover with a reader that dies": ["discover", *READ,
                                         *program("dies.py"), "limits.retries=0"],
    "validate": ["validate", *JUDGED, *program("replies.py"), "validation.labels=[labels.jsonl]",
                 "validation.split=all"],
    "build-evals": ["build-evals", *JUDGED, *program("replies.py")],
    "audit": ["audit", *JUDGED, *program("dies.py"), "limits.retries=0", "audit.vary=[hash-seed]"],
    "audit of a program": ["audit", "audit.command=[{python},dies.py,{out}]", "audit.inputs=[.]",
                           "audit.vary=[hash-seed]"],
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_leaves_or_says_the_key_that_its_programs_tell(
    planted: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    code = main(COMMANDS[name])
    assert (code == 2) == name.endswith("loaded"), "".join(capfd.readouterr())
    said = "".join(capfd.readouterr())
    assert said
    assert not [part for part in PARTS if part in said]
    assert holding(planted) == []


@pytest.mark.parametrize(
    "word",
    [f"judge.base_url=https://ann:{SECRET}@127.0.0.1/v1", f"judge.extra.organization={SECRET}",
     f"judge.extra.extra_headers.x={SECRET}", f"+executor.options.address=tcp://{SECRET}@host",
     f"subject.purpose='told by {SECRET}'", f"run.id={SECRET}", f"hydra.run.dir=out/{SECRET}",
     f"report.to.html={SECRET}.html", f"judge.command=[judge,--user,{SECRET}]"],
)  # fmt: skip
def test_a_key_that_is_typed_into_a_value_is_refused_unrepeated(
    planted: Path, word: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", *JUDGED, *program("replies.py"), word]) == 2
    said = "".join(capfd.readouterr())
    assert "DESK_API_KEY" in said or "looks like a secret" in said
    assert not [part for part in PARTS if part in said]
    assert holding(planted) == []


def test_the_tests_of_a_change_may_print_it(
    planted: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["evaluate", "experiment=code_quality", f"subject.traces={CHANGE / 'change.json'}",
             "judge.script=script.py", "judge=scripted", "judge.model=m",
             f"quality.tests_command=[{sys.executable},dies.py]", "hydra.run.dir=run"]  # fmt: skip
    assert main(words) in (1, 3)
    assert "DESK_API_KEY" in (planted / "run" / "tests.log").read_text(encoding="utf-8")
    assert not [part for part in PARTS if part in "".join(capfd.readouterr())]
    assert holding(planted) == []


@pytest.mark.parametrize("who", ["agent", "engineer"])
def test_a_loop_keeps_nothing_of_what_its_programs_tell(
    planted: Path, who: str, capfd: pytest.CaptureFixture[str]
) -> None:
    bench.desk(planted)
    agent = "dies.py" if who == "agent" else "desk/agent.py"
    words = ["improve", "improve.subject=command", "improve.cases=desk/cases.jsonl",
             f"improve.command=[{sys.executable},{agent},1]", "improve.repeats=2",
             "criteria.file=desk/suite.yaml", "judge=none", "improve.engineer=command",
             f"improve.engineer_command=[{sys.executable},dies.py]"]  # fmt: skip
    main(words)
    said = "".join(capfd.readouterr())
    assert said
    assert not [part for part in PARTS if part in said]
    assert holding(planted) == []

"""What a page presupposes, written into the folder in which its commands run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import helix
from helix.app.cli import main
from helix.engine.cache import open_cache
from helix.model.request import Reply

NOT_RUN = 28
"""At most so many commands are left out, each with its reason."""
SLOW = frozenset({"docs/audit.md", "docs/pytest.md", "plugins/helix-example/README.md"})
"""Pages whose commands take longer than a change should wait for."""
PROJECT = Path(__file__).parents[2]

SUITE = """\
suite: refunds
version: 1
criteria:
  - criterion_id: yes-before-refund
    statement: Pass = every refund follows an explicit yes of the user.
    severity: CRIT
    class: code
    code_eval:
      primitive: required-order
      first: {message: user, matches: '(?i)\\byes\\b'}
      then: {tool: issue_refund}
"""
POLITE = """\
  - criterion_id: polite-tone
    statement: Pass = the answer is polite.
    severity: HIGH
    class: judge
    judge_inputs: [output.response]
"""
JUDGE = """\
def judge(request):
    units = request.unit
    if units.role == "verifier":
        told = {"against": "It may be irony.", "leap": None, "leapKind": None, "entails": True}
        reviews = [{"criterionId": of, **told} for of in units.criteria]
        return {"nonce": request.nonce, "reviews": reviews}
    ref = {"obs": units.trace_id, "path": "output.response", "value": "on its way"}
    told = {
        "bindings": [], "refs": [ref], "claim": "It ends in a friendly word.", "result": "pass",
        "critique": "Its last words are friendly.", "litmus": {"premise": ""}, "confidence": 0.9,
    }
    return {
        "nonce": request.nonce,
        "understanding": {"rephrase": "A desk that refunds."},
        "expectedTrajectory": [{"expected": "The last words are polite."}],
        "judgeSteps": [{"kind": "gather", "text": "Read what the run ended with."}],
        "fidelity": {"complete": True},
        "verdicts": [{"criterionId": of, **told} for of in units.criteria],
    }
"""
TRACES = 8


def trace(number: int, *, asked: bool = True) -> dict[str, Any]:
    """A refund at a desk; the user said yes to it, unless they were not asked."""
    said = ["I want my money back.", "yes, please" if asked else "hm"]
    call = {"id": f"call-{number}", "seq": 2, "type": "TOOL", "name": "issue_refund"}
    done = {"input": {"order": f"A-{number}"}, "output": {"success": True}}
    return {
        "schemaVersion": "1.0",
        "id": f"t-{number:02d}",
        "task": f"refund-{number:02d}",
        "transcript": [
            {"id": f"m{at}", "seq": at, "role": "user", "text": text, "observationIds": []}
            for at, text in enumerate(said)
        ],
        "input": {"prompt": said[0]},
        "output": {"response": f"Hello Ada, refund {number} is on its way to you."},
        "observations": [{**call, **done}],
    }


def _traces(folder: Path, *broken: int) -> None:
    (folder / "runs").mkdir(exist_ok=True)
    for number in range(1, TRACES + 1):
        text = json.dumps(trace(number, asked=number not in broken))
        (folder / "runs" / f"t-{number:02d}.json").write_text(text, encoding="utf-8")


def sound(folder: Path) -> None:
    """Traces that all pass, and a suite that code decides."""
    _traces(folder)
    (folder / "suite.yaml").write_text(SUITE, encoding="utf-8")


def broken(folder: Path) -> None:
    """The same, and two traces fail."""
    _traces(folder, 2, 5)
    (folder / "suite.yaml").write_text(SUITE, encoding="utf-8")


def one_file(folder: Path) -> None:
    """The same traces in one file, of which one is called run-17."""
    named = [{**trace(17), "id": "run-17"}, *map(trace, range(1, TRACES + 1))]
    text = "".join(json.dumps(line) + "\n" for line in named)
    (folder / "runs.jsonl").write_text(text, encoding="utf-8")


def judged(folder: Path) -> None:
    """A suite with a row for a judge, and a judge who passes what is polite."""
    (folder / "suite.yaml").write_text(SUITE + POLITE, encoding="utf-8")
    (folder / "judge.py").write_text(JUDGE, encoding="utf-8")


def _run(name: str, judge: Any, state: str = ".helix") -> None:
    given = {"paths": {"state": state}, "subject": {"version": "2.0"}}
    helix.evaluate("runs/", "suite.yaml", judge=judge, run_dir=name, **given)


def run(folder: Path) -> None:
    """A finished run, whose judge passes what is polite if the suite asks one."""
    _run("outputs/evaluate/RUN", {"backend": "scripted", "model": "NAME", "script": "judge.py"})


def undecided(folder: Path) -> None:
    """A finished run, whose judge decided nothing."""
    _run("outputs/evaluate/RUN", {"backend": "scripted", "model": "NAME"})


def two_runs(folder: Path) -> None:
    """Two runs of the same, by two processes."""
    words = ["evaluate", "subject.traces=runs/", "criteria.file=suite.yaml", "report.out=[]"]
    for name in ("RUN_A", "RUN_B"):
        command = [sys.executable, "-m", "helix", *words, f"hydra.run.dir={name}"]
        subprocess.run(command, capture_output=True, check=True)


def recordings(folder: Path) -> None:
    """What the judge answered, as recordings in `replies/`."""
    script = {"backend": "scripted", "model": "NAME", "script": "judge.py"}
    _run("asked", script, "other")
    assert main(["cache", "export", "--state", "other", "--out", "replies/judge.jsonl"]) == 0


def conflicting_caches(folder: Path) -> None:
    """Two caches that hold another answer to one question."""
    for state, texts in ((".helix", ("yes", "b", "c")), ("shard", ("no", "b", "c"))):
        with open_cache(state) as kept:
            for key, text in zip("abc", texts, strict=True):
                kept.put(key * 64, Reply(text))


def living_suite(folder: Path) -> None:
    """A living suite of two rows that came there from a run, and two versions of a suite."""
    (folder / "before.yaml").write_text(SUITE, encoding="utf-8")
    (folder / "after.yaml").write_text(SUITE + POLITE, encoding="utf-8")
    both = POLITE + POLITE.replace("polite-tone", "yes-before-refund")
    (folder / "suite.yaml").write_text(f"{SUITE.partition('  - ')[0]}{both}", encoding="utf-8")
    undecided(folder)
    words = ["--fact", "it is asked", "--by", "ada", "--why", "it is known"]
    for row in ("yes-before-refund", "polite-tone"):
        verified = ["calibrate", "verify", row, "--run", "outputs/evaluate/RUN"]
        assert main([*verified, *words]) == 0


def labels(folder: Path) -> None:
    """What three people say of the polite answers."""
    said = {"ada": "pass", "ben": "pass", "chair": "pass"}
    for rater, label in said.items():
        lines = [
            {"schemaVersion": "1.0", "trace": f"t-{number:02d}", "criterion": "polite-tone",
             "label": label, "rater": rater}
            for number in range(1, TRACES + 1)
        ]  # fmt: skip
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{rater}.jsonl").write_text(text, encoding="utf-8")
    shutil.copy(folder / "ada.jsonl", folder / "labels.jsonl")
    rows = "".join(f"t-{n:02d},polite-tone,pass,ada\n" for n in range(1, TRACES + 1))
    text = f"trace,criterion,label,rater\n{rows}"
    (folder / "labels.csv").write_text(text, encoding="utf-8")


LLM = """\
#!/usr/bin/env python
import json
import re
import sys

prompt = sys.stdin.read()
found = re.search(r"^\\[(\\S+)] output.response$", prompt, re.MULTILINE)
ref = {"obs": found[1], "path": "output.response", "value": "on its way"}
reply = {
    "nonce": re.search('Put "nonce": "([0-9a-f]+)" first', prompt)[1],
    "understanding": {"rephrase": "A desk."}, "expectedTrajectory": [{"expected": "Politeness."}],
    "judgeSteps": [{"kind": "gather", "text": "Read it."}], "fidelity": {"complete": True},
    "verdicts": [{"criterionId": "polite-tone", "bindings": [], "refs": [ref], "result": "pass",
                  "claim": "It is friendly.", "critique": "It is.", "litmus": {"premise": ""}}],
}
review = {"criterionId": "polite-tone", "against": "Irony.", "leap": None, "leapKind": None}
if '"reviews"' in prompt:
    reply = {"nonce": reply["nonce"], "reviews": [{**review, "entails": True}]}
print(json.dumps(reply))
"""


def llm(folder: Path) -> None:
    """A command-line tool that answers a prompt on standard input, on the path."""
    tool = folder.parent / "bin" / "llm"
    tool.parent.mkdir()
    tool.write_text(LLM, encoding="utf-8")
    tool.chmod(0o700)


def own_evaluation(folder: Path) -> None:
    """A program that evaluates what lies in `data/` into the folder that it is given."""
    shutil.copytree("runs", "data")
    text = "import sys, helix\nhelix.evaluate('data', 'suite.yaml', run_dir=sys.argv[1])\n"
    (folder / "agent_eval.py").write_text(text, encoding="utf-8")


def changed_code(folder: Path) -> None:
    """A repository whose work tree differs from main, its specification, and its tests."""
    shutil.copytree(PROJECT / "tests" / "cases" / "code_quality", "tests/cases/code_quality")
    Path("mean.py").write_text("def mean(x):\n    return sum(x) / len(x)\n", encoding="utf-8")
    Path("spec.md").write_text("The mean of nothing is None.\n", encoding="utf-8")
    for words in (["init", "-q", "-b", "main"], ["add", "mean.py"], ["commit", "-qm", "mean"]):
        name = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"]
        subprocess.run(["git", *name, *words], check=True)
    Path("mean.py").write_text("def mean(x):\n    return sum(x) / len(x) if x else None\n", "utf-8")
    Path("checkout").mkdir()
    Path("checkout/test_mean.py").write_text("def test_mean():\n    pass\n", encoding="utf-8")


def plugin(name: str) -> Callable[[Path], None]:
    """The folder of a plugin that lies beside Helix."""

    def put(folder: Path) -> None:
        shutil.copytree(PROJECT / "plugins" / name, folder, dirs_exist_ok=True)

    return put


Put = Callable[[Path], None]
PAGES: dict[str, tuple[Put, ...]] = {
    "README.md": (sound,),
    "docs/audit.md": (sound, two_runs, own_evaluation, judged, recordings),
    "docs/cache.md": (conflicting_caches,),
    "docs/calibration.md": (sound, judged, undecided),
    "docs/checks.md": (sound, one_file),
    "docs/code-quality.md": (changed_code,),
    "docs/criteria.md": (sound, judged, living_suite),
    "docs/datasets.md": (broken, judged, undecided, labels),
    "docs/determinism.md": (sound, two_runs),
    "docs/discover.md": (sound,),
    "docs/judges.md": (sound, judged, llm),
    "docs/labels.md": (sound, judged, labels),
    "docs/pytest.md": (sound,),
    "docs/safety.md": (sound,),
    "docs/sweeps.md": (sound,),
    "docs/validation.md": (sound, judged, run, labels),
    "plugins/helix-example/README.md": (plugin("helix-example"),),
}

CONFIG = {
    "docs/tutorial.md": {"conf/subject/desk.yaml": "name: desk\ntraces: traces.jsonl\n"},
}


def put(page: str, folder: Path) -> None:
    """Write what a page presupposes into the folder, which is the current one."""
    for write in PAGES.get(page, ()):
        write(folder)


def config(page: str, folder: Path) -> None:
    """Write the config files that a page has a command write."""
    for name, text in CONFIG.get(page, {}).items():
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text, encoding="utf-8")


def stand_in_for_pip(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Put a project on the path with its entry points, as an editable install does."""
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    name = project["name"].replace("-", "_")
    about = folder.parent / "site" / f"{name}-{project['version']}.dist-info"
    about.mkdir(parents=True)
    head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (about / "METADATA").write_text(head, encoding="utf-8")
    lines = [
        line
        for group, points in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{key} = {value}" for key, value in points.items()))
    ]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    patch.setenv("PYTHONPATH", f"{about.parent}{os.pathsep}{folder / 'src'}")


def installed() -> bool:
    """Return whether a plugin is on the path, so that only a process of its own can see it."""
    return "PYTHONPATH" in os.environ

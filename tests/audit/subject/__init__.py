"""What is audited in tests: a program with planted nondeterminisms."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from helix.audit import dimensions
from helix.audit.conditions import Program
from helix.audit.coordinator import Asked
from helix.audit.executions import Executor
from helix.evaluate import run
from helix.model.config import Vary
from helix.registry import load
from helix.runmeta import process_identity
from tests.audit.desk import JUDGED, SAYS_BOOKED, config, desk_trace, scripted, suite, write

PROGRAM = Path(__file__).parent / "program.py"
VARY: tuple[Vary, ...] = ("hash-seed", "time-zone", "locale", "directory", "order")
IDS = tuple(f"desk-{number:02}" for number in range(24))
_ALWAYS = """
def judge(request):
    ref = {"obs": "m1", "path": "text", "value": "A table for two"}
    verdict = {"criterionId": "polite", "bindings": [], "refs": [ref], "claim": "So it is.",
               "critique": "so", "litmus": {"premise": ""}, "result": "pass"}
    return {"nonce": request.nonce, "understanding": {"rephrase": "a desk"},
            "expectedTrajectory": [{"expected": "a table"}],
            "judgeSteps": [{"kind": "gather", "text": "read it"}],
            "fidelity": {"complete": True}, "verdicts": [verdict]}
"""


def template(folder: Path) -> Path:
    """Make a working directory: a finished run to copy from, and a folder to list."""
    traces = write(folder, *(desk_trace(name) for name in IDS))
    criteria = suite(folder, SAYS_BOOKED, JUDGED)
    judge, nobody = scripted(folder, _ALWAYS), {"backend": "none"}
    made = config(folder, traces, criteria, judge=judge, verifier=nobody)
    work = folder / "work"
    run(made, run_dir=work / "template")
    (work / "template" / "runmeta.json").unlink()
    (work / "notes").mkdir()
    for name in IDS:
        (work / "notes" / name).write_text("", encoding="utf-8")
    shutil.copy(PROGRAM, work / "program.py")
    return work


def asked(work: Path, root: Path, switches: str, **given: Any) -> Asked:
    """Return an audit of the program with these switches."""
    words = ("{python}", "program.py", switches, "{out}")
    executor = Executor(root, work, Program(words), ("notes",))
    whole = {
        "own": process_identity(),
        "rows": lambda run: "the program has no suite",
        "dimensions": dimensions(load()),
        "executor": executor,
        "vary": VARY,
        "apart_s": 0.0,
    }
    return Asked(**{**whole, **given})

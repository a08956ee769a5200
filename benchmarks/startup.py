"""How long whole commands take, beside Python's own start, in one run.

    python benchmarks/startup.py [ROUNDS]

Prints the median of each command in seconds and as a multiple of `python -c pass`. Bytecode is
compiled first, and PYTHONDONTWRITEBYTECODE is unset, so that what is timed is what users wait for.
"""

from __future__ import annotations

import compileall
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import helix

SUITE = """\
suite: startup
version: 1
criteria:
  - criterion_id: answered
    statement: Pass = the run ends with a response.
    severity: HIGH
    class: code
    code_eval: {primitive: presence, field: output.response}
  - criterion_id: delivered
    statement: Pass = the mail server accepted every message.
    severity: HIGH
    class: code
    code_eval: {primitive: tool-output-failure, tool: sendMessage, success_path: output.success}
"""


def seconds(arguments: list[str], folder: Path) -> float:
    """Return the wall time of one process."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    begun = time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=folder, env=env, capture_output=True)
    return time.perf_counter() - begun


def main(rounds: int) -> None:
    """Time every command in turn, round by round, and print the medians."""
    compileall.compile_dir(Path(helix.__file__).parent, quiet=1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "suite.yaml").write_text(SUITE, encoding="utf-8")
        evaluate = ["-m", "helix", "evaluate"]
        commands = {
            "python -c pass": ["-c", "pass"],
            "python -c 'import hydra'": ["-c", "import hydra"],
            "helix --version": ["-m", "helix", "--version"],
            "helix schema": ["-m", "helix", "schema"],
            "helix plugins": ["-m", "helix", "plugins"],
            "evaluate, code only, 68 traces": [
                *evaluate, "subject.traces=demo:outreach", "criteria.file=suite.yaml",
            ],
            "evaluate experiment=demo": [*evaluate, "experiment=demo"],
        }  # fmt: skip
        times: dict[str, list[float]] = {label: [] for label in commands}
        for arguments in commands.values():
            seconds(arguments, folder)
        for _ in range(rounds):
            for label, arguments in commands.items():
                times[label].append(seconds(arguments, folder))
    base = statistics.median(times["python -c pass"])
    for label, taken in times.items():
        middle = statistics.median(taken)
        print(f"{label:<34}{middle:8.3f} s {middle / base:8.1f} ×")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)

"""How long each report of a large run takes, in what memory, and how large it is.

    python benchmarks/reports.py [TRACES CRITERIA [FORMAT …]]

Evaluates made-up traces by code rows of which a part fails, one cannot decide and one does not
apply, then writes each report in a process of its own: seconds of wall and CPU time without
imports, the peak of resident memory, and what of it the imports take.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import helix
from helix.files import atomic_folder
from helix.registry import Renderer, load
from helix.registry.leaf import Leaf
from helix.reports.again import run_again
from helix.reports.run import RunReport
from helix.reports.stream import RunStream
from helix.runs import RunFiles

ROWS = (
    "{primitive: presence, field: output.response}",
    "{primitive: tool-output-failure, tool: send_message, success_path: output.success}",
    "{primitive: presence, field: output.state.booking}",
    "{primitive: presence, field: metadata.tenant}",
)


def trace(n: int) -> dict[str, object]:
    """Return one trace: a question, a look-up, a message that fails on every fifth, an answer."""
    sent = {"success": n % 5 != 0, "error": "mailbox is full" if n % 5 == 0 else None}
    return {
        "schemaVersion": "1.0",
        "id": f"made-up-{n:06d}",
        "route": ("email", "chat", "phone")[n % 3],
        "input": {"prompt": "Please write to the candidate about the opening."},
        "output": {"response": f"Message {n} is written.", "state": {"sent": n % 5 != 0}},
        "observations": [
            {"id": "c1", "seq": 1, "type": "TOOL", "name": "find_opening",
             "input": {"title": "engineer"}, "output": {"openings": [{"id": n, "max": 85}]}},
            {"id": "c2", "seq": 2, "type": "TOOL", "name": "send_message",
             "input": {"to": "a@example.org", "body": "Dear …"}, "output": sent},
        ],
        "transcript": [],
        "metadata": {"tenant": "demo"} if n % 7 else {},
    }  # fmt: skip


def made(folder: Path, traces: int, criteria: int) -> Path:
    """Evaluate the made-up traces and return the run's folder."""
    source, suite = folder / "traces.jsonl", folder / "suite.yaml"
    with open(source, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(trace(n)) + "\n" for n in range(traces))
    rows = [
        f"  - {{criterion_id: row-{n:02d}, statement: Pass = rule {n} of the house holds.,"
        f" severity: {('HIGH', 'MED', 'LOW')[n % 3]}, class: code, code_eval: {ROWS[n % 4]}}}\n"
        for n in range(criteria)
    ]
    suite.write_text(f"suite: large\nversion: 1\ncriteria:\n{''.join(rows)}", encoding="utf-8")
    helix.evaluate(source, suite, run_dir=folder / "run")
    return folder / "run"


def opened(item: Renderer, files: RunFiles) -> RunStream | RunReport:
    """Return the run as the renderer wants it, its traces at hand for the page."""
    again = run_again(files, load())
    return again.run if item.stream else again.whole()


def measure(name: str, folder: Path) -> None:
    """Write one report and print what it took."""
    item = load().get("renderers", name)
    files = RunFiles(folder)
    if item.ready is not None:
        item.ready()
    before = peak()
    wall, cpu = time.perf_counter(), time.process_time()
    out, size = folder / f"report-of-{name}.{name}", 0
    data = item.render(opened(item, files))
    with open(out, "wb") as file, atomic_folder(out) as leaf:
        for part in (data,) if isinstance(data, bytes) else data:
            if isinstance(part, Leaf):
                leaf(*part)
                size += len(part.data)
            else:
                size += file.write(part)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(
        f"{name:<12}{wall:8.1f} s{cpu:8.1f} s CPU{size / 1e6:9.1f} MB"
        f"{peak():8.0f} MB peak, {before:.0f} of imports",
        flush=True,
    )


def peak() -> float:
    """Return the most memory that this process held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(traces: int, criteria: int, names: list[str]) -> None:
    """Make the run, then every report in a new process."""
    with tempfile.TemporaryDirectory() as name:
        folder = made(Path(name), traces, criteria)
        size = (folder / "verdicts.jsonl").stat().st_size / 1e6
        print(f"{traces:,} traces x {criteria} criteria, verdicts.jsonl of {size:.0f} MB")
        for wanted in names or list(load().items("renderers")):
            subprocess.run([sys.executable, __file__, "--one", wanted, folder], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2], Path(sys.argv[3]))
    else:
        traces, criteria = map(int, sys.argv[1:3] or (10_000, 20))
        main(traces, criteria, sys.argv[3:])

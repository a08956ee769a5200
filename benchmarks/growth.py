"""How a run grows: 1,000, 10,000 and 100,000 traces, each run in a process of its own.

    python benchmarks/growth.py [--sizes N,N,…] [--only CASE,…]
    python benchmarks/growth.py --sizes 1000000 --only code

The second takes 3 GB of disk below TMPDIR and five minutes of CPU; the first leaves it out.
Traces of about 0.6 kB are generated and written one by one. The cases, each as its command:

- code: four code rows, of which a part fails, one cannot decide and one does not apply;
- judged: a row for a scripted judge that cites the response, and the verifier's question after it;
- again: the same once more, every reply from the cache;
- html: the page of the run of code rows, made anew.

Printed are traces a second, CPU per trace, the peak of resident memory and what of it is beyond
that of the same case over ten traces; of code rows, what is resident at most while traces are
surveyed, evaluated, folded and reported; the bytes per trace that stay; last, from each size to the
next, how many times as much CPU it took, and how much more memory. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reports import ROWS, trace

HEAD = "suite: made-up\nversion: 1\ncriteria:\n"
ROW = "  - criterion_id: row-{at}\n    statement: Pass = row {at} holds.\n    severity: HIGH\n"
JUDGE = """\
def judge(request):
    unit, nonce = request.unit, request.nonce
    if unit.role == "verifier":
        told = {"against": "It may be a draft.", "leap": None, "leapKind": None, "entails": True}
        return {"nonce": nonce, "reviews": [{"criterionId": "row-0", **told}]}
    ref = {"obs": unit.trace_id, "path": "output.response", "value": "is written"}
    verdict = {
        "criterionId": "row-0", "bindings": [], "refs": [ref], "claim": "The message is written.",
        "critique": "The response says so.", "result": "pass", "confidence": 0.9,
        "litmus": {"premise": ""},
    }
    return {
        "nonce": nonce,
        "understanding": {"rephrase": "A message to a candidate."},
        "expectedTrajectory": [{"expected": "It ends with a written message."}],
        "judgeSteps": [{"kind": "gather", "text": "Read what the run ended with."}],
        "fidelity": {"complete": True},
        "verdicts": [verdict],
    }
"""
PROGRAM = """\
import json, resource, sys, time
from helix.app.cli import main

began = time.perf_counter()
code = main(sys.argv[1:])
spent = resource.getrusage(resource.RUSAGE_SELF)
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
told = {"code": code, "wall": time.perf_counter() - began, "peak": peak / 1024}
sys.stderr.write(json.dumps({**told, "cpu": spent.ru_utime + spent.ru_stime}))
"""
TEN = 10
ENDS = {"survey": "manifest.jsonl", "evaluate": "verdicts.jsonl", "fold": "scorecard.json"}
"""The phases of a run, each with the file that is there when it has ended."""
ON_DISK = 4_000
"""Bytes a trace that a run of code rows takes at most, its input and spools included."""
WRITTEN = ("verdicts.jsonl", "manifest.jsonl", "failures.jsonl", "report.html")


@dataclass(frozen=True, slots=True)
class Measured:
    """What a command over so many traces took: seconds, and MB at the peak, by phase too."""

    traces: int
    wall: float
    cpu: float
    peak: float
    phases: dict[str, float]


def commands(folder: Path) -> dict[str, list[str]]:
    """Return the command of each case over the traces of a folder."""
    read = ["evaluate", f"subject.traces={folder}/traces.jsonl", "report.out=[]"]
    asked = [
        *read, f"criteria.file={folder}/judged.yaml", "judge=scripted", "judge.model=m",
        f"judge.script={folder}/judge.py", f"paths.state={folder}/state",
        "limits.concurrency=32",
    ]  # fmt: skip
    code = [*read, f"criteria.file={folder}/code.yaml", f"hydra.run.dir={folder}/code"]
    return {
        "code": code,
        "judged": [*asked, f"hydra.run.dir={folder}/judged"],
        "again": [*asked, f"hydra.run.dir={folder}/again"],
        "html": ["report", f"{folder}/code", "report.out=[html]"],
    }


def written(folder: Path, traces: int) -> None:
    """Write traces, suites and judge."""
    folder.mkdir()
    with open(folder / "traces.jsonl", "w", encoding="utf-8") as file:
        for number in range(traces):
            file.write(json.dumps(trace(number)) + "\n")
    code = [f"{ROW.format(at=at)}    code_eval: {check}\n" for at, check in enumerate(ROWS)]
    (folder / "code.yaml").write_text(HEAD + "".join(code), encoding="utf-8")
    judged = ROW.format(at=0) + "    class: judge\n    judge_inputs: [output.response]\n"
    (folder / "judged.yaml").write_text(HEAD + judged, encoding="utf-8")
    (folder / "judge.py").write_text(JUDGE, encoding="utf-8")


def measured(command: list[str], traces: int, run: Path) -> Measured:
    """Carry a command out in a process of its own, its run directory looked at meanwhile."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *command], stdout=subprocess.DEVNULL, stderr=errors
        )
        phases = sampled(process, run)
        errors.seek(0)
        said = errors.read()
    if process.returncode or "{" not in said:
        raise SystemExit(said)
    told = json.loads(said[said.rindex("{") :])
    if told["code"] not in (0, 1, 3):
        raise SystemExit(said)
    return Measured(traces, told["wall"], told["cpu"], told["peak"], phases)


def sampled(process: subprocess.Popen[bytes], run: Path) -> dict[str, float]:
    """Return the most MB that were resident in each phase, looked at ten times a second."""
    most: dict[str, float] = {}
    while process.poll() is None:
        phase = next((name for name, file in ENDS.items() if not (run / file).exists()), "report")
        with contextlib.suppress(OSError, StopIteration):
            status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
            held = next(line for line in status.splitlines() if line.startswith("VmRSS"))
            most[phase] = max(most.get(phase, 0), int(held.split()[1]) / 1024)
        time.sleep(0.1)
    return most


def kept(folder: Path, traces: int) -> Iterator[str]:
    """Yield how many bytes per trace each file of the runs takes."""
    yield f"traces {(folder / 'traces.jsonl').stat().st_size / traces:,.0f}"
    for case in ("code", "judged"):
        for name in WRITTEN:
            path = folder / case / name
            if path.exists():
                yield f"{case}/{name} {path.stat().st_size / traces:,.0f}"
    cache = sum(path.stat().st_size for path in (folder / "state" / "cache").glob("cache.db*"))
    yield f"cache {cache / traces:,.0f}"


def main() -> None:
    """Print a line per case and size, then how each grows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    sizes = [int(size) for size in args.sizes.split(",")]
    room, free = max(sizes) * ON_DISK, shutil.disk_usage(tempfile.gettempdir()).free
    if room > free:
        raise SystemExit(
            f"TMPDIR must have {room / 1e9:.1f} GB free (got {free / 1e9:.1f} GB in "
            f"{tempfile.gettempdir()}): name a larger disk, or smaller --sizes"
        )
    found: dict[str, list[Measured]] = {}
    print(f"{'case':<8}{'traces':>9}{'traces/s':>10}{'CPU ms':>8}{'peak MB':>9}{'beyond':>8}")
    with tempfile.TemporaryDirectory() as name:
        for size in (TEN, *sizes):
            folder = Path(name) / str(size)
            written(folder, size)
            for case, command in commands(folder).items():
                if not args.only or case in args.only.split(","):
                    rounds = range(1 if size > TEN else 3)
                    several = [measured(command, size, folder / case) for _ in rounds]
                    found.setdefault(case, []).append(min(several, key=lambda one: one.cpu))
                    if size != TEN:
                        print(row(case, found[case]), flush=True)
                        if case == "code":
                            most = found[case][-1].phases.items()
                            print("by phase:", ", ".join(f"{n} {mb:.0f} MB" for n, mb in most))
            if size != TEN:
                print(f"bytes per trace: {', '.join(kept(folder, size))}", flush=True)
    for case, runs in found.items():
        for less, more in itertools.pairwise(runs[1:]):
            cpu = (more.cpu - runs[0].cpu) / (less.cpu - runs[0].cpu)
            grown = more.peak - less.peak
            per = grown * 2**20 / (more.traces - less.traces)
            print(
                f"{case}: {less.traces:,} → {more.traces:,} traces: CPU × {cpu:.2f}, "
                f"peak + {grown:.1f} MB, {per:,.0f} bytes a trace"
            )
    print(f"load {os.getloadavg()[0]:.1f} at the end, {time.strftime('%Y-%m-%d')}")


def row(case: str, runs: list[Measured]) -> str:
    """Return the line of the last run; CPU is beyond that of ten traces."""
    ten, last = runs[0], runs[-1]
    cpu = (last.cpu - ten.cpu) / (last.traces - ten.traces) * 1e3
    return (
        f"{case:<8}{last.traces:>9,}{last.traces / last.wall:>10,.0f}{cpu:>8.3f}"
        f"{last.peak:>9.1f}{last.peak - ten.peak:>8.1f}"
    )


if __name__ == "__main__":
    main()

"""What `executor=processes` gains over `local`, and where it loses: seconds that pass, in turns.

    python benchmarks/executors.py [--rounds N] [--traces N] [--only WORD,…] [--workers N]

Each run is a process of its own, from its start to its run directory, over traces of 60 kB:

- code: ten code rows over all tools, and over one (`named`);
- judged: one judged row, a scripted judge that answers at once;
- waits: the same, each answer after 50 ms, sixteen at once: a judge that is waited for;
- few: ten code rows over fifty traces: the price of starting workers;
- gzip: ten code rows over one compressed file, which one worker must read from its start.

Printed are the best of the rounds of either executor, the median of the rounds' ratios, and the CPU
of all its processes together; beside them, for `code`, two runs of `local` at once over half the
traces each: what two processes gain that share nothing. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from checks import TOOLS, canonical, suite

PROJECT = Path(__file__).resolve().parents[1]
JUDGED = """\
suite: judged
version: 1
criteria:
  - criterion_id: told
    statement: Pass = the response says where the order is.
    severity: HIGH
    class: judge
"""
SCRIPT = """\
import asyncio, json, os

async def judge(request):
    await asyncio.sleep(float(os.environ.get("DELAY", "0")))
    return json.dumps({"nonce": request.nonce, "verdicts": [{
        "criterionId": "told", "result": "uncertain", "cause": "cannot-tell", "refs": [],
        "claim": "The response may say it.", "critique": "It was not looked at.",
        "litmus": {"premise": ""},
    }]})
"""
PROGRAM = """\
import json, sys
import helix
from helix.model.criterion import Suite

given = json.loads(sys.argv[1])
if isinstance(given["criteria"], dict):
    given["criteria"] = Suite.model_validate(given["criteria"])
helix.evaluate(**given)
"""
Given = dict[str, Any]


def cases(folder: Path, traces: int) -> dict[str, tuple[int, Given, dict[str, str]]]:
    """Return each case: how many traces, what helix.evaluate is given, the environment."""
    lines = [json.dumps(canonical("text", at)).encode() + b"\n" for at in range(traces)]
    whole, few, packed = (folder / name for name in ("t.jsonl", "few.jsonl", "t.jsonl.gz"))
    whole.write_bytes(b"".join(lines))
    few.write_bytes(b"".join(lines[:50]))
    packed.write_bytes(gzip.compress(b"".join(lines), 1))
    (folder / "judge.py").write_text(SCRIPT, encoding="utf-8")
    (folder / "judged.yaml").write_text(JUDGED, encoding="utf-8")
    everything, named = (suite(t).model_dump(mode="json") for t in ("*", TOOLS[1]))
    judge = {"backend": "scripted", "model": "m", "script": str(folder / "judge.py")}
    judged: Given = {
        "traces": str(whole), "criteria": str(folder / "judged.yaml"), "judge": judge,
        "verifier": {"verify": "none"}, "limits": {"concurrency": 16},
    }  # fmt: skip
    return {
        "code": (traces, {"traces": str(whole), "criteria": everything}, {}),
        "named": (traces, {"traces": str(whole), "criteria": named}, {}),
        "judged": (traces, judged, {}),
        "waits": (traces, judged, {"DELAY": "0.05"}),
        "few": (len(lines[:50]), {"traces": str(few), "criteria": everything}, {}),
        "gzip": (traces, {"traces": str(packed), "criteria": everything}, {}),
    }


def timed(folder: Path, runs: Sequence[Given], env: dict[str, str]) -> tuple[float, float]:
    """Return the seconds that the runs take side by side, each its own process, and their CPU's."""
    with tempfile.TemporaryDirectory(dir=folder) as fresh:
        commands = []
        for at, given in enumerate(runs):
            places = {"run_dir": f"{fresh}/run{at}", "paths": {"state": f"{fresh}/state"}}
            commands.append([sys.executable, "-c", PROGRAM, json.dumps({**given, **places})])
        began = time.perf_counter()
        started = [
            subprocess.Popen(command, cwd=PROJECT, env={**os.environ, **env})
            for command in commands
        ]
        cpu = 0.0
        for process in started:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            cpu += used.ru_utime + used.ru_stime
            if process.returncode:
                raise SystemExit("a run failed")
        return time.perf_counter() - began, cpu


def halves(given: Given) -> list[Given]:
    """Return two runs over half of the traces each, that share nothing."""
    path = Path(given["traces"])
    lines = path.read_bytes().splitlines(keepends=True)
    made = []
    for at in (0, 1):
        half = path.with_name(f"half{at}.jsonl")
        half.write_bytes(b"".join(lines[at::2]))
        made.append({**given, "traces": str(half)})
    return made


def main() -> None:
    """Print a line per case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--traces", type=int, default=1_000)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    spread = {"name": "processes", "workers": args.workers}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case, (traces, given, env) in cases(folder, args.traces).items():
            if args.only and case not in args.only.split(","):
                continue
            works = {"local": [given], "processes": [{**given, "executor": spread}]}
            if case == "code":
                works["two halves"] = halves(given)
            times: dict[str, list[tuple[float, float]]] = {work: [] for work in works}
            for _ in range(args.rounds):
                for work, runs in works.items():
                    times[work].append(timed(folder, runs, env))
            print(f"{case}: {traces} traces; load {os.getloadavg()[0]:.1f}")
            for work, took in times.items():
                pairs = zip(times["local"], took, strict=True)
                ratio = statistics.median(own[0] / other[0] for own, other in pairs)
                wall, cpu = (min(found) for found in zip(*took, strict=True))
                print(f"  {work:<12}{wall:>8.2f} s   × {ratio:.2f}   CPU {cpu:.2f} s", flush=True)


if __name__ == "__main__":
    main()

"""What a judged trace costs besides the judge, beside peers, in one run.

    python benchmarks/judge.py [--rounds N] [--traces N] [--only WORD,…] [--peers FOLDER]

Four tables, each the best of the rounds; nothing is asserted:

- items: CPU per judged trace in a process of its own, with a scripted judge that answers at once:
  the whole of `helix.evaluate`, from the survey to the run directory, for small traces (1 kB) and
  large ones (60 kB), with the verifier and without. `no judge` is the same without asking.
- waits: 1,024 judgements of 200 ms at a limit of 32, ideally 6.4 s: the share of that in the time
  between the first question and the last answer. `sleeps` has no client at all; `http` asks a
  local server through a bare HTTP client, `litellm` through litellm, where that is installed.
- warm: whole processes: `helix evaluate` again over large traces whose replies are all kept,
  beside the same over one trace, which is the start.
- peers: inspect-ai, deepeval and pydantic-evals on items (`--items`, small ones) and waits, each by
  its own model-graded scorer, in an environment of its own in `--peers`, made where it is missing;
  one that cannot be is said to be.
"""

from __future__ import annotations

import argparse
import compileall
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from checks import canonical

import helix
from helix.engine.drive import Event
from helix.evaluate import run
from helix.model.config import Config
from helix.registry import load

PROJECT = Path(__file__).resolve().parents[1]
PEERS = Path(__file__).with_name("judge_peers.py")
LIMIT, WAITS, DELAY_S = 32, 1_024, 0.2
SUITE = """\
suite: judged
version: 1
criteria:
  - criterion_id: told
    statement: Pass = the response says where the order is.
    severity: HIGH
    class: judge
"""
# One judge for all: it decides, cites what stands there, and waits or asks first where told to.
SCRIPT = """\
import asyncio, json, os

WALK = json.dumps({
    "understanding": {"rephrase": "an agent that looks orders up", "given": [], "inferred": []},
    "expectedTrajectory": [{"expected": "it looks the order up and says where it is"}],
    "judgeSteps": [{"kind": "gather", "text": "read the whole recording"}],
    "fidelity": {"complete": True},
})[1:-1]
DELAY, PORT = float(os.environ.get("JUDGE_DELAY", 0)), os.environ.get("JUDGE_PORT")
free = []


async def posted(request):
    body = json.dumps({"model": request.pin.model, "messages": [
        {"role": m.role, "content": m.content} for m in request.messages]}).encode()
    reader, writer = free.pop() if free else await asyncio.open_connection("127.0.0.1", int(PORT))
    writer.write(b"POST /v1/chat/completions HTTP/1.1\\r\\nHost: localhost\\r\\n"
                 b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
    head = (await reader.readuntil(b"\\r\\n\\r\\n")).decode().lower()
    size = int(head.partition("content-length: ")[2].partition("\\r\\n")[0])
    json.loads(await reader.readexactly(size))
    free.append((reader, writer))


async def judge(request):
    if PORT:
        await posted(request)
    elif DELAY:
        await asyncio.sleep(DELAY)
    rows, trace = request.unit.criteria, request.unit.trace_id
    if request.unit.role == "verifier":
        reviews = [{"criterionId": row, "against": "nothing", "leap": None, "leapKind": None,
                    "entails": True} for row in rows]
        return json.dumps({"nonce": request.nonce, "reviews": reviews})
    number = int(trace.rpartition("-")[2])
    value = f"Your order #W{number:06} is on its way."
    ref = {"obs": trace, "path": "output.response", "value": value}
    verdicts = [{"criterionId": row, "bindings": [], "refs": [ref],
                 "claim": "The response says where the order is.",
                 "critique": "It says that the order is on its way.",
                 "litmus": {"premise": "", "groundedBy": None}, "result": "pass"} for row in rows]
    return f'{{"nonce": "{request.nonce}", {WALK}, "verdicts": {json.dumps(verdicts)}}}'
"""


def small(number: int) -> dict[str, Any]:
    """Return a trace of some 1 kB: a question, a call, an answer."""
    whole = canonical("text", number)
    call = {**whole["observations"][0], "output": {"success": True, "status": "sent"}}
    return {**whole, "observations": [call], "transcript": whole["transcript"][:1]}


def prepared(folder: Path, traces: int) -> None:
    """Write the suite, the judge, and the files of traces."""
    (folder / "suite.yaml").write_text(SUITE, encoding="utf-8")
    (folder / "judge.py").write_text(SCRIPT, encoding="utf-8")
    makes = {"large": lambda n: canonical("text", n), "small": small}
    for name, make in makes.items():
        lines = [json.dumps(make(number)) for number in range(traces)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    lines = [json.dumps(small(number)) for number in range(WAITS)]
    (folder / "waits.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    one = json.dumps(canonical("text", 0))
    (folder / "one.jsonl").write_text(one + "\n", encoding="utf-8")


def configured(folder: Path, traces: str, state: Path, **sections: Any) -> Config:
    """Return the configuration of one run."""
    judge = {"backend": "scripted", "model": "m", "script": str(folder / "judge.py")}
    return Config.model_validate(
        {
            "subject": {"traces": str(folder / f"{traces}.jsonl")},
            "criteria": {"file": str(folder / "suite.yaml")},
            "judge": {**judge, **sections.pop("judge", {})},
            "paths": {"state": str(state)},
            "limits": {"concurrency": LIMIT},
            **sections,
        }
    )


@contextlib.contextmanager
def environment(**changes: str) -> Iterator[None]:
    """Set environment variables for a while."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def items(folder: Path, traces: int, rounds: int) -> None:
    """Print the CPU of one judged trace."""
    print(f"\nitems: CPU per judged trace, ms ({traces} traces)")
    kinds: dict[str, dict[str, Any]] = {
        "no judge": {"judge": {"backend": "none"}},
        "judge": {"verifier": {"backend": "none"}},
        "judge and verifier": {"verifier": {"backend": "same"}},
    }
    for size in ("small", "large"):
        best = dict.fromkeys([*kinds, "judge, replies kept"], float("inf"))
        for _ in range(rounds):
            for kind, sections in kinds.items():
                with tempfile.TemporaryDirectory() as state:
                    best[kind] = min(best[kind], _cpu(folder, size, Path(state), sections))
                    if kind == "judge":
                        again = _cpu(folder, size, Path(state), sections)
                        best["judge, replies kept"] = min(best["judge, replies kept"], again)
        for kind, took in best.items():
            print(f"  {size + ', ' + kind:<34}{took / traces * 1e3:>8.2f}")


def _cpu(folder: Path, traces: str, state: Path, sections: Mapping[str, Any]) -> float:
    config = configured(folder, traces, state / "state", **sections)
    begun = time.process_time()
    run(config, run_dir=state / "run", registry=load())
    return time.process_time() - begun


def waits(folder: Path, rounds: int) -> None:
    """Print how near 1,024 waits of 200 ms come to the ideal."""
    ideal = WAITS * DELAY_S / LIMIT
    print(f"\nwaits: {WAITS} judgements of 200 ms at limit {LIMIT}; ideal {ideal:.1f} s")
    print(f"  {'':<34}{'share':>8}{'seconds':>9}{'CPU ms each':>13}")
    with server() as port:
        kinds: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
            "sleeps": ({"JUDGE_DELAY": str(DELAY_S)}, {}),
            "http": ({"JUDGE_PORT": port}, {}),
            "litellm": ({}, _litellm(port)),
        }
        for kind, (variables, judge) in kinds.items():
            best = (float("inf"), 0.0)
            for _ in range(rounds):
                with environment(**variables), tempfile.TemporaryDirectory() as state:
                    best = min(best, _waited(folder, Path(state), judge))
            took, cpu = best
            print(f"  {kind:<34}{ideal / took:>8.3f}{took:>9.2f}{cpu / WAITS * 1e3:>13.2f}")


def _litellm(port: str) -> dict[str, Any]:
    url = f"http://127.0.0.1:{port}/v1"
    return {"backend": "litellm", "model": "openai/m", "base_url": url, "script": None}


def _waited(folder: Path, state: Path, judge: dict[str, Any]) -> tuple[float, float]:
    times: list[float] = []

    def heard(event: Event) -> None:
        if event.kind in ("asking", "answered"):
            times.append(time.perf_counter())

    sections: dict[str, Any] = {"judge": judge, "verifier": {"backend": "none"}}
    config = configured(folder, "waits", state / "state", **sections)
    begun = time.process_time()
    run(config, run_dir=state / "run", registry=load(), on_event=heard)
    return times[-1] - times[0], time.process_time() - begun


@contextlib.contextmanager
def server() -> Iterator[str]:
    """Start the local server of the tests, in a process of its own, and yield its port."""
    words = [sys.executable, "-m", "tests.backends.fault_server", "--delay", str(DELAY_S)]
    process = subprocess.Popen(words, cwd=PROJECT, stdout=subprocess.PIPE, encoding="utf-8")
    assert process.stdout is not None
    try:
        yield process.stdout.readline().rpartition(":")[2].partition("/")[0]
    finally:
        process.terminate()
        process.wait()


def warm(folder: Path, traces: int, rounds: int) -> None:
    """Print what a whole process takes whose replies are all kept, beyond its start."""
    print(f"\nwarm: helix evaluate over {traces} judged traces of 60 kB, all replies kept, s")
    print(f"  {'':<34}{'median':>8}{'best':>8}{'CPU':>8}")
    given = ["criteria.file=suite.yaml", "judge=scripted", "judge.model=m"]
    given += ["judge.script=judge.py", "verifier=none", "hydra.run.dir=run", "paths.state=kept"]
    for report in ("terminal", "terminal,html"):
        took: dict[str, list[tuple[float, float]]] = {"one": [], "large": []}
        for number in range(rounds + 1):
            for name in took:
                words = [f"subject.traces={name}.jsonl", *given, f"report.out=[{report}]"]
                seconds = _process(folder, words)
                if number:
                    took[name].append(seconds)
        for name, label in (("one", "start"), ("large", f"{traces} traces")):
            _print_row(f"{label}, report {report}", took[name])
        pairs = zip(took["large"], took["one"], strict=True)
        beyond = [(a[0] - b[0], a[1] - b[1]) for a, b in pairs]
        _print_row(f"beyond the start, report {report}", beyond)


def _print_row(label: str, took: list[tuple[float, float]]) -> None:
    wall, cpu = [w for w, _ in took], [c for _, c in took]
    print(f"  {label:<42}{statistics.median(wall):>8.2f}{min(wall):>8.2f}{min(cpu):>8.2f}")


def _process(folder: Path, words: list[str]) -> tuple[float, float]:
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before, begun = os.times(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "helix", "evaluate", *words],
        cwd=folder,
        env={**env, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        encoding="utf-8",
    )
    took, after = time.perf_counter() - begun, os.times()
    assert done.returncode == 0, done.stderr
    cpu = after.children_user + after.children_system
    return took, cpu - before.children_user - before.children_system


def peers(folder: Path, traces: int) -> None:
    """Print what others take for the same number of judgements."""
    print(f"\npeers: {traces} items, CPU ms each; waits as above; from its own cache, s")
    print(f"  {'':<34}{'CPU ms':>8}{'share':>8}{'again, s':>10}")
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("inspect-ai", "deepeval", "pydantic-evals"):
        python = folder / name / "bin" / "python"
        if not python.exists():
            print(f"  installing {name}", file=sys.stderr)
            subprocess.run([sys.executable, "-m", "venv", str(folder / name)], check=True)
            pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", name]
            subprocess.run(pip, check=False)
        with tempfile.TemporaryDirectory() as here:
            words = [python, str(PEERS), name, str(traces), str(WAITS), str(LIMIT), str(DELAY_S)]
            done = subprocess.run(words, cwd=here, capture_output=True, encoding="utf-8")
        if done.returncode:
            why = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            print(f"  {name:<34}absent: {why[:100]}")
            continue
        found = json.loads(done.stdout.splitlines()[-1])
        share = WAITS * DELAY_S / LIMIT / found["waits"]
        label = f"{name} {found['version']}"
        again = "no cache" if found["again"] is None else f"{found['again']:.2f}"
        each = found["cpu"] / traces * 1e3
        print(f"  {label:<34}{each:>8.2f}{share:>8.3f}{again:>10}", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--traces", type=int, default=1_000)
    parser.add_argument("--items", type=int, default=300, help="what peers are given to judge")
    parser.add_argument("--only", default="items,waits,warm,peers")
    parser.add_argument("--peers", type=Path, default=PROJECT / ".venv-peers")
    args = parser.parse_args()
    compileall.compile_dir(Path(helix.__file__).parent, quiet=1)
    load_of = " ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"load {load_of} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepared(folder, args.traces)
        if "items" in args.only:
            items(folder, args.traces, args.rounds)
        if "waits" in args.only:
            waits(folder, args.rounds)
        if "warm" in args.only:
            warm(folder, args.traces, args.rounds)
    if "peers" in args.only:
        peers(args.peers, args.items)


if __name__ == "__main__":
    main()
